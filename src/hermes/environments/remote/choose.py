"""From the terminal settings to a transport: which machine commands run on, and whether it can be used."""

import hashlib
from collections.abc import Mapping
from typing import ClassVar, Final

from msgspec import Struct, field

from hermes.environments.remote.cloud import CloudOptions, checked_cloud
from hermes.environments.remote.docker import PRELUDE, DockerOptions, DockerTransport, docker_transport
from hermes.environments.remote.docker_args import read_arguments
from hermes.environments.remote.singularity import (
    SingularityOptions,
    SingularityTransport,
    singularity_transport,
)
from hermes.environments.remote.ssh import SshOptions, SshTransport, ssh_transport
from hermes.environments.remote.transport import Check, Origin, RemoteTransport
from hermes.environments.settings import TerminalSettings
from hermes.lib.abridged import Abridged
from hermes.lib.lazy import import_object
from hermes.types.error import EnvironmentUnavailable, ExecError

MOUNTED: Final = "/workspace"
_CHECK_SECONDS: Final = 10.0
_CLOUDS: Final = {
    "modal": "hermes.environments.remote.modal",
    "daytona": "hermes.environments.remote.daytona",
    "vercel_sandbox": "hermes.environments.remote.vercel",
}


class Choice(Abridged, Struct, frozen=True, kw_only=True):
    """A machine elsewhere. `contained`: what happens in it stays in it, but for the folders of `binds` and
    what leaves by the network.

    `cwd` is where commands start, "" for where its own shell does; `env` is added to its environment;
    `prelude` runs before each job.
    """

    unshown: ClassVar = ("env",)

    transport: RemoteTransport
    contained: bool
    network: bool = True
    cwd: str = ""
    binds: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    prelude: str = ""


def choose(terminal: TerminalSettings, origin: Origin) -> Choice:
    """The machine that the settings name; EnvironmentUnavailable says what is missing for it."""
    if terminal.backend in _CLOUDS:
        return _cloud(terminal, origin)
    transport = _client_transport(terminal, origin)
    if terminal.backend == "ssh":
        return Choice(transport=transport, contained=False, cwd=_start(terminal))
    extra = read_arguments(terminal.docker_extra_args)
    return Choice(
        transport=transport,
        contained=not extra.opens,
        network=terminal.docker_network,
        cwd=_start(terminal),
        binds=(
            *_writable([*terminal.docker_volumes, *extra.volumes]),
            *((MOUNTED,) if terminal.docker_mount_cwd_to_workspace else ()),
        ),
        env=_variables(terminal, origin),
        prelude=PRELUDE if terminal.backend in {"docker", "podman"} else "",
    )


async def checkup(terminal: TerminalSettings, origin: Origin) -> Check:
    """Whether the machine that the settings name can be used, within about ten seconds; nothing is made, and
    of a cloud only the library and the keys are looked at.
    """
    name = terminal.backend
    if cloud := _CLOUDS.get(name):
        missing = import_object(f"{cloud}:missing_keys")(origin.environ)
        return checked_cloud(name, cloud.rpartition(".")[2], missing)
    try:
        return await _client_transport(terminal, origin).check(_CHECK_SECONDS)
    except ExecError as error:
        return Check("fault", f"{name}: {error}")


def _client_transport(
    terminal: TerminalSettings, origin: Origin
) -> DockerTransport | SshTransport | SingularityTransport:
    """The way there by a client program of this machine."""
    match terminal.backend:
        case "docker" | "podman":
            return docker_transport(_docker(terminal, origin), origin.for_clients, name=terminal.backend)
        case "ssh":
            return ssh_transport(_ssh(terminal, origin), origin.for_clients)
        case "singularity" | "apptainer":
            return singularity_transport(_singularity(terminal, origin), origin.for_clients, mark=origin.mark)
        case name:
            raise EnvironmentUnavailable(f"terminal.backend is {name}: no client program leads there.")


def _docker(terminal: TerminalSettings, origin: Origin) -> DockerOptions:
    return DockerOptions(
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


def _ssh(terminal: TerminalSettings, origin: Origin) -> SshOptions:
    return SshOptions(
        host=terminal.ssh_host,
        user=terminal.ssh_user,
        port=terminal.ssh_port,
        key=terminal.ssh_key,
        folder=origin.hermes_home / "ssh",
        idle_seconds=terminal.lifetime_seconds,
    )


def _singularity(terminal: TerminalSettings, origin: Origin) -> SingularityOptions:
    name = hashlib.blake2s(f"{origin.key}:{terminal.singularity_image}".encode(), digest_size=8).hexdigest()
    return SingularityOptions(
        image=terminal.singularity_image,
        cpus=terminal.container_cpu,
        memory=terminal.container_memory,
        pids=terminal.container_pids,
        network=terminal.docker_network,
        overlay=origin.hermes_home / "overlays" / name if terminal.container_persistent else None,
        binds=tuple(terminal.docker_volumes),
        workspace=_mounted(terminal, origin),
    )


def _cloud(terminal: TerminalSettings, origin: Origin) -> Choice:
    options = CloudOptions(
        image=_cloud_image(terminal),
        key=origin.key,
        cpus=terminal.container_cpu,
        memory=terminal.container_memory,
        disk=terminal.container_disk,
        network=terminal.docker_network,
        persistent=terminal.container_persistent,
        idle_seconds=terminal.lifetime_seconds,
    )
    transport: RemoteTransport = import_object(f"{_CLOUDS[terminal.backend]}:transport")(options, origin)
    return Choice(
        transport=transport,
        contained=True,
        network=terminal.docker_network,
        cwd=_start(terminal),
        env=_variables(terminal, origin),
    )


def _cloud_image(terminal: TerminalSettings) -> str:
    match terminal.backend:
        case "modal":
            return terminal.modal_image
        case "daytona":
            return terminal.daytona_image
        case _:
            return terminal.vercel_image


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
