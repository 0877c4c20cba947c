"""Every environment as a workspace over the same folder, for the suites that all of them must pass."""

import itertools
import os
import shutil
import socket
import tempfile
import time
import warnings
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from msgspec.structs import replace

from hermes.environments.base import Limits
from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.environments.remote.cloud import CloudOptions
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
from hermes.environments.sandbox.prewarm import Spawn
from hermes.environments.script_workspace import ScriptWorkspace
from hermes.environments.workspace import WorkspaceOptions
from hermes.lib.lazy import import_object
from hermes.types.action import Action, Permit
from hermes.types.error import ExecError, Refused
from tests.contracts import servers

HERE = ("open", "confined")
ENGINES = ("docker", "podman")
CLOUDS = ("modal", "daytona", "vercel")
SERVERS = ("docker", "ssh", "singularity")
IN_TURN = (*CLOUDS, "podman")
ELSEWHERE = (*SERVERS, *IN_TURN)
_BOTH_LOOPS = (*HERE, "ssh")
_MARKS = itertools.count(1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each place on asyncio; on trio, too, those here, and one elsewhere in the long form.

    The clouds share one transport, and podman docker's; in the short form each of these tests runs on one of these, by turns, and those
    marked `one_transport` on no machine elsewhere but one. In the long form all run on all.
    """
    chosen = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "place" not in metafunc.fixturenames or "place" in chosen:
        if "loop" in metafunc.fixturenames and "loop" not in chosen:
            metafunc.parametrize("loop", ["asyncio", "trio"])
        return
    is_long = bool(metafunc.config.getoption("--long"))
    elsewhere = _elsewhere(metafunc.definition, is_long=is_long)
    places = elsewhere if metafunc.definition.get_closest_marker("elsewhere") else (*HERE, *elsewhere)
    pairs = [("asyncio", place) for place in places] + [
        ("trio", place) for place in places if place in (_BOTH_LOOPS if is_long else HERE)
    ]
    metafunc.parametrize(("loop", "place"), pairs, ids=[f"{place}-{loop}" for loop, place in pairs])


def _elsewhere(test: pytest.Function, *, is_long: bool) -> tuple[str, ...]:
    if is_long:
        return ELSEWHERE
    if test.get_closest_marker("one_transport"):
        return ("ssh",)
    if test.get_closest_marker("elsewhere"):
        return ELSEWHERE
    return (*SERVERS, IN_TURN[zlib.crc32(test.name.encode()) % len(IN_TURN)])


@pytest.fixture
def anyio_backend(loop: str) -> str:
    return loop


@dataclass
class Bench:
    """A workspace over `root`, and what was asked of its `authorize`. `mark` begins the marks of its processes."""

    space: ScriptWorkspace
    root: Path
    place: str
    mark: str
    another: Callable[[], ScriptWorkspace]
    transport: RemoteTransport | None = None
    asked: list[Action] = field(default_factory=list)
    refuse: bool = False

    @property
    def keeps_survivors(self) -> bool:
        """Whether what a command leaves running lives on after it."""
        return self.place != "confined"

    def leftovers(self) -> list[str]:
        """Command lines of processes that calls of this bench have started and that still run."""
        lines: list[str] = []
        for process in marked(self.mark):
            with suppress(psutil.NoSuchProcess):  # it may end while it is looked at
                lines.append(" ".join(process.cmdline()))
        return lines

    async def survivors(self) -> list[str]:
        """The same, once what was killed has had the time to end."""
        for _ in range(500):
            if not self.leftovers():
                break
            await anyio.sleep(0.02)
        return self.leftovers()


def marked(mark: str) -> Iterator[psutil.Process]:
    """The live processes whose mark begins so; those in containers are seen from here, too."""
    for process in psutil.process_iter():
        try:
            if (
                process.environ().get("HERMES_CALL", "").startswith(mark)
                and process.status() != psutil.STATUS_ZOMBIE
            ):
                yield process
        except psutil.Error:
            continue


class Shared:
    """A transport that many tests use one after the other: closing it is the fixture's."""

    def __init__(self, transport: RemoteTransport) -> None:
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    async def close(self) -> None:
        """Only wait for what goes on behind it."""
        if isinstance(self._transport, PollingTransport):
            await self._transport.settled()


@pytest.fixture(scope="session")
def docker_daemon() -> Iterator[servers.Docker]:
    with tempfile.TemporaryDirectory(prefix="hermes-docker-", ignore_cleanup_errors=True) as folder:
        yield from servers.docker(Path(folder))


@pytest.fixture(scope="session")
def podman_storage() -> Iterator[servers.Docker]:
    with tempfile.TemporaryDirectory(prefix="hermes-podman-", ignore_cleanup_errors=True) as folder:
        yield from servers.podman(Path(folder))


@pytest.fixture(scope="session")
def ssh_server() -> Iterator[servers.Sshd]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="hermes-sshd-") as folder:
        server = servers.sshd(Path(folder), port)
        server.start()
        yield server
        servers.end_sessions(server)
        for process in server.started:
            servers.stop(process)


