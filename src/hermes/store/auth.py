"""auth.json: credentials of providers and how they fare, shared by all processes of a home.

Every change reads, changes and replaces the file under its lock, so what another process wrote is never lost.
Keys of the file that nobody here knows stay as they are, and so do entries of the original Hermes Agent,
which are no credentials here. What is no auth.json is never overwritten.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from msgspec import Struct

from hermes.lib.files import make_private, write_atomic
from hermes.lib.small_files import read_small
from hermes.types.credential import Credential
from hermes.types.error import StorageDamaged, StoreError

if TYPE_CHECKING:
    from filelock import FileLock

VERSION = 1
LOCK_SECONDS = 10.0
REFRESH_SECONDS = 60.0
_POLL = 0.05
_DEFAULTS = {one.name: one.default for one in msgspec.structs.fields(Credential)}
_STATE = ("status", "exhausted_until", "last_error", "request_count")


class AuthFile(Struct, frozen=True):
    """The file of one home. Reading a file that is not there gives nothing; StorageDamaged when it cannot be
    read as one.

    `patience` is how many seconds to wait for another process that is refreshing a token.
    """

    path: Path
    patience: float = REFRESH_SECONDS

    def providers(self) -> tuple[str, ...]:
        """The providers that have a credential of their own in the file."""
        tree = self._read()
        return tuple(
            name
            for name in tree["providers"]
            if any(not one.from_environment for one in _entries(tree, name, self.path))
        )

    def credentials(self, provider: str) -> tuple[Credential, ...]:
        """All credentials of a provider, the state of environment keys (without their secret) included."""
        return _entries(self._read(), provider, self.path)

    def secrets(self) -> tuple[str, ...]:
        """Every secret in the file, so that they can be kept out of what is shown and stored."""
        tree = self._read()
        every = [one for name in tree["providers"] for one in _entries(tree, name, self.path)]
        return tuple(secret for one in every for secret in (one.secret, one.refresh_token) if secret)

    def add(self, provider: str, credential: Credential) -> None:
        """Put one in, or put it in the place of the one with its id."""
        with self._changed() as tree:
            rows = tree["providers"].setdefault(provider, [])
            if not isinstance(rows, list):
                raise StoreError(
                    f"{self.path} has a sign-in of another program for {provider}; set HERMES_HOME to a"
                    " folder of its own to sign in here."
                )
            row = next((one for one in _own_rows(tree, provider) if one.get("id") == credential.id), None)
            if row is None:
                rows.append(row := {})
            _write_row(row, credential)

    def remove(self, provider: str, credential_id: str) -> bool:
        """Take one out; whether it was there."""
        with self._changed() as tree:
            gone = [one for one in _own_rows(tree, provider) if one.get("id") == credential_id]
            for one in gone:
                tree["providers"][provider].remove(one)
            if tree["providers"].get(provider) == []:
                del tree["providers"][provider]
        return bool(gone)

    def change(
        self, provider: str, credential_id: str, update: Callable[[Credential], Credential]
    ) -> Credential | None:
        """Change one as it is now in the file, and give it as it became; None when it is not there any
        more.
        """
        with self._changed() as tree:
            for row, credential in zip(
                _own_rows(tree, provider), _entries(tree, provider, self.path), strict=True
            ):
                if credential.id == credential_id:
                    changed = update(credential)
                    _write_row(row, changed)
                    return changed
        return None

    @asynccontextmanager
    async def refreshing(self, credential_id: str) -> AsyncIterator[None]:
        """Alone, among all processes, with the right to refresh one credential; StoreError when that takes
        too long.
        """
        make_private(self.path.parent)
        lock = _lock(self.path.with_name(f".{self.path.name}.{credential_id}.lock"))
        await _taken(lock, self.patience)
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def _changed(self) -> Iterator[dict[str, Any]]:
        make_private(self.path.parent)
        try:
            with _lock(self.path.with_name(f".{self.path.name}.lock")).acquire(timeout=LOCK_SECONDS):
                tree = self._read()
                before = json.dumps(tree)
                yield tree
                if json.dumps(tree) != before:
                    self._clear_leftovers()
                    write_atomic(self.path, json.dumps(tree, indent=1).encode() + b"\n", mode=0o600)
        except TimeoutError as error:
            raise StoreError(
                f"{self.path} has been locked by another process for {LOCK_SECONDS:.0f} s; try again."
            ) from error

    def _clear_leftovers(self) -> None:
        """Remove copies that a killed process left half-way; under the lock nobody else is writing one."""
        for copy in self.path.parent.glob(f".{self.path.name}.*"):
            if copy.suffix != ".lock":
                copy.unlink(missing_ok=True)

    def _read(self) -> dict[str, Any]:
        try:
            tree = json.loads(read_small(self.path))
        except FileNotFoundError:
            return {"version": VERSION, "providers": {}}
        except OSError as error:
            raise StoreError(
                f"{self.path} cannot be read now ({error.strerror}); check its permissions."
            ) from error
        except ValueError as error:
            raise StorageDamaged(
                f"{self.path} cannot be read ({_reason(error)}); mend it, or move it away and sign in again."
            ) from error
        providers = tree.setdefault("providers", {}) if isinstance(tree, dict) else None
        if not isinstance(providers, dict) or not all(
            isinstance(one, list | dict) for one in providers.values()
        ):
            raise StorageDamaged(
                f"{self.path} is not a file of credentials; mend it, or move it away and sign in again."
            )
        return dict(tree)


def _lock(path: Path) -> "FileLock":
    from filelock import FileLock  # noqa: PLC0415  # most starts change no credential

    return FileLock(path, thread_local=False)


async def _taken(lock: "FileLock", patience: float) -> None:
    end = anyio.current_time() + patience
    while True:
        try:
            lock.acquire(blocking=False)
        except TimeoutError:
            if anyio.current_time() > end:
                raise StoreError(
                    f"Another process has been refreshing a token for {patience:.0f} s; end it, or try again."
                ) from None
            await anyio.sleep(_POLL)
        else:
            return


def _own_rows(tree: dict[str, Any], provider: str) -> list[Any]:
    """The rows of a provider without those of the original, which has other names for what is in them."""
    rows = tree["providers"].get(provider)
    every = rows if isinstance(rows, list) else []
    return [one for one in every if not (isinstance(one, dict) and "access_token" in one)]


def _entries(tree: dict[str, Any], provider: str, path: Path) -> tuple[Credential, ...]:
    try:
        return tuple(msgspec.convert(row, Credential) for row in _own_rows(tree, provider))
    except msgspec.ValidationError as error:
        raise StorageDamaged(
            f"{path}: a credential of {provider} is not one ({error}); mend it, or move the file away."
        ) from error


def _write_row(row: dict[str, Any], credential: Credential) -> None:
    """Bring the row up to date; keys that nobody here knows stay.

    A key of the environment leaves its secret there.
    """
    values = {**msgspec.to_builtins(credential), **({"secret": ""} if credential.from_environment else {})}
    for name, value in values.items():
        if name == "id" or name in _STATE or value not in (_DEFAULTS[name], []):
            row[name] = value
        else:
            row.pop(name, None)


def _reason(error: Exception) -> str:
    """Why, without what stands in the file: that may be a secret."""
    return (
        f"line {error.lineno} is not JSON"
        if isinstance(error, json.JSONDecodeError)
        else type(error).__name__
    )
