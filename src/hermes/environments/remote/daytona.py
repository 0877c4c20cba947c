"""Run commands in a Daytona sandbox, by Daytona's own library (extra `daytona`)."""

import math
import shlex
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from hermes.environments.remote.cloud import CloudOptions, digest, unset, vendor_library
from hermes.environments.remote.leases import abandoned, this_process
from hermes.environments.remote.polling_transport import PollingTransport
from hermes.environments.remote.transport import Origin
from hermes.types.error import EnvironmentUnavailable

_LABEL: Final = "hermes-agent"
_SECONDS: Final = 600.0  # an image may have to be built
_CALL_SECONDS: Final = 60


class DaytonaCloud:
    """Daytona's sandboxes: implements `Vendor`. One that is kept is stopped when it is closed."""

    name = "daytona"
    title = "Daytona"

    def __init__(self, options: CloudOptions, library: ModuleType, client: Any) -> None:
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
        made = self._client.list(self._library.ListSandboxesQuery(labels={_LABEL: "throw-away"}))
        ours = [one for one in made if (one.labels or {}).get(_LABEL) == "throw-away"]
        for sandbox in abandoned(ours, lambda one: str(one.labels.get(f"{_LABEL}-owner", ""))):
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
        return f"hermes-{digest(self._options.key, self._options.image)}"


def transport(options: CloudOptions, origin: Origin) -> PollingTransport:
    """The way to a Daytona sandbox; EnvironmentUnavailable when the library or a key is not there."""
    library: ModuleType = vendor_library("daytona", "daytona")
    given = {name: origin.environ.get(f"DAYTONA_{name.upper()}") for name in ("api_key", "api_url", "target")}
    try:
        client = library.Daytona(
            library.DaytonaConfig(**{name: value for name, value in given.items() if value})
        )
    except library.DaytonaError as error:
        raise EnvironmentUnavailable(f"Daytona cannot be used: {error}; set DAYTONA_API_KEY.") from error
    return PollingTransport(DaytonaCloud(options, library, client), mark=origin.mark)


def missing_keys(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that the library needs and that are not set."""
    return unset(environ, ("DAYTONA_API_KEY",))


def _state(sandbox: Any) -> str:
    return str(getattr(sandbox.state, "value", sandbox.state))


def _gigabytes(megabytes: int) -> int | None:
    return math.ceil(megabytes / 1024) or None


def _as_command(script: str) -> str:
    """The script for a shell that may be any: bash gets it whole."""
    return f"bash -c {shlex.quote(script)}"
