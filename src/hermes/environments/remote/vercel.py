"""Run commands in a Vercel sandbox, by Vercel's own library (extra `vercel`)."""

import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import httpx2
from msgspec import Struct

from hermes.environments.remote.choose import Origin
from hermes.environments.remote.leases import owner_from, this_process
from hermes.environments.remote.polled import PolledLink
from hermes.environments.settings import TerminalSettings
from hermes.lib.abridged import Abridged
from hermes.lib.lazy import Missing, import_object
from hermes.types.error import EnvironmentUnavailable

_OWNER: Final = "hermes-owner"
_LONGEST: Final = 3_600.0
_CREDENTIALS: Final = ("VERCEL_TOKEN", "VERCEL_TEAM_ID", "VERCEL_PROJECT_ID")


class VercelOptions(Abridged, Struct, frozen=True, kw_only=True):
    """A sandbox; memory follows the processors there. A `persistent` one is found again by its `key`.

    `base_url` is for other servers.
    """

    unshown: ClassVar = ("credentials",)

    image: str
    key: str
    credentials: Mapping[str, str]
    cpus: float = 1.0
    network: bool = True
    persistent: bool = True
    idle_seconds: int = 300
    base_url: str = ""


class VercelCloud:
    """Vercel's sandboxes: implements `Vendor`."""

    name = "vercel_sandbox"
    title = "Vercel"

    def __init__(self, options: VercelOptions) -> None:
        self._options = options
        self._library = import_object("vercel.sandbox.sync", extra="vercel")
        self.errors = (self._library.SandboxError, httpx2.HTTPError, OSError)
        self._client: Any = None

    def make(self) -> Any:
        """The sandbox of an earlier session, or a new one; those of processes of ours that are gone are
        removed.
        """
        if self._client is None:
            self._client = self._library.SyncSandboxClient.create(options=self._service())
        self._sweep()
        return self._made()

    def give_back(self, sandbox: Any) -> None:
        """Stop it; one that is not kept goes."""
        try:
            sandbox.stop()
            if not self._options.persistent:
                sandbox.destroy()
        finally:
            client, self._client = self._client, None
            client.close()

    def fault(self, sandbox: Any) -> str:
        """Why it cannot be used."""
        status = str(self._client.get_sandbox(name=sandbox.name).status)
        return "" if status.lower().endswith("running") else f"the sandbox is {status}"

    def run(self, sandbox: Any, script: str) -> bytes:
        """What a script prints there."""
        printed: str = sandbox.run_process("bash", ["-c", script], capture_output=True).stdout or ""
        return printed.encode()

    def _made(self) -> Any:
        chosen = self._options
        wanted = {
            "name": self._name(),
            "image": chosen.image or None,
            "execution_time_limit": _LONGEST,
            "resources": self._library.SandboxResources(vcpus=max(1, round(chosen.cpus))),
            "persistent": chosen.persistent,
            "network_policy": None if chosen.network else self._library.NetworkPolicy.deny_all(),
            "tags": {_OWNER: str(this_process())},
        }
        if not chosen.persistent:
            return self._client.create_sandbox(**wanted)
        sandbox, _ = self._client.get_or_create_sandbox(**wanted)
        return sandbox

    def _sweep(self) -> None:
        for sandbox in self._client.query_sandboxes():
            owner = owner_from((sandbox.tags or {}).get(_OWNER, ""))
            if not sandbox.persistent and owner is not None and owner.is_gone:
                sandbox.destroy()

    def _name(self) -> str:
        seed = self._options.key if self._options.persistent else f"{self._options.key} {this_process()}"
        return "hermes-" + hashlib.blake2s(seed.encode(), digest_size=12).hexdigest()

    def _service(self) -> Any:
        """Where the library's client goes, with our credentials."""
        token, team, project = (self._options.credentials[name] for name in _CREDENTIALS)
        return self._library.SandboxServiceOptions(
            **({"base_url": self._options.base_url} if self._options.base_url else {}),
            credentials_factory=lambda: self._library.SandboxCredentials(token, team, project),
        )


def link(terminal: TerminalSettings, origin: Origin) -> PolledLink:
    """The link to a Vercel sandbox; EnvironmentUnavailable when the library or a credential is not there."""
    missing = [name for name in _CREDENTIALS if not origin.environ.get(name)]
    if missing:
        raise EnvironmentUnavailable(f"Vercel sandboxes need {' and '.join(missing)} in the environment.")
    options = VercelOptions(
        image=terminal.vercel_image,
        key=origin.key,
        credentials={name: origin.environ[name] for name in _CREDENTIALS},
        cpus=terminal.container_cpu,
        network=terminal.docker_network,
        persistent=terminal.container_persistent,
        idle_seconds=terminal.lifetime_seconds,
        base_url=origin.environ.get("VERCEL_SANDBOX_URL", ""),
    )
    try:
        return PolledLink(VercelCloud(options), mark=origin.mark)
    except Missing as error:
        raise EnvironmentUnavailable(str(error)) from error
