"""Local models of one runtime: found, fetched if need be, served once by an engine, in the OpenAI form."""

import hashlib
import importlib.util
import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import anyio
import anyio.to_thread
import httpx2
from msgspec import Struct, field
from msgspec.structs import replace

from hermes.config.environ import environment
from hermes.lib.secretnames import is_secret_name
from hermes.models.local.catalogue import LocalModel, find, is_whole, location
from hermes.models.local.gguf import control_tokens, gguf_header
from hermes.models.local.pull import pull
from hermes.models.local.windows import available_memory, window_for
from hermes.types.error import ConfigError
from hermes.types.profile import Profile
from hermes.types.request import Endpoint

READING = "Reading its instructions (this takes a while the first time) …"
_KEPT = 3
_HALF = f"{'[0-9a-f]' * 16}.{'[0-9a-f]' * 8}"
"""The name under which the engine saves a state."""
_HALF_SECONDS = 3600.0
"""How long saving one may take."""
Tell = Callable[[str], None]


class States(Struct, frozen=True):
    """The states of one model file in a folder; the name of each has its prompt's digest and its own sum.

    Other processes use the folder too: a state that cannot be read or written is none.
    """

    folder: Path
    model: str

    def find(self, digest: str) -> str:
        """The name of the sound state for that prompt, or nothing.

        The engine aborts the process on a damaged one.
        """
        for path in self.folder.glob(f"{self.model}-{digest}-*.state"):
            if _is_sound(path):
                return path.name
            _remove(path)
        return ""

    def keep(self, half: str, digest: str, size: int) -> None:
        """Put a state of `size` bytes just saved as `half` in place; only the latest few are kept, and no
        half that a process which was killed has left.
        """
        path = self.folder / half
        with suppress(OSError):
            if (written := path.stat()).st_size == size:
                path.replace(self.folder / f"{self.model}-{digest}-{_sum(path)}.state")
                self._tidy(written.st_mtime)
        _remove(path)

    def _tidy(self, now: float) -> None:
        kept = sorted(filter(Path.is_file, self.folder.glob(f"{self.model}-*.state")), key=_written)
        halves = [one for one in self.folder.glob(_HALF) if _written(one) < now - _HALF_SECONDS]
        for old in [*kept[:-_KEPT], *halves]:
            _remove(old)


def _is_sound(path: Path) -> bool:
    try:
        return path.is_file() and path.stem.endswith(f"-{_sum(path)}")
    except OSError:
        return False


def _sum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


def _written(path: Path) -> float:
    """When it was; long ago where it is gone."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


_PRIME_SECONDS = 600.0
_ENGINE = (sys.executable, "-I", "-m", "hermes.models.local.engine")


def _nobody(_told: str) -> None:
    return None


class LocalServer:
    """A loaded model: its address, the key that requests must carry, its window, its template's marks; it
    holds the memory until `close`.
    """

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        told: Mapping[str, str],
        asked: Mapping[str, Any],
        marks: tuple[str, ...],
    ) -> None:
        self._process = process
        self.key, self.context_window, self.base_url = asked["key"], asked["context_window"], told["address"]
        self.marks = marks
        path, states = Path(asked["path"]), asked["states"]
        self._states = States(Path(states), path.stem) if states else None
        self._fingerprint = [path.stat().st_size, told["version"]]

    @classmethod
    async def start(
        cls, path: Path, *, context_window: int = 0, key: str = "", states: Path | None = None
    ) -> Self:
        """Load `path`, which takes seconds; ConfigError if it is no model.

        `context_window` is in tokens, 0 takes what memory has room for; `states` is a folder for what `prime`
        keeps.
        """
        window = context_window or await anyio.to_thread.run_sync(_fitting, path, abandon_on_cancel=True)
        asked = {
            "path": str(path),
            "context_window": window,
            "key": key or secrets.token_hex(16),
            "states": str(states or ""),
        }
        marks = await anyio.to_thread.run_sync(control_tokens, path, abandon_on_cancel=True)
        process = _started(states)
        try:
            told = await anyio.to_thread.run_sync(_told, process, asked, abandon_on_cancel=True)
            return cls(process, told, asked, marks)
        except BaseException:
            _end(process)
            raise

    @property
    def is_alive(self) -> bool:
        """Whether its engine runs."""
        return self._process.poll() is None

    async def prime(
        self, messages: Sequence[dict[str, Any]], http: httpx2.AsyncClient, tell: Tell = _nobody
    ) -> bool:
        """Take in the messages that every session begins with, from the state kept in `states` if there is
        one; whether there was. `tell` hears that they are read where there was none.

        Reading a long prompt takes this model seconds to a minute, reading its state from disk a few
        milliseconds.
        """
        states = self._states
        if states is None:
            return False
        digest = hashlib.sha256(
            json.dumps([self._fingerprint, list(messages)], sort_keys=True).encode()
        ).hexdigest()[:16]
        name = await anyio.to_thread.run_sync(states.find, digest)
        if name and await self._slot(http, "restore", name):
            return True
        tell(READING)
        body = {"messages": list(messages), "max_tokens": 1, "temperature": 0}
        try:
            read = await http.post(
                f"{self.base_url}/chat/completions", json=body, headers=self._headers, timeout=_PRIME_SECONDS
            )
        except httpx2.TransportError:  # it has died; the request itself will tell
            return False
        half = f"{digest}.{secrets.token_hex(4)}"
        if read.is_success and (saved := await self._slot(http, "save", half)):
            await anyio.to_thread.run_sync(states.keep, half, digest, saved["n_written"])
        return False

    async def _slot(self, http: httpx2.AsyncClient, action: str, name: str) -> dict[str, Any]:
        """What the server says of the saved or restored state; empty when it could not."""
        address = f"{self.base_url.removesuffix('/v1')}/slots/0?action={action}"
        try:
            response = await http.post(
                address, json={"filename": name}, headers=self._headers, timeout=_PRIME_SECONDS
            )
        except httpx2.TransportError:
            return {}
        return dict(response.json()) if response.is_success else {}

    @property
    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}"}

    def close(self) -> None:
        """Stop serving and free the model, whatever the engine does; a second call does nothing."""
        _end(self._process)


def _fitting(path: Path) -> int:
    header = gguf_header(path)
    size = path.stat().st_size
    return window_for(header.context_length, header.token_bytes, available_memory() - size)


def _started(states: Path | None) -> "subprocess.Popen[bytes]":
    if states is not None:
        with suppress(OSError):  # where there is no folder, no state is kept
            states.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        _ENGINE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: value for name, value in environment().items() if not is_secret_name(name)},
        start_new_session=True,
    )


def _told(process: "subprocess.Popen[bytes]", asked: Mapping[str, Any]) -> dict[str, str]:
    """What the engine says once it has loaded; ConfigError when it could not."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError("both are pipes")
    with suppress(OSError):  # it has ended already
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
    line = process.stdout.readline()
    told: dict[str, str] = json.loads(line) if line else {"error": "the engine ended"}
    if "error" in told:
        raise ConfigError(
            f"{asked['path']} cannot be loaded as a GGUF model: {told['error']}",
            hint="Name another model file.",
        )
    return told


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()


