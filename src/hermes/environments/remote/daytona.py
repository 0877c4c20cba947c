"""Run commands in a Daytona sandbox, by Daytona's own library (extra `daytona`)."""

import hashlib
import math
import shlex
from types import ModuleType
from typing import Any, Final

from msgspec import Struct

from hermes.environments.remote.choose import Origin
from hermes.environments.remote.leases import owner_from, this_process
from hermes.environments.remote.polled import PolledLink
from hermes.environments.settings import TerminalSettings
from hermes.lib.lazy import Missing, import_object
from hermes.types.error import EnvironmentUnavailable

_LABEL: Final = "hermes-agent"
_SECONDS: Final = 600.0  # an image may have to be built
_CALL_SECONDS: Final = 60


class DaytonaOptions(Struct, frozen=True, kw_only=True):
    """A sandbox of `image`; sizes in megabytes.

    A `persistent` one is stopped when it is closed and started again for the same `key`.
    """

    image: str
    key: str
    cpus: float = 1.0
    memory: int = 5_120
    disk: int = 0
    network: bool = True
    persistent: bool = True
    idle_seconds: int = 300


class DaytonaCloud:
    """Daytona's sandboxes: implements `Vendor`."""

    name = "daytona"
    title = "Daytona"

    def __init__(self, options: DaytonaOptions, library: ModuleType, client: Any) -> None:
        self.errors = (library.DaytonaError, OSError)
        self._options = options
        self._library = library
        self._client = client

    def make(self) -> Any:
        """The sandbox of an earlier session, started, or a new one; those of processes of ours that are gone
        are removed.
        """
        self._sweep()
        return self._kept() or self._client.create(self._parameters(), timeout=_SECONDS)

    def give_back(self, sandbox: Any) -> None:
        """Stop it when it is kept, remove it when not."""
        if self._options.persistent:
            self._client.stop(sandbox)
        else:
            self._client.delete(sandbox)

    def fault(self, sandbox: Any) -> str:
        """Why it cannot be used."""
        sandbox.refresh_data()
        state = _state(sandbox)
        return "" if state == "started" else f"the sandbox is {state}"

    def run(self, sandbox: Any, script: str) -> bytes:
        """What a script prints there."""
        printed: str = sandbox.process.exec(_as_command(script), timeout=_CALL_SECONDS).result or ""
        return printed.encode()

    def _kept(self) -> Any:
        """The sandbox that an earlier session left, started; None when there is none."""
        if not self._options.persistent:
            return None
        try:
            sandbox = self._client.get(self._name())
        except self._library.DaytonaNotFoundError:
            return None
        if _state(sandbox) != "started":
            self._client.start(sandbox, timeout=_SECONDS)
        return sandbox

    def _sweep(self) -> None:
        for sandbox in self._client.list(self._library.ListSandboxesQuery(labels={_LABEL: "throw-away"})):
            labels = sandbox.labels or {}
            owner = owner_from(labels.get(f"{_LABEL}-owner", ""))
            if labels.get(_LABEL) == "throw-away" and owner is not None and owner.is_gone:
                self._client.delete(sandbox)

    def _parameters(self) -> Any:
        chosen = self._options
        resources = self._library.Resources(
            cpu=math.ceil(chosen.cpus) or None, memory=_gigabytes(chosen.memory), disk=_gigabytes(chosen.disk)
        )
        return self._library.CreateSandboxFromImageParams(
            image=chosen.image,
            name=self._name() if chosen.persistent else None,
            labels={
                _LABEL: "kept" if chosen.persistent else "throw-away",
                f"{_LABEL}-owner": str(this_process()),
            },
            auto_stop_interval=math.ceil(chosen.idle_seconds / 60),
            ephemeral=not chosen.persistent,
            network_block_all=not chosen.network,
            resources=resources,
        )

    def _name(self) -> str:
        return (
            "hermes-"
            + hashlib.blake2s(
                f"{self._options.key} {self._options.image}".encode(), digest_size=12
            ).hexdigest()
        )


def link(terminal: TerminalSettings, origin: Origin) -> PolledLink:
    """The link to a Daytona sandbox; EnvironmentUnavailable when the library or a key is not there."""
    options = DaytonaOptions(
        image=terminal.daytona_image,
        key=origin.key,
        cpus=terminal.container_cpu,
        memory=terminal.container_memory,
        disk=terminal.container_disk,
        network=terminal.docker_network,
        persistent=terminal.container_persistent,
        idle_seconds=terminal.lifetime_seconds,
    )
    try:
        library: ModuleType = import_object("daytona", extra="daytona")
    except Missing as error:
        raise EnvironmentUnavailable(str(error)) from error
    given = {name: origin.environ.get(f"DAYTONA_{name.upper()}") for name in ("api_key", "api_url", "target")}
    try:
        client = library.Daytona(
            library.DaytonaConfig(**{name: value for name, value in given.items() if value})
        )
    except library.DaytonaError as error:
        raise EnvironmentUnavailable(f"Daytona cannot be used: {error}; set DAYTONA_API_KEY.") from error
    return PolledLink(DaytonaCloud(options, library, client), mark=origin.mark)


def _state(sandbox: Any) -> str:
    return str(getattr(sandbox.state, "value", sandbox.state))


def _gigabytes(megabytes: int) -> int | None:
    return math.ceil(megabytes / 1024) or None


def _as_command(script: str) -> str:
    """The script for a shell that may be any: bash gets it whole."""
    return f"bash -c {shlex.quote(script)}"
