"""Run commands in a container, by the docker or the podman program."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

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
from hermes.environments.remote.leases import abandoned, this_process
from hermes.environments.remote.transport import Check
from hermes.lib.resources import Resources
from hermes.types.error import EnvironmentUnavailable

LABEL: Final = "hermes-agent"
USED: Final = "/dev/shm/.hermes-used"  # noqa: S108  # in the container
PRELUDE: Final = f": >{USED}"
"""Runs before each job: it tells the container's own clock that it is in use."""

_CAPABILITIES: Final = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "SETUID", "SETGID", "KILL")
_START_SECONDS: Final = 600.0  # an image may have to be fetched

_INFO: Final = ("info", "--format", "{{json .}}")
_CONTROLLERS: Final = {"processors": "cpu", "memory": "memory", "processes": "pids"}
_ABILITIES: Final = {"processors": "CpuCfsQuota", "memory": "MemoryLimit", "processes": "PidsLimit"}

# The first process of a container ends it when nothing was run for so many seconds and nothing runs: also
# after a crash of ours.
_WATCH: Final = """
trap 'exit 0' TERM INT
idle=0; : >%(used)s
while [ "$idle" -lt %(seconds)d ]; do
  sleep 1 & wait $!
  set -- /proc/[0-9]*
  if [ -e %(used)s ] || [ $# -gt %(own)d ]; then idle=0; rm -f %(used)s; else idle=$((idle + 1)); fi
done
"""


class DockerOptions(Struct, frozen=True, kw_only=True):
    """A container: `cpus` and the sizes in megabytes are limits, 0 for none. `volumes` are
    `host:container[:ro]`.

    `key` names what the container belongs to: with `persistent`, the next session with the same key gets the
    same container. `workspace` is a host folder to be mounted on /workspace.
    """

    image: str
    key: str
    cpus: float = 1.0
    memory: int = 5_120
    disk: int = 0
    pids: int = 256
    network: bool = True
    read_only: bool = False
    persistent: bool = True
    volumes: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    workspace: str = ""
    as_user: bool = False
    idle_seconds: int = 300


