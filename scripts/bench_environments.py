"""What one command costs in each environment: ours and the bare client's in turn, medians. `scripts/bench
environments [NAME …]`.

The servers are those of the tests (`scripts/backends` installs them); the clouds' are our own, which speak
the vendors' protocols here, so that the number of calls counts there and not the time. On a machine with
other work: `chrt -f 10 scripts/bench environments local ssh docker` (as root); Apptainer does not stand that
priority.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import anyio

from hermes.lib.aio import background
from hermes.lib.lazy import import_object

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for the servers of the tests

from tests.contracts import servers

from hermes.composition import SYSTEM_PORTS
from hermes.config.environ import environment
from hermes.environments.base import Limits
from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.environments.remote.cloud import CloudOptions, Vendor
from hermes.environments.remote.daytona import DaytonaCloud
from hermes.environments.remote.docker import PRELUDE, DockerOptions, docker_transport
from hermes.environments.remote.environment import RemoteEnvironment
from hermes.environments.remote.modal import ModalCloud
from hermes.environments.remote.polling_transport import PollingTransport
from hermes.environments.remote.singularity import SingularityOptions, singularity_transport
from hermes.environments.remote.ssh import SshOptions, ssh_transport
from hermes.environments.remote.transport import RemoteTransport
from hermes.environments.remote.vercel import VercelCloud
from hermes.environments.remote.workspace import RemoteWorkspace
from hermes.environments.sandbox.mounts import Mode
from hermes.environments.sandbox.prewarm import Spawn
from hermes.environments.sandbox.sandbox import SandboxOptions
from hermes.environments.workspace import ShellWorkspace, WorkspaceOptions
from hermes.types.action import Action, Permit

ROUNDS = 60
PAUSE = 0.05  # a model takes longer between two commands
HERE: dict[str, tuple[Mode, bool | tuple[str, ...]]] = {
    "local": ("workspace", False),
    "local, read-only": ("read-only", False),
    "local, full": ("full", False),
    "local, network open": ("workspace", True),
    "local, named hosts": ("workspace", ("example.com", "*.example.org")),
}
PLACES = (*HERE, "ssh", "docker", "singularity", "modal", "daytona", "vercel")
GOALS = {
    **dict.fromkeys(HERE, "≤ 8 ms more"),
    "local": "≤ 6 ms more",
    "ssh": "≤ 15 ms more",
    "docker": "≤ 1.2 ×",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A workspace; `bare` gives, once it is met, the argv that runs `true` there by the client alone; `calls`
    counts a cloud's requests.
    """

    space: ShellWorkspace
    bare: Callable[[], tuple[str, ...]] | None
    environ: dict[str, str]
    calls: Callable[[], int] = lambda: 0


class Counted:
    """A vendor whose requests are counted."""

    def __init__(self, vendor: Vendor) -> None:
        self._vendor = vendor
        self.name = vendor.name
        self.title = vendor.title
        self.errors = vendor.errors
        self.count = 0

    def make(self) -> Any:
        """The sandbox."""
        return self._vendor.make()

    def give_back(self, sandbox: Any) -> None:
        """As the vendor does."""
        self._vendor.give_back(sandbox)

    def fault(self, sandbox: Any) -> str:
        """As the vendor says."""
        return self._vendor.fault(sandbox)

    def run(self, sandbox: Any, script: str) -> bytes:
        """What a script prints there."""
        self.count += 1
        return self._vendor.run(sandbox, script)


@asynccontextmanager
async def opened(name: str, top: Path) -> AsyncIterator[Place]:
    """The place with that name, its server running, its workspace met."""
    async with background() as spawn:
        makers: dict[str, Callable[[Path], Any]] = {
            **{one: partial(_local, *kind, spawn) for one, kind in HERE.items()},
            "ssh": _ssh,
            "docker": _docker,
            "singularity": _singularity,
        }
        with makers[name](top) if name in makers else _cloud(name, top) as place:
            try:
                yield place
            finally:
                await place.space.close()