class LocalModels(Struct):
    """Models that run on this machine, each served on loopback once however many sessions use it."""

    cache: Path
    http: httpx2.AsyncClient
    _servers: dict[Path, LocalServer] = field(default_factory=dict)
    _lock: anyio.Lock = field(default_factory=anyio.Lock)  # invariant: one server per model file
    _listeners: list[Tell] = field(default_factory=list)
    _stage: str = ""

    async def ready(self, endpoint: Endpoint, opening: Sequence[dict[str, Any]], tell: Tell) -> Endpoint:
        """The endpoint with the address of its running model, which has read `opening`, the messages every
        session begins with.

        `tell` hears what takes time, also where another caller has begun it: reading the opening does so
        once, its state is kept beside the models.
        """
        check_engine()
        found = find(endpoint.model)
        with self._told(tell):
            async with self._lock:
                self._stage = ""
                path = await self._file(found)
                server = await self._serving(path, opening)
        name = found.alias if isinstance(found, LocalModel) else endpoint.model
        family = found.family if isinstance(found, LocalModel) else ""
        window = server.context_window
        return replace(
            endpoint,
            base_url=server.base_url,
            model=name,
            profile=Profile(family=family),
            credential=server.key,
            context_window=window,
            marks=server.marks,
        )

    async def warm(self, endpoint: Endpoint, opening: Sequence[dict[str, Any]]) -> None:
        """As `ready`, for a model that is here already; a fault is left to the request to tell."""
        try:
            found = find(endpoint.model)
            if isinstance(found, Path) or location(found, self.cache).exists():
                await self.ready(endpoint, opening, _nobody)
        except Exception:  # noqa: BLE001  # nobody has asked for it yet, and it must end nothing
            return

    async def _serving(self, path: Path, opening: Sequence[dict[str, Any]]) -> LocalServer:
        if path in self._servers and not self._servers[path].is_alive:
            self._servers.pop(path).close()
        if path not in self._servers:
            self._tell("Loading the model …")
            self._servers[path] = await LocalServer.start(path, states=self.cache / "states")
            await self._servers[path].prime(opening, self.http, self._tell)
        return self._servers[path]

    @contextmanager
    def _told(self, tell: Tell) -> Iterator[None]:
        """What takes time is told to each of those who wait."""
        if self._lock.locked() and self._stage:
            tell(self._stage)
        self._listeners.append(tell)
        try:
            yield
        finally:
            self._listeners.remove(tell)

    def _tell(self, stage: str) -> None:
        self._stage = stage
        for tell in self._listeners:
            tell(stage)

    def close(self) -> None:
        """Stop every model."""
        while self._servers:
            self._servers.popitem()[1].close()

    async def _file(self, found: LocalModel | Path) -> Path:
        if isinstance(found, Path):
            return found
        file = location(found, self.cache)
        if file.exists() and not await anyio.to_thread.run_sync(is_whole, file, found):
            self._tell(f"{file} is damaged: it is not the published file, and is fetched again.")
        shown = _Shares(self._tell, found.alias)
        return await pull(found, self.cache, progress=shown)


def has_engine() -> bool:
    """Whether the engine for local models is installed."""
    return importlib.util.find_spec("xllamacpp") is not None


def check_engine() -> None:
    """ConfigError with what to install when the engine for local models is not there; asked before anything
    is fetched.
    """
    if not has_engine():
        raise ConfigError(
            "The built-in model needs xllamacpp, which is not installed: pip install 'hermes-agent[local]'"
            " (in a clone: pip install '.[local]'). Or choose another model with --model or --base-url."
        )


class _Shares:
    """Progress in steps of ten per cent."""

    def __init__(self, tell: Tell, name: str) -> None:
        self._tell, self._name, self._last = tell, name, -1

    def __call__(self, done: int, total: int) -> None:
        tenth = done * 10 // max(total, 1)
        if tenth > self._last and done < total:
            self._last = tenth
            self._tell(f"Fetching {self._name}: {tenth * 10} % of {total / 1e6:.0f} MB")
