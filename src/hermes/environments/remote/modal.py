"""Run commands in a Modal sandbox, by Modal's own library (extra `modal`)."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from msgspec import Struct

from hermes.environments.remote.choose import Origin
from hermes.environments.remote.leases import owner_from, this_process
from hermes.environments.remote.polled import PolledLink
from hermes.environments.settings import TerminalSettings
from hermes.lib.files import write_atomic
from hermes.lib.lazy import Missing, import_object
from hermes.types.error import EnvironmentUnavailable

_APP: Final = "hermes-agent"
_LONGEST: Final = 24 * 3_600  # seconds that a sandbox may live
_OWNER: Final = "hermes-owner"


class ModalOptions(Struct, frozen=True, kw_only=True):
    """A sandbox of `image`; memory in megabytes.

    With `kept`, a file, its files are kept as an image, under `key`, when it is closed.
    """

    image: str
    key: str
    cpus: float = 1.0
    memory: int = 5_120
    network: bool = True
    kept: Path | None = None
    idle_seconds: int = 300


class ModalCloud:
    """Modal's sandboxes: implements `Vendor`."""

    name = "modal"
    title = "Modal"

    def __init__(self, options: ModalOptions, library: ModuleType) -> None:
        self.errors = (library.exception.Error, OSError)
        self._options = options
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
        if self._options.kept is not None:
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
        kept = self._memory().get(self._key())
        if kept:
            return self._modal.Image.from_id(kept)
        return self._modal.Image.from_registry(self._options.image)

    def _sweep(self, app: Any) -> None:
        for sandbox in self._modal.Sandbox.list(app_id=app.app_id):
            owner = owner_from(sandbox.get_tags().get(_OWNER, ""))
            if owner is not None and owner.is_gone:
                sandbox.terminate()

    def _key(self) -> str:
        return hashlib.blake2s(
            f"{self._options.key} {self._options.image}".encode(), digest_size=12
        ).hexdigest()

    def _memory(self) -> dict[str, str]:
        try:
            found = json.loads(self._options.kept.read_bytes()) if self._options.kept is not None else {}
        except (OSError, ValueError):
            return {}
        return (
            {name: value for name, value in found.items() if isinstance(value, str)}
            if isinstance(found, dict)
            else {}
        )

    def _remember(self, image: str) -> None:
        if self._options.kept is not None:
            write_atomic(
                self._options.kept, json.dumps({**self._memory(), self._key(): image}, indent=1).encode()
            )


def link(terminal: TerminalSettings, origin: Origin) -> PolledLink:
    """The link to a Modal sandbox; EnvironmentUnavailable when the library is not there."""
    options = ModalOptions(
        image=terminal.modal_image,
        key=origin.key,
        cpus=terminal.container_cpu,
        memory=terminal.container_memory,
        network=terminal.docker_network,
        kept=origin.hermes_home / "modal-images.json" if terminal.container_persistent else None,
        idle_seconds=terminal.lifetime_seconds,
    )
    try:
        library: ModuleType = import_object("modal", extra="modal")
    except Missing as error:
        raise EnvironmentUnavailable(str(error)) from error
    if missing := missing_keys(origin.environ):
        raise EnvironmentUnavailable(
            f"Modal sandboxes need {' and '.join(missing)} in the environment, or what modal token new"
            " writes."
        )
    return PolledLink(ModalCloud(options, library), mark=origin.mark)


def missing_keys(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that the library needs and that are not set; none when it has a file of its own with
    keys.
    """
    file = Path(environ.get("MODAL_CONFIG_PATH") or Path(environ.get("HOME", "/")) / ".modal.toml")
    return (
        ()
        if file.is_file()
        else tuple(name for name in ("MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET") if not environ.get(name))
    )