@contextmanager
def _local(mode: Mode, network: bool | tuple[str, ...], spawn: Spawn, top: Path) -> Iterator[Place]:  # noqa: FBT001
    work, scratch = top / "work", top / "scratch"
    subprocess.run(["git", "init", "-q", str(work)], check=True)  # noqa: S607  # whichever git there is
    environ = environment()
    sandbox = open_sandbox(
        workspace=work,
        home=Path.home(),
        hermes_home=top / "home",
        scratch=scratch,
        environ=environ,
        sandboxing=SandboxOptions(mode=mode),
    )
    if sandbox is None:
        raise SystemExit("bubblewrap does not work here; hermes sandbox status says why")
    space = LocalWorkspace(
        work,
        authorize=_allow(confined=True, network=network),
        environ=environ,
        sandbox=sandbox,
        scratch=scratch,
        options=WorkspaceOptions(spawn=spawn),
    )
    yield Place(space=space, bare=lambda: ("bash", "--noprofile", "--norc", "-c", "true"), environ=environ)


@contextmanager
def _ssh(top: Path) -> Iterator[Place]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = servers.sshd(top, port)
    server.start()
    options = SshOptions(
        host="127.0.0.1", port=port, key=str(server.key), folder=top / "cm", extra=server.options
    )
    transport = ssh_transport(options, environment())
    try:
        yield Place(
            space=_remote(transport, top),
            bare=lambda: ("ssh", "-S", _only(top / "cm"), "-T", "--", "127.0.0.1", "true"),
            environ=environment(),
        )
    finally:
        servers.end_sessions(server)
        for process in server.started:
            servers.stop(process)


@contextmanager
def _docker(top: Path) -> Iterator[Place]:
    started = servers.docker(top)
    with _usual_priority():
        daemon = next(started)
    transport = docker_transport(
        DockerOptions(image=servers.IMAGE, key="bench", network=False, persistent=False), daemon.environ
    )
    try:
        yield Place(
            space=_remote(transport, top, PRELUDE),
            bare=lambda: ("docker", "exec", "--interactive", daemon.client("ps", "--quiet"), "true"),
            environ=daemon.environ,
        )
    finally:
        next(started, None)


@contextmanager
def _usual_priority() -> Iterator[None]:
    """What is started in it has no realtime priority: a daemon could not put containers into control
    groups.
    """
    before, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    yield
    os.sched_setscheduler(0, before, parameters)


@contextmanager
def _singularity(top: Path) -> Iterator[Place]:
    environ = environment()
    environ["PATH"] = f"{servers.BACKENDS}/apptainer/usr/bin:{environ['PATH']}"
    transport = singularity_transport(
        SingularityOptions(image=str(servers.BACKENDS / "apptainer-image")), environ, mark="bench"
    )

    def bare() -> tuple[str, ...]:
        listed = subprocess.run(
            ("apptainer", "instance", "list", "--json"),  # noqa: S607
            env=environ,
            capture_output=True,
            check=True,
        ).stdout
        name = next(
            one["instance"] for one in json.loads(listed)["instances"] if one["instance"].endswith("-bench")
        )
        return ("apptainer", "--silent", "exec", "--cleanenv", f"instance://{name}", "true")

    yield Place(space=_remote(transport, top), bare=bare, environ=environ)


@contextmanager
def _cloud(name: str, top: Path) -> Iterator[Place]:
    with servers.cloud(name) as server:
        cloud = Counted(_client(name, server.address))
        yield Place(
            space=_remote(PollingTransport(cloud, mark="bench"), top),
            bare=None,
            environ={},
            calls=lambda: cloud.count,
        )


