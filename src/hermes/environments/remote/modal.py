"""Run commands in a Modal sandbox, by Modal's own library (extra `modal`)."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from hermes.environments.remote.cloud import CloudOptions, digest, unset, vendor_library
from hermes.environments.remote.leases import abandoned, this_process
from hermes.environments.remote.polling_transport import PollingTransport
from hermes.environments.remote.transport import Origin
from hermes.lib.files import write_atomic
from hermes.types.error import EnvironmentUnavailable

_APP: Final = "hermes-agent"
_LONGEST: Final = 24 * 3_600  # seconds that a sandbox may live
_OWNER: Final = "hermes-owner"


class ModalCloud:
    """Modal's sandboxes: implements `Vendor`. The files of one that is to persist are kept as an image when
    it is closed; the file `kept` says which.
    """

    name = "modal"
    title = "Modal"

    def __init__(self, options: CloudOptions, library: ModuleType, kept: Path) -> None:
        self.errors = (library.exception.Error, OSError)
        self._options = options
        self._kept = kept
        self._modal = library

    def make(self) -> Any:
        """A new one, of its image or of what was kept; sandboxes of processes of ours that are gone are
        ended.
        """
        app = self._modal.App.lookup(_APP, create_if_missing=True)
        self._sweep(app)
        return self._modal.Sandbox.create(
            app=app,
            image=self._image(),
            tags={_OWNER: str(this_process())},
            timeout=_LONGEST,
            idle_timeout=self._options.idle_seconds or None,
            cpu=self._options.cpus or None,
            memory=self._options.memory or None,
            block_network=not self._options.network,
        )

    def give_back(self, sandbox: Any) -> None:
        """Keep its files if they are to be kept, then end it."""
        if self._options.persistent:
            self._remember(sandbox.snapshot_filesystem().object_id)
        sandbox.terminate()

    def fault(self, sandbox: Any) -> str:
        """Why it cannot be used."""
        return "" if sandbox.poll() is None else "the sandbox has ended"

    def run(self, sandbox: Any, script: str) -> bytes:
        """What a script prints there."""
        process = sandbox.exec("bash", "-c", script, text=False)
        printed: bytes = process.stdout.read()
        process.wait()
        return printed

    def _image(self) -> Any:
        kept = self._memory().get(self._key()) if self._options.persistent else None
        if kept:
            return self._modal.Image.from_id(kept)
        return self._modal.Image.from_registry(self._options.image)

    def _sweep(self, app: Any) -> None:
        made = self._modal.Sandbox.list(app_id=app.app_id)
        for sandbox in abandoned(made, lambda one: str(one.get_tags().get(_OWNER, ""))):
            sandbox.terminate()

    def _key(self) -> str:
        return digest(self._options.key, self._options.image)

    def _memory(self) -> dict[str, str]:
        try:
            found = json.loads(self._kept.read_bytes())
        except (OSError, ValueError):
            return {}
        return (
            {name: value for name, value in found.items() if isinstance(value, str)}
            if isinstance(found, dict)
            else {}
        )

    def _remember(self, image: str) -> None:
        write_atomic(self._kept, json.dumps({**self._memory(), self._key(): image}, indent=1).encode())


def transport(options: CloudOptions, origin: Origin) -> PollingTransport:
    """The way to a Modal sandbox; EnvironmentUnavailable when the library is not there."""
    library: ModuleType = vendor_library("modal", "modal")
    if missing := missing_keys(origin.environ):
        raise EnvironmentUnavailable(
            f"Modal sandboxes need {' and '.join(missing)} in the environment, or what modal token new"
            " writes."
        )
    vendor = ModalCloud(options, library, origin.hermes_home / "modal-images.json")
    return PollingTransport(vendor, mark=origin.mark)


def missing_keys(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that the library needs and that are not set; none when it has a file of its own with
    keys.
    """
    file = Path(environ.get("MODAL_CONFIG_PATH") or Path(environ.get("HOME", "/")) / ".modal.toml")
    return () if file.is_file() else unset(environ, ("MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET"))
