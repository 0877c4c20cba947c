"""Run commands in a Vercel sandbox, by Vercel's own library (extra `vercel`)."""

from collections.abc import Mapping
from typing import Any, Final

import httpx2

from hermes.environments.remote.cloud import CloudOptions, digest, unset, vendor_library
from hermes.environments.remote.leases import abandoned, this_process
from hermes.environments.remote.polling_transport import PollingTransport
from hermes.environments.remote.transport import Origin
from hermes.types.error import EnvironmentUnavailable

_OWNER: Final = "hermes-owner"
_LONGEST: Final = 3_600.0
_CREDENTIALS: Final = ("VERCEL_TOKEN", "VERCEL_TEAM_ID", "VERCEL_PROJECT_ID")


class VercelCloud:
    """Vercel's sandboxes: implements `Vendor`. Memory follows the processors there; `base_url` is for other
    servers.
    """

    name = "vercel_sandbox"
    title = "Vercel"

    def __init__(self, options: CloudOptions, credentials: Mapping[str, str], *, base_url: str = "") -> None:
        self._options = options
        self._credentials = credentials
        self._base_url = base_url
        self._library = vendor_library("vercel.sandbox.sync", "vercel")
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
        made = [one for one in self._client.query_sandboxes() if not one.persistent]
        for sandbox in abandoned(made, lambda one: str((one.tags or {}).get(_OWNER, ""))):
            sandbox.destroy()

    def _name(self) -> str:
        chosen = self._options
        return f"hermes-{digest(chosen.key, *(() if chosen.persistent else (str(this_process()),)))}"

    def _service(self) -> Any:
        """Where the library's client goes, with our credentials."""
        token, team, project = (self._credentials[name] for name in _CREDENTIALS)
        return self._library.SandboxServiceOptions(
            **({"base_url": self._base_url} if self._base_url else {}),
            credentials_factory=lambda: self._library.SandboxCredentials(token, team, project),
        )


def transport(options: CloudOptions, origin: Origin) -> PollingTransport:
    """The way to a Vercel sandbox; EnvironmentUnavailable when the library or a credential is missing."""
    if missing := missing_keys(origin.environ):
        raise EnvironmentUnavailable(f"Vercel sandboxes need {' and '.join(missing)} in the environment.")
    credentials = {name: origin.environ[name] for name in _CREDENTIALS}
    vendor = VercelCloud(options, credentials, base_url=origin.environ.get("VERCEL_SANDBOX_URL", ""))
    return PollingTransport(vendor, mark=origin.mark)


def missing_keys(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that the library needs and that are not set."""
    return unset(environ, _CREDENTIALS)