class DockerTransport(CliTransport):
    """A container, made when it is first needed: implements `RemoteTransport`."""

    def __init__(self, program: CliProgram, options: DockerOptions, *, name: str = "docker") -> None:
        super().__init__(program)
        self.name = name
        self._options = options
        self._container = ""

    async def open(self) -> str:
        """A running container: the one at hand, the one kept from before, or a new one; how the one at hand
        died.

        What dead processes of ours left goes.
        """
        state = await self._state()
        if state is not None and state.get("Running"):
            return ""
        died = _death(state) if self._container else ""
        await self._sweep()
        kept = await self._kept()
        self._container, unlimited = (kept, "") if kept else await self._made()
        after = "it was started again with its files" if kept else "a new one was made without its files"
        return f"{died}; {after}, and what ran in it is gone." if died else unlimited

    async def close(self) -> None:
        """Remove a container that is not kept; one that is ends by its own clock, since another session may
        be using it.
        """
        container, self._container = self._container, ""
        if not container or (self._options.persistent and self._options.idle_seconds):
            return
        await self._program.ask(
            *(("stop", "--time", "1") if self._options.persistent else ("rm", "--force", "--volumes")),
            container,
        )

    async def fault(self) -> str:
        """Why there is no running container."""
        if not self._container:
            return "there is no container"
        state = await self._state()
        if state is not None and state.get("Running"):
            return ""
        return _death(state) or "the container stopped by itself"

    def _words(self, argv: tuple[str, ...], *, pty: bool) -> tuple[str, ...]:
        return ("exec", "--interactive", *(("--tty",) if pty else ()), self._container or "none", *argv)

    async def check(self, seconds: float) -> Check:
        """Whether the program works and the image is there."""
        path, image = self._program.path, self._options.image
        answer = await self._program.attempt("ps", "--quiet", timeout=seconds / 2)
        if answer.code:
            said = (
                f"does not work ({answer.last}); see that podman ps works for your user"
                if path.endswith("podman")
                else f"cannot reach its daemon ({answer.last}); start it, or see that you may use its socket"
            )
            return Check("fault", f"{self.name}: {path} {said}")
        there = await self._program.attempt(
            "image", "inspect", "--format", "{{.Id}}", image, timeout=seconds / 2
        )
        if there.code:
            return Check("warning", f"{self.name}: {path} works, the image {image} is fetched on first use")
        works = f"{self.name}: {path} works, the image {image} is there"
        if lacking := _lacking((await self._program.attempt(*_INFO, timeout=seconds / 2)).text):
            return Check("warning", f"{works}; limits cannot be set here on: {', '.join(lacking)}")
        chosen = self._options
        limits = Resources(cpus=chosen.cpus, memory=chosen.memory, processes=chosen.pids)
        return Check("ok", f"{works}; {limits}")

    async def snapshot(self, tag: str) -> str:
        """Keep the container's files as an image named `tag`, which `image` may name later; its id."""
        return await self._program.must(
            "commit", self._container, tag, what="The container could not be kept as an image"
        )

    async def _state(self) -> dict[str, Any] | None:
        """How the container at hand is; None when it is no more."""
        if not self._container:
            return None
        answer = await self._program.ask("inspect", "--format", "{{json .State}}", self._container)
        state: dict[str, Any] | None = json.loads(answer.text) if answer.code == 0 else None
        return state

    async def _kept(self) -> str:
        """The container of an earlier session with the same key and options, started; "" if there is none."""
        if not self._options.persistent:
            return ""
        label = f"label={LABEL}-key={self._key()}"
        found = await self._program.must(
            "ps", "--all", "--quiet", "--filter", label, what=f"{self.name} does not answer"
        )
        for container in found.splitlines():
            if (await self._program.ask("start", container)).code == 0:
                return container
            await self._program.ask("rm", "--force", container)
        return ""

    async def _made(self) -> tuple[str, str]:
        """A new container, and why it has no limits, if it must be without."""
        limits = self._limits()
        try:
            return await self._run(limits), ""
        except EnvironmentUnavailable as error:
            if not limits or not refuses_limits(str(error)):
                raise
            return await self._run(()), without_limits(error)

    async def _run(self, limits: tuple[str, ...]) -> str:
        return await self._program.must(
            "run",
            "--detach",
            *self._arguments(limits),
            what=f"A container of {self._options.image} could not be started",
            timeout=_START_SECONDS,
        )

    async def _sweep(self) -> None:
        """Remove the throw-away containers of processes that are gone."""
        mine = ("--filter", f"label={LABEL}-kept=no")
        listed = await self._program.must(
            "ps", "--all", "--quiet", *mine, what=f"{self.name} does not answer"
        )
        if not listed:
            return
        # Not by the rows of ps, where podman knows no single label.
        told = await self._program.ask(
            "inspect",
            "--format",
            f'{{{{.Id}}}} {{{{index .Config.Labels "{LABEL}-owner"}}}}',
            *listed.split(),
        )
        rows = {row.partition(" ")[0]: row.partition(" ")[2] for row in told.text.splitlines()}
        for container in abandoned(rows, rows.__getitem__):
            await self._program.ask("rm", "--force", "--volumes", container)

    def _key(self) -> str:
        """The key and everything that shapes the container, as one word: other options make another
        container.
        """
        return hashlib.blake2s(
            repr((self._options.key, self._shape(self._limits()))).encode(), digest_size=12
        ).hexdigest()

    def _limits(self) -> tuple[str, ...]:
        chosen = self._options
        memory = f"{chosen.memory}m"
        return (
            *("--pids-limit", str(chosen.pids or -1)),
            *(("--cpus", f"{chosen.cpus:g}") if chosen.cpus else ()),
            *(("--memory", memory, "--memory-swap", memory) if chosen.memory else ()),
        )

    def _shape(self, limits: tuple[str, ...]) -> tuple[str, ...]:
        """The arguments that say what the container is."""
        chosen = self._options
        return (
            *("--cap-drop", "ALL", *(part for name in _CAPABILITIES for part in ("--cap-add", name))),
            *("--security-opt", "no-new-privileges", "--init"),
            *limits,
            *(("--storage-opt", f"size={chosen.disk}m") if chosen.disk else ()),
            *(() if chosen.network else ("--network", "none")),
            *(("--read-only",) if chosen.read_only else ()),
            # In the container
            *(("--tmpfs", "/tmp:rw,exec,mode=1777,size=512m") if chosen.read_only else ()),  # noqa: S108
            *(("--user", f"{os.getuid()}:{os.getgid()}") if chosen.as_user else ()),
            *(part for volume in chosen.volumes for part in ("--volume", volume)),
            *(
                ("--volume", f"{chosen.workspace}:/workspace", "--workdir", "/workspace")
                if chosen.workspace
                else ()
            ),
            *chosen.extra,
            chosen.image,
        )

    def _arguments(self, limits: tuple[str, ...]) -> tuple[str, ...]:
        chosen = self._options
        *shape, image = self._shape(limits)
        watch = (
            _WATCH % {"used": USED, "seconds": chosen.idle_seconds, "own": 3}
            if chosen.idle_seconds
            else "exec sleep infinity"
        )
        return (
            *(
                "--label",
                LABEL,
                "--label",
                f"{LABEL}-owner={this_process()}",
                "--label",
                f"{LABEL}-key={self._key()}",
            ),
            *("--label", f"{LABEL}-kept={'yes' if chosen.persistent else 'no'}"),
            *(() if chosen.persistent else ("--rm",)),
            *shape,
            *("--entrypoint", "bash"),
            image,
            *("-c", watch),
        )


def _lacking(info: str) -> tuple[str, ...]:
    """What no limit can be set on, as the program tells of its host; none where it does not tell."""
    try:
        told = json.loads(info)
    except ValueError:
        return ()
    if "host" in told:  # podman names the controllers that are delegated to its user
        controllers = told["host"].get("cgroupControllers", ())
        return tuple(what for what, name in _CONTROLLERS.items() if name not in controllers)
    return tuple(what for what, name in _ABILITIES.items() if told.get(name) is False)


def _death(state: Mapping[str, Any] | None) -> str:
    """How a container died that does not run, "" when its own clock ended it."""
    if state is None:
        return "the container is gone"
    if state.get("OOMKilled"):
        return "the container ran out of memory"
    code = state.get("ExitCode")
    return f"the container stopped with code {code}" if code else ""


def docker_transport(
    options: DockerOptions, environ: Mapping[str, str], *, name: str = "docker"
) -> DockerTransport:
    """The way to a container; EnvironmentUnavailable when the program is not there."""
    names = ("podman",) if name == "podman" else ("docker", "podman")
    hint = "install Docker or Podman, or set terminal.backend to local"
    program = find_program(names, environ, hint)
    if Path(program.path).name == "podman":  # it hands proxies on to containers, docker does not
        program = replace(program, env=without_logins(environ))
    return DockerTransport(program, options, name=name)