@pytest.fixture(scope="session")
def modal_server() -> Iterator[servers.Cloud]:
    with servers.cloud("modal") as server, pytest.MonkeyPatch.context() as patch:
        # Its library takes its settings from nowhere else.
        for name, value in {
            "SERVER_URL": server.address,
            "TOKEN_ID": "ak-x",
            "TOKEN_SECRET": "as-x",
            "CONFIG_PATH": "/nowhere",
        }.items():
            patch.setenv(f"MODAL_{name}", value)
        yield server


@pytest.fixture(scope="session")
def daytona_server() -> Iterator[servers.Cloud]:
    with servers.cloud("daytona") as server:
        yield server


@pytest.fixture(scope="session")
def vercel_server() -> Iterator[servers.Cloud]:
    with servers.cloud("vercel") as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERCEL_TELEMETRY_DISABLED", "1")
        yield server


@pytest.fixture(scope="session")
def shared_root() -> Iterator[Path]:
    """A folder that every place sees under the same name."""
    with tempfile.TemporaryDirectory(prefix="hermes-places-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


@pytest.fixture(scope="session")
def transports(
    request: pytest.FixtureRequest, shared_root: Path
) -> Iterator[Callable[[str], RemoteTransport]]:
    """The transport to each place elsewhere, one for the whole run."""
    made: dict[str, RemoteTransport] = {}

    def transport(place: str) -> RemoteTransport:
        if place not in made:
            made[place] = Shared(make_transport(place, request, shared_root))
        return made[place]

    yield transport
    assert _work_in_clouds() == []
    with suppress(
        KeyError, ExecError
    ):  # its server may be gone by now, its connections are closed all the same
        made["vercel"]._transport._cloud.close()  # type: ignore[attr-defined]
    for folder in Path("/tmp").glob(f".hermes-cloud{os.getpid()}x*"):
        shutil.rmtree(folder, ignore_errors=True)
    if "singularity" in made:
        servers.apptainer_stop_all(apptainer_environ())


def _work_in_clouds() -> list[str]:
    """Command lines of what our jobs in clouds left running, after a minute to end."""
    for _ in range(600):
        lines = (" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))
        found = [line for line in lines if f".hermes-cloud{os.getpid()}x" in line]
        if not found:
            break
        time.sleep(0.1)
    return found


def engine_of(place: str, request: pytest.FixtureRequest) -> servers.Docker:
    """What runs containers there."""
    found: servers.Docker = request.getfixturevalue(
        "docker_daemon" if place == "docker" else "podman_storage"
    )
    return found


def make_transport(place: str, request: pytest.FixtureRequest, root: Path, **chosen: Any) -> RemoteTransport:
    """A transport to a place elsewhere that sees `root` under the same name."""
    if place in ENGINES:
        options = {
            "network": False,
            "volumes": (f"{root}:{root}",),
            "memory": 1024,
            "cpus": 0,
            "pids": 512,
            "key": "tests",
        }
        return docker_transport(
            DockerOptions(**{"image": servers.IMAGE, **options, **chosen}),
            engine_of(place, request).environ,
            name=place,
        )
    if place == "ssh":
        server: servers.Sshd = request.getfixturevalue("ssh_server")
        given = {
            "port": server.port,
            "key": str(server.key),
            "folder": server.folder / "cm",
            "extra": server.options,
            **chosen,
        }
        return ssh_transport(SshOptions(**{"host": "127.0.0.1", **given}), dict(os.environ))
    if place in CLOUDS:
        return _cloud_transport(place, request.getfixturevalue(f"{place}_server"), **chosen)
    image = servers.needed(servers.BACKENDS / "apptainer-image", "the image for apptainer")
    return singularity_transport(
        SingularityOptions(**{"image": image, "binds": (f"{root}:{root}",), **chosen}),
        apptainer_environ(),
        mark=servers.APPTAINER_MARK,
    )


def _cloud_mark() -> str:
    return f"cloud{os.getpid()}x{next(_MARKS)}"


def _cloud_transport(place: str, server: servers.Cloud, **chosen: Any) -> RemoteTransport:
    """A transport by the vendor's own library to a server of ours that speaks its protocol."""
    given: dict[str, Any] = {"image": "debian:bookworm", "key": "tests", "persistent": False, **chosen}
    if place == "modal":
        modal = ModalCloud(CloudOptions(**given), import_object("modal"), server.folder / "kept.json")
        return PollingTransport(modal, mark=_cloud_mark())
    if place == "daytona":
        library = import_object("daytona")
        with (
            warnings.catch_warnings()
        ):  # what it listens to besides leaves sockets open when there is nothing to listen to
            warnings.simplefilter("ignore", DeprecationWarning)
            config = library.DaytonaConfig(
                api_key="k", api_url=server.address, target="us", use_deprecated_polling=True
            )
            client = library.Daytona(config)
        return PollingTransport(DaytonaCloud(CloudOptions(**given), library, client), mark=_cloud_mark())
    credentials = {"VERCEL_TOKEN": "t", "VERCEL_TEAM_ID": "team", "VERCEL_PROJECT_ID": "p"}
    vercel = VercelCloud(CloudOptions(**given), credentials, base_url=f"{server.address}/api")
    return PollingTransport(vercel, mark=_cloud_mark())


def apptainer_environ() -> dict[str, str]:
    """The environment in which the apptainer of the tests is found first."""
    servers.needed(servers.BACKENDS / "apptainer/usr/bin/apptainer", "apptainer")
    return {**os.environ, "PATH": f"{servers.BACKENDS}/apptainer/usr/bin:{os.environ['PATH']}"}


@pytest.fixture
async def bench(
    place: str, request: pytest.FixtureRequest, tmp_path: Path, environ: dict[str, str], spawn: Spawn
) -> AsyncIterator[Bench]:
    if place in HERE:
        made = _here(place, tmp_path, environ, spawn)
    else:
        shared: Path = request.getfixturevalue("shared_root")
        root = Path(tempfile.mkdtemp(dir=shared))
        root.chmod(0o755)
        transport: RemoteTransport = request.getfixturevalue("transports")(place)
        await (
            transport.open()
        )  # many workspaces share it in these tests, and each would make a machine of its own
        made = elsewhere_bench(place, transport, root, tmp_path / "scratch")
    yield made
    await made.space.close()


OPTIONS = WorkspaceOptions(limits=Limits(max_chars=5_000, max_lines=200))


def _here(place: str, folder: Path, environ: dict[str, str], spawn: Spawn) -> Bench:
    root, scratch, home = folder / "project", folder / "scratch", Path(environ["HOME"])
    root.mkdir()
    sandbox = None
    if place == "confined":
        sandbox = open_sandbox(
            workspace=root, home=home, hermes_home=home / ".hermes", scratch=scratch, environ=environ
        )
        assert sandbox is not None, "bubblewrap does not work here"

    def another() -> ScriptWorkspace:
        return LocalWorkspace(
            root,
            authorize=_authorize(lambda: made),
            environ=environ,
            sandbox=sandbox,
            options=replace(OPTIONS, spawn=spawn),
            scratch=scratch,
        )

    made = Bench(space=another(), root=root, place=place, mark=f"{os.getpid()}-", another=another)
    return made


def elsewhere_bench(place: str, transport: RemoteTransport, root: Path, scratch: Path) -> Bench:
    """A bench on a machine at the end of a transport."""
    mark = f"test{os.getpid()}x{next(_MARKS)}"

    def another() -> ScriptWorkspace:
        environment = RemoteEnvironment(
            transport,
            mark=f"{mark}y{next(_MARKS)}",
            outputs=scratch / "outputs",
            limits=OPTIONS.limits,
            prelude=PRELUDE if place in ENGINES else "",
        )
        return RemoteWorkspace(
            environment,
            cwd=str(root),
            env={},
            met=lambda _: None,
            authorize=_authorize(lambda: made),
            clock=_clock,
            options=OPTIONS,
        )

    made = Bench(space=another(), root=root, place=place, mark=mark, another=another, transport=transport)
    return made


def _clock() -> float:
    return 1_800_000_000.0


def _authorize(bench: Callable[[], Bench]) -> Any:
    async def authorize(action: Action) -> Permit:
        bench().asked.append(action)
        if bench().refuse:
            raise Refused("no")
        return Permit.of(action, confined=bench().place == "confined")

    return authorize
