"""Run commands in an Apptainer (Singularity) instance, as clusters have it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.environments.child_env import without_logins
from hermes.environments.remote.cli_program import (
    CliProgram,
    CliTransport,
    find_program,
    refuses_limits,
    without_limits,
)
from hermes.environments.remote.leases import LeaseHolder, abandoned, this_process
from hermes.environments.remote.transport import Check
from hermes.lib.resources import Resources
from hermes.types.error import EnvironmentUnavailable

_START_SECONDS: Final = 600.0  # an image may have to be fetched and built
_PREFIX: Final = "hermes-"
_PROGRAMS: Final = ("APPTAINER", "SINGULARITY")
_FORWARDED: Final = tuple(f"{program}ENV_" for program in _PROGRAMS)
_OPTIONS: Final = ("ENV", "ENV_FILE", "BIND", "BINDPATH", "MOUNT")

_RESTARTED: Final = {
    True: "the instance stopped; it was started again with its files, and what ran in it is gone.",
    False: "the instance stopped; a new one was made without its files, and what ran in it is gone.",
}


class SingularityOptions(Struct, frozen=True, kw_only=True):
    """An instance of `image` (a file, a folder, or an address that the program can fetch). Limits are 0 for
    none, sizes in megabytes.

    `overlay` is a host folder in which changes are kept; without one they are in memory and go with the
    instance.
    """

    image: str
    cpus: float = 0.0
    memory: int = 0
    pids: int = 0
    network: bool = True
    overlay: Path | None = None
    binds: tuple[str, ...] = ()
    workspace: str = ""

    @property
    def limits(self) -> tuple[str, ...]:
        """The arguments that limit processors, memory and processes."""
        return (
            *(("--cpus", f"{self.cpus:g}") if self.cpus else ()),
            *(("--memory", f"{self.memory}M") if self.memory else ()),
            *(("--pids-limit", str(self.pids)) if self.pids else ()),
        )

    @property
    def resources(self) -> Resources:
        """The limits."""
        return Resources(cpus=self.cpus, memory=self.memory, processes=self.pids)

    @property
    def is_fetched(self) -> bool:
        """Whether the image is an address."""
        return "://" in self.image


class SingularityTransport(CliTransport):
    """An instance, started when it is first needed: implements `RemoteTransport`."""

    name = "singularity"

    def __init__(self, program: CliProgram, options: SingularityOptions, *, mark: str) -> None:
        self._starting = unforwarded(program.env)  # an image that is fetched may need the login of a proxy
        super().__init__(replace(program, env=without_logins(self._starting)))
        self._options = options
        self._has_begun = False
        self._instance = f"{_PREFIX}{_word(this_process())}-{mark}"

    async def open(self) -> str:
        """A running instance; how the one before ended. Those of processes of ours that are gone are
        stopped.
        """
        running = await self._running()
        if self._instance in running:
            return ""
        for name in abandoned(running, _owner_label):
            await self._program.ask("instance", "stop", name)
        if self._options.overlay is not None:
            self._options.overlay.mkdir(parents=True, exist_ok=True, mode=0o700)
        unlimited = await self._started()
        had_begun, self._has_begun = self._has_begun, True
        return _RESTARTED[self._options.overlay is not None] if had_begun else unlimited

    async def _started(self) -> str:
        """Start it; why without limits, if it must be."""
        limits = self._options.limits
        try:
            await self._begin(*limits)
        except EnvironmentUnavailable as error:
            if not limits or not refuses_limits(str(error)):
                raise
            await self._begin()
            return without_limits(error)
        return ""

    async def _begin(self, *limits: str) -> None:
        starter = replace(self._program, env=self._starting) if self._options.is_fetched else self._program
        await starter.must(
            *("instance", "start", *limits, *self._arguments(), self._options.image, self._instance),
            what=f"An instance of {self._options.image} could not be started",
            timeout=_START_SECONDS,
        )

    async def close(self) -> None:
        """Stop the instance."""
        await self._program.ask("instance", "stop", "--timeout", "2", self._instance)

    async def check(self, seconds: float) -> Check:
        """Whether the program works, and the limits can be set."""
        path = self._program.path
        answer = await self._program.attempt("--version", timeout=seconds / 2)
        if answer.code:
            return Check(
                "fault", f"{self.name}: {path} does not work ({answer.last}); install Apptainer anew"
            )
        if said := await self._lacking(seconds):
            return Check(
                "warning",
                f"{self.name}: {path}, {answer.text}; limits (container_…) cannot be set here: {said}",
            )
        return Check("ok", f"{self.name}: {path}, {answer.text}; {self._options.resources}")

    async def _lacking(self, seconds: float) -> str:
        """Why the limits cannot be set here, tried with a container that ends at once; "" when they can, or
        when that is not known.
        """
        chosen = self._options
        if chosen.is_fetched or not chosen.limits:
            return ""
        answer = await self._program.attempt(
            *("--silent", "exec", "--containall", "--no-home", *chosen.limits, chosen.image, "true"),
            timeout=seconds,
        )
        return answer.last.rpartition(": ")[2] if answer.code and refuses_limits(answer.said) else ""

    async def fault(self) -> str:
        """Why the instance does not run."""
        return "" if self._instance in await self._running() else "the instance stopped"

    def _words(self, argv: tuple[str, ...], *, pty: bool) -> tuple[str, ...]:
        del pty  # it hands on the terminal that it is on
        start = ("--pwd", "/workspace") if self._options.workspace else ()
        return ("--silent", "exec", "--cleanenv", *start, f"instance://{self._instance}", *argv)

    async def _running(self) -> tuple[str, ...]:
        answer = await self._program.must("instance", "list", "--json", what=f"{self.name} does not answer")
        return tuple(one["instance"] for one in json.loads(answer)["instances"])

    def _arguments(self) -> tuple[str, ...]:
        chosen = self._options
        return (
            *("--containall", "--no-home", "--cleanenv"),
            *(("--overlay", str(chosen.overlay)) if chosen.overlay else ("--writable-tmpfs",)),
            *(() if chosen.network else ("--net", "--network", "none")),
            *(part for bind in chosen.binds for part in ("--bind", bind)),
            *(("--bind", f"{chosen.workspace}:/workspace") if chosen.workspace else ()),
        )


def unforwarded(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without what the program would hand on to commands, or mount, by the names of variables:
    settings say what goes in.
    """
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith(_FORWARDED)
        and name not in {f"{program}_{option}" for program in _PROGRAMS for option in _OPTIONS}
    }


