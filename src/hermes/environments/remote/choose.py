"""From the terminal settings to a link: which machine commands run on."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

from msgspec import Struct, field

from hermes.environments.remote.docker import PRELUDE, DockerOptions, docker_link
from hermes.environments.remote.link import Link
from hermes.environments.remote.singularity import SingularityOptions, singularity_link
from hermes.environments.remote.ssh import SshOptions, ssh_link
from hermes.environments.settings import TerminalSettings
from hermes.lib.abridged import Abridged
from hermes.lib.lazy import import_object
from hermes.lib.programs import search_path
from hermes.types.error import EnvironmentUnavailable

MOUNTED: Final = "/workspace"
_OPENING: Final = frozenset(
    {"--privileged", "--pid", "--ipc", "--uts", "--userns", "--cap-add", "--device", "--security-opt"}
    | {"--volumes-from", "--network", "--net", "--cgroupns"}
)
_MOUNT_NAMES: Final = (("source", "src"), ("target", "dst"))


class Origin(Abridged, Struct, frozen=True, kw_only=True):
    """Who asks: the directory hermes was started in, its home, the user's environment, and a word that no
    other session has.
    """

    unshown: ClassVar = ("environ",)

    cwd: Path
    hermes_home: Path
    environ: Mapping[str, str]
    mark: str

    @property
    def key(self) -> str:
        """What a kept machine belongs to: this directory of this home."""
        return f"{self.hermes_home}:{self.cwd}"

    @property
    def for_clients(self) -> dict[str, str]:
        """The environment of client programs; its PATH has no folder that lies in this directory."""
        return {**self.environ, "PATH": search_path(self.environ, (self.cwd,))}


class Choice(Abridged, Struct, frozen=True, kw_only=True):
    """A machine elsewhere. `contained`: what happens in it stays in it, but for the folders of `binds` and
    what leaves by the network.

    `cwd` is where commands start, "" for where its own shell does; `env` is added to its environment;
    `prelude` runs before each job.
    """

    unshown: ClassVar = ("env",)

    link: Link
    contained: bool
    network: bool = True
    cwd: str = ""
    binds: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    prelude: str = ""


def choose(terminal: TerminalSettings, origin: Origin) -> Choice:
    """The machine that the settings name; EnvironmentUnavailable says what is missing for it."""
    match terminal.backend:
        case "docker" | "podman":
            return _docker(terminal, origin)
        case "ssh":
            return _ssh(terminal, origin)
        case "singularity" | "apptainer":
            return _singularity(terminal, origin)
        case "modal" | "daytona" | "vercel_sandbox":
            return _cloud(terminal, origin)
        case "local":
            raise EnvironmentUnavailable("terminal.backend is local: that is this machine.")


def _docker(terminal: TerminalSettings, origin: Origin) -> Choice:
    options = DockerOptions(
        image=terminal.docker_image,
        key=origin.key,
        cpus=terminal.container_cpu,
        memory=terminal.container_memory,
        disk=terminal.container_disk,
        pids=terminal.container_pids,
        network=terminal.docker_network,
        read_only=terminal.docker_read_only,
        persistent=terminal.container_persistent,
        volumes=tuple(terminal.docker_volumes),
        extra=tuple(terminal.docker_extra_args),
        workspace=_mounted(terminal, origin),
        as_user=terminal.docker_run_as_host_user,
        idle_seconds=terminal.lifetime_seconds,
    )
    return _container(
        terminal, origin, docker_link(options, origin.for_clients, name=terminal.backend), prelude=PRELUDE
    )


def _ssh(terminal: TerminalSettings, origin: Origin) -> Choice:
    options = SshOptions(
        host=terminal.ssh_host,
        user=terminal.ssh_user,
        port=terminal.ssh_port,
        key=terminal.ssh_key,
        folder=origin.hermes_home / "ssh",
        idle_seconds=terminal.lifetime_seconds,
    )
    return Choice(link=ssh_link(options, origin.for_clients), contained=False, cwd=_start(terminal))


def _singularity(terminal: TerminalSettings, origin: Origin) -> Choice:
    name = hashlib.blake2s(f"{origin.key}:{terminal.singularity_image}".encode(), digest_size=8).hexdigest()
    options = SingularityOptions(
        image=terminal.singularity_image,
        cpus=terminal.container_cpu,
        memory=terminal.container_memory,
        pids=terminal.container_pids,
        network=terminal.docker_network,
        overlay=origin.hermes_home / "overlays" / name if terminal.container_persistent else None,
        binds=tuple(terminal.docker_volumes),
        workspace=_mounted(terminal, origin),
    )
    return _container(terminal, origin, singularity_link(options, origin.for_clients, mark=origin.mark))


def _container(terminal: TerminalSettings, origin: Origin, link: Link, *, prelude: str = "") -> Choice:
    """A container on this machine, with folders of it inside."""
    return Choice(
        link=link,
        contained=not _opens(terminal.docker_extra_args),
        network=terminal.docker_network,
        cwd=_start(terminal),
        binds=(
            *_writable([*terminal.docker_volumes, *_volumes(terminal.docker_extra_args)]),
            *((MOUNTED,) if terminal.docker_mount_cwd_to_workspace else ()),
        ),
        env=_variables(terminal, origin),
        prelude=prelude,
    )


def _cloud(terminal: TerminalSettings, origin: Origin) -> Choice:
    name = terminal.backend.removesuffix("_sandbox")
    link: Link = import_object(f"hermes.environments.remote.{name}:link")(terminal, origin)
    return Choice(
        link=link,
        contained=True,
        network=terminal.docker_network,
        cwd=_start(terminal),
        env=_variables(terminal, origin),
    )


def _opens(extra: Sequence[str]) -> bool:
    """Whether arguments for docker run take away what keeps a container's effects in it."""
    return any(word.partition("=")[0] in _OPENING for word in extra)


def _volumes(extra: Sequence[str]) -> Iterator[str]:
    """The volumes among arguments for docker run, as host:container[:options]."""
    for word, following in zip(extra, (*extra, "")[1:], strict=True):
        name, given, value = word.partition("=")
        value = value if given else following
        if name in {"-v", "--volume"}:
            yield value
        elif word.startswith("-v") and not word.startswith("--"):
            yield word[2:]
        elif name == "--mount":
            parts = dict(part.partition("=")[::2] for part in value.split(","))
            source, target = (parts.get(one, parts.get(two, "")) for one, two in _MOUNT_NAMES)
            yield f"{source}:{target}{':ro' if parts.keys() & {'ro', 'readonly'} else ''}"


def _start(terminal: TerminalSettings) -> str:
    return "" if terminal.cwd == "." else terminal.cwd


def _mounted(terminal: TerminalSettings, origin: Origin) -> str:
    return str(origin.cwd) if terminal.docker_mount_cwd_to_workspace else ""


def _variables(terminal: TerminalSettings, origin: Origin) -> dict[str, str]:
    forwarded = {name: origin.environ[name] for name in terminal.docker_forward_env if name in origin.environ}
    return {**terminal.docker_env, **forwarded}


def _writable(volumes: list[str]) -> tuple[str, ...]:
    """The folders in the container behind which a writable host folder lies."""
    parts = [volume.split(":") for volume in volumes]
    return tuple(
        part[1]
        for part in parts
        if len(part) > 1 and part[0].startswith(("/", "~", ".")) and "ro" not in part[2:]
    )
