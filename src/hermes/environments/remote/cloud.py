"""One sandbox of a cloud, whichever vendor's it is: made when it is first needed, and its library's errors in
our words.
"""

import hashlib
import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from msgspec import Struct

from hermes.environments.remote.transport import Check
from hermes.lib.lazy import Missing, import_object
from hermes.types.error import EnvironmentUnavailable, ExecError


class CloudOptions(Struct, frozen=True, kw_only=True):
    """A sandbox of `image`, "" for the vendor's own; sizes in megabytes, limits are 0 for none.

    A `persistent` one, or its files, is there again for the same `key`. It ends after `idle_seconds` without
    a command.
    """

    image: str
    key: str
    cpus: float = 1.0
    memory: int = 5_120
    disk: int = 0
    network: bool = True
    persistent: bool = True
    idle_seconds: int = 300


class Vendor(Protocol):
    """What a vendor's library can do; every method blocks, and raises one of `errors` when it cannot do its
    work.
    """

    name: str
    title: str

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What its library raises."""

    def make(self) -> Any:
        """The sandbox of an earlier session, running, or a new one; those of processes of ours that are gone
        are removed.
        """

    def give_back(self, sandbox: Any) -> None:
        """Stop or remove it, as the settings say."""

    def fault(self, sandbox: Any) -> str:
        """Why it cannot be used, "" when it can."""

    def run(self, sandbox: Any, script: str) -> bytes:
        """What `bash -c script` prints there."""


def digest(*parts: str) -> str:
    """A short word for what a sandbox is kept under."""
    return hashlib.blake2s(" ".join(parts).encode(), digest_size=12).hexdigest()


def vendor_library(module: str, extra: str) -> Any:
    """A vendor's library; EnvironmentUnavailable says how to install it."""
    try:
        return import_object(module, extra=extra)
    except Missing as error:
        raise EnvironmentUnavailable(str(error)) from error


def unset(environ: Mapping[str, str], names: Iterable[str]) -> tuple[str, ...]:
    """Those of the variables that are not set."""
    return tuple(name for name in names if not environ.get(name))


def checked_cloud(backend: str, extra: str, missing: Sequence[str]) -> Check:
    """Whether a vendor's library and keys are there."""
    if importlib.util.find_spec(extra) is None:
        return Check(
            "fault", f"{backend}: its library is not installed; run: pip install 'hermes-agent[{extra}]'"
        )
    if missing:
        return Check("fault", f"{backend}: {' and '.join(missing)} not set in the environment")
    return Check(
        "ok", f"{backend}: the library and the keys are there; whether the keys are good shows at first use"
    )


class CloudSandbox:
    """A vendor's sandbox, or none yet."""

    def __init__(self, vendor: Vendor) -> None:
        self.name = vendor.name
        self._vendor = vendor
        self._errors: tuple[type[Exception], ...] = (
            *vendor.errors,
            RuntimeError,
        )  # what clients raise that were closed meanwhile
        self._sandbox: Any = None

    def open(self) -> str:
        """Make it, unless it is there and runs; why the one before cannot be used."""
        fault, was_there = self.fault(), self._sandbox is not None
        if not fault:
            return ""
        try:
            self._sandbox = self._vendor.make()
        except self._errors as error:
            raise EnvironmentUnavailable(
                f"A {self._vendor.title} sandbox could not be made: {error}"
            ) from error
        return f"{fault}; another was made ready, and what ran in it is gone." if was_there else ""

    def close(self) -> None:
        """Give it back."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            with self._translated("The {} sandbox could not be ended"):
                self._vendor.give_back(sandbox)

    def fault(self) -> str:
        """Why it cannot be used, "" when it can."""
        if self._sandbox is None:
            return "there is no sandbox"
        try:
            return self._vendor.fault(self._sandbox)
        except self._errors as error:
            return str(error)

    def call(self, script: str) -> bytes:
        """What a script prints there."""
        if self._sandbox is None:
            raise ExecError("there is no sandbox")
        with self._translated("{}"):
            return self._vendor.run(self._sandbox, script)

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise ExecError(f"{what.format(self._vendor.title)}: {error}") from error