def singularity_transport(
    options: SingularityOptions, environ: Mapping[str, str], *, mark: str
) -> SingularityTransport:
    """The way to an instance; EnvironmentUnavailable when the program or the image is not there."""
    program = find_program(
        ("apptainer", "singularity"), environ, "install Apptainer, or set terminal.backend to something else"
    )
    if not options.image:
        raise EnvironmentUnavailable(
            "terminal.backend is singularity, but terminal.singularity_image names no image."
        )
    # Also no where it may not look
    if not options.is_fetched and not os.path.exists(options.image):  # noqa: PTH110
        raise EnvironmentUnavailable(
            f"terminal.singularity_image is {options.image!r}, and there is no such file or folder."
        )
    return SingularityTransport(program, options, mark=mark)


def _word(owner: LeaseHolder) -> str:
    """An owner in the letters that a name of an instance may have."""
    return "-".join((owner.host.replace("-", "_").replace(".", "_"), str(owner.pid), str(owner.started)))


def _owner_label(name: str) -> str:
    """The owner that an instance of this host has in its name, "" when it has none."""
    parts = name.removeprefix(_PREFIX).split("-")
    if not name.startswith(_PREFIX) or len(parts) < 3 or parts[0] != _word(this_process()).split("-")[0]:
        return ""
    return f"{this_process().host}/{parts[1]}/{parts[2]}"