def _client(name: str, address: str) -> Vendor:
    options = CloudOptions(image="" if name == "vercel" else "debian:bookworm", key="bench", persistent=False)
    if name == "modal":
        os.environ |= {  # its library looks nowhere else
            "MODAL_SERVER_URL": address,
            "MODAL_TOKEN_ID": "ak-x",
            "MODAL_TOKEN_SECRET": "as-x",
            "MODAL_CONFIG_PATH": "/nowhere",
        }
        return ModalCloud(options, import_object("modal"), Path("/nowhere"))
    if name == "daytona":
        library = import_object("daytona")
        client = library.Daytona(library.DaytonaConfig(api_key="k", api_url=address, target="us"))
        return DaytonaCloud(options, library, client)
    credentials = {"VERCEL_TOKEN": "t", "VERCEL_TEAM_ID": "team", "VERCEL_PROJECT_ID": "p"}
    return VercelCloud(options, credentials, base_url=f"{address}/api")


def _remote(transport: RemoteTransport, top: Path, prelude: str = "") -> RemoteWorkspace:
    environment = RemoteEnvironment(
        transport, mark=f"bench{os.getpid()}", outputs=top / "outputs", limits=Limits(), prelude=prelude
    )
    return RemoteWorkspace(
        environment,
        cwd="/",
        env={},
        met=lambda _: None,
        authorize=_allow(confined=False),
        clock=SYSTEM_PORTS.now,
        options=WorkspaceOptions(),
    )


def _allow(
    *, confined: bool, network: bool | tuple[str, ...] = False
) -> Callable[[Action], Awaitable[Permit]]:
    async def authorize(action: Action) -> Permit:
        return Permit.of(action, confined=confined, network=network)

    return authorize


def _only(folder: Path) -> str:
    (path,) = folder.iterdir()
    return str(path)


async def _ours(space: ShellWorkspace) -> float:
    started = time.perf_counter()
    done = await space.run("true", timeout=30)
    assert done.code == 0, done.text
    return time.perf_counter() - started


def _theirs(argv: tuple[str, ...], environ: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environ, cwd="/", check=True
    )
    return time.perf_counter() - started


async def measured(name: str, place: Place) -> str:
    """The row of a place."""
    started = time.perf_counter()
    await place.space.run("true", timeout=300)
    first = time.perf_counter() - started
    if place.bare is None:
        return await _counted(name, place, first)
    argv = place.bare()
    _theirs(argv, place.environ)
    pairs = [await _pair(place, argv) for _ in range(ROUNDS)]
    ours, floor = (median(side) * 1000 for side in zip(*pairs, strict=True))
    more = median(with_it - without for with_it, without in pairs) * 1000
    return (
        f"| {name} | {first:.2f} s | {ours:.1f} ms | {floor:.1f} ms | {more:.1f} ms | {ours / floor:.2f} × |"
        f" | {GOALS.get(name, '')} |"
    )


async def _pair(place: Place, argv: tuple[str, ...]) -> tuple[float, float]:
    """What both sides take, each when nothing of the other goes on any more."""
    theirs = _theirs(argv, place.environ)
    await anyio.sleep(PAUSE)
    ours = await _ours(place.space)
    await anyio.sleep(PAUSE)
    return ours, theirs


async def _counted(name: str, place: Place, first: float) -> str:
    before = place.calls()
    times = [await _ours(place.space) for _ in range(ROUNDS)]
    await anyio.sleep(1)  # the last job's folder is removed in a thread
    calls = (place.calls() - before) / ROUNDS
    return f"| {name} | {first:.2f} s | {median(times) * 1000:.1f} ms | | | | {calls:g} | |"


async def main() -> None:
    """Print one Markdown table."""
    print(
        f"{SYSTEM_PORTS.now():.0f} epoch seconds, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f},"
        f" Python {sys.version.split()[0]}"
    )
    print(
        "| `true` | first | ours | bare client | more, median | ratio | calls | goal"
        " |\n|---|---:|---:|---:|---:|---:|---:|---|"
    )
    for name in sys.argv[1:] or PLACES:
        with tempfile.TemporaryDirectory(prefix="hb-", dir=Path.home(), ignore_cleanup_errors=True) as folder:
            async with opened(name, Path(folder)) as place:
                print(await measured(name, place), flush=True)


if __name__ == "__main__":
    anyio.run(main)
