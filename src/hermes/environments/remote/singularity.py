"""Run commands in an Apptainer (Singularity) instance, as clusters have it."""

import json
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hermes.environments.remote.client import ClientChild, start_client, start_client_on_terminal
from hermes.environments.remote.clients import Program, find_program
from hermes.environments.remote.owners import Owner, owner_from, this_process
from hermes.types.error import EnvironmentUnavailable

_START_SECONDS: Final = 600.0  # an image may have to be fetched and built
_PREFIX: Final = "hermes-"


@dataclass(frozen=True, slots=True, kw_only=True)
class SingularityOptions:
    """An instance of `image` (a file, a folder, or an address that the program can fetch). Limits are 0 for none, sizes in megabytes.

    `overlay` is a host folder in which changes are kept; without one they are in memory and go with the instance.
    """

    image: str
    cpus: float = 0.0
    memory: int = 0
    pids: int = 0
    network: bool = True
    overlay: Path | None = None
    binds: tuple[str, ...] = ()
    workspace: str = ""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra: tuple[str, ...] = ()


class SingularityLink:
    """An instance, started when it is first needed: implements `Link`."""

    name = "singularity"

    def __init__(self, program: Program, options: SingularityOptions, *, mark: str) -> None:
        self._program = program
        self._options = options
        self._instance = f"{_PREFIX}{_word(this_process())}-{mark}"

    async def open(self) -> None:
        """A running instance. Those of processes of ours that are gone are stopped."""
        running = await self._running()
        if self._instance in running:
            return
        for name in running:
            owner = _owner_in(name)
            if owner is not None and owner.is_gone:
                await self._program.ask("instance", "stop", name)
        if self._options.overlay is not None:
            self._options.overlay.mkdir(parents=True, exist_ok=True, mode=0o700)
        await self._program.must(
            *("instance", "start", *self._arguments(), self._options.image, self._instance),
            what=f"An instance of {self._options.image} could not be started",
            timeout=_START_SECONDS,
        )

    async def close(self) -> None:
        """Stop the instance."""
        await self._program.ask("instance", "stop", "--timeout", "2", self._instance)

    async def fault(self) -> str:
        """Why the instance does not run."""
        return "" if self._instance in await self._running() else "the instance stopped"

    def launch(self, argv: tuple[str, ...], *, stdin: bytes | None, pty: bool, end: Callable[[float], Awaitable[None]]) -> ClientChild:
        """Start `argv` in the instance."""
        call = (self._program.path, "--silent", "exec", "--cleanenv", *self._start_folder(), f"instance://{self._instance}", *argv)
        if pty:
            return start_client_on_terminal(call, self._program.env, end=end)
        return start_client(call, self._program.env, stdin=stdin, end=end)

    async def _running(self) -> tuple[str, ...]:
        answer = await self._program.must("instance", "list", "--json", what=f"{self.name} does not answer")
        return tuple(one["instance"] for one in json.loads(answer)["instances"])

    def _start_folder(self) -> tuple[str, ...]:
        return ("--pwd", "/workspace") if self._options.workspace else ()

    def _arguments(self) -> tuple[str, ...]:
        chosen = self._options
        return (
            *("--containall", "--no-home", "--cleanenv"),
            *(("--overlay", str(chosen.overlay)) if chosen.overlay else ("--writable-tmpfs",)),
            *(() if chosen.network else ("--net", "--network", "none")),
            *(("--cpus", f"{chosen.cpus:g}") if chosen.cpus else ()),
            *(("--memory", f"{chosen.memory}M") if chosen.memory else ()),
            *(("--pids-limit", str(chosen.pids)) if chosen.pids else ()),
            *(part for bind in chosen.binds for part in ("--bind", bind)),
            *(("--bind", f"{chosen.workspace}:/workspace") if chosen.workspace else ()),
            *(part for name, value in chosen.env.items() for part in ("--env", f"{name}={value}")),
            *chosen.extra,
        )


def singularity_link(options: SingularityOptions, environ: Mapping[str, str], *, mark: str) -> SingularityLink:
    """The link to an instance; EnvironmentUnavailable when the program or the image is not there."""
    program = find_program(("apptainer", "singularity"), environ, "install Apptainer, or set terminal.backend to something else")
    if not options.image:
        raise EnvironmentUnavailable("terminal.backend is singularity, but terminal.singularity_image names no image.")
    if "://" not in options.image and not os.path.exists(options.image):  # noqa: PTH110 -- also no where it may not look
        raise EnvironmentUnavailable(f"terminal.singularity_image is {options.image!r}, and there is no such file or folder.")
    return SingularityLink(program, options, mark=mark)


def _word(owner: Owner) -> str:
    """An owner in the letters that a name of an instance may have."""
    return "-".join((owner.host.replace("-", "_").replace(".", "_"), str(owner.pid), str(owner.started)))


def _owner_in(name: str) -> Owner | None:
    parts = name.removeprefix(_PREFIX).split("-")
    if not name.startswith(_PREFIX) or len(parts) < 3 or parts[0] != _word(this_process()).split("-")[0]:
        return None
    return owner_from(f"{this_process().host}/{parts[1]}/{parts[2]}")
