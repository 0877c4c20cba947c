"""A sandbox that waits for its command: what changes meanwhile is as if it had been made at that moment."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing, suppress
from pathlib import Path

import anyio
import psutil
import pytest

from hermes.agent.spec import SessionOptions
from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.environments.process_tree import MARKER
from hermes.environments.sandbox.launch import Confinement
from hermes.environments.sandbox.mounts import Mode
from hermes.environments.sandbox.prewarm import Prewarmed, Prewarmer, Spawn
from hermes.environments.sandbox.sandbox import Sandbox, SandboxOptions
from hermes.environments.workspace import WorkspaceOptions
from hermes.lib.aio import background
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.types.action import Action, Permit

pytestmark = pytest.mark.anyio

CANARY = "canary-9181-value"
PYTHON = "/usr/bin/env python3"
_EXCHANGE = 2


class Ground:
    """A workspace with a repository, a home with secrets, and what the next commands are permitted."""

    def __init__(self, top: Path, home: Path, environ: dict[str, str], spawn: Spawn, mode: Mode) -> None:
        self.top, self.home, self.work = top, home, top / "work"
        self.environ, self.spawn = environ, spawn
        (self.work / ".git" / "hooks").mkdir(parents=True)
        (self.work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (self.work / ".git" / "config").write_text("")
        (home / ".ssh").mkdir()
        (home / ".ssh" / "id").write_text(CANARY)
        (home / ".profile").write_text("")
        (home / ".npmrc").write_text("")  # a secret, and something that starts
        self.permitted: dict[str, object] = {}
        self.sandbox = self._sandbox(mode)
        self.space = self.session("scratch")

    def session(self, scratch: str) -> LocalWorkspace:
        """A session in the workspace."""

        async def authorize(action: Action) -> Permit:
            return Permit.of(action, **{"confined": True, **self.permitted})

        return LocalWorkspace(
            self.work,
            authorize=authorize,
            environ=self.environ,
            scratch=self.top / scratch,
            sandbox=self.sandbox,
            options=WorkspaceOptions(spawn=self.spawn),
        )

    async def run(self, command: str) -> str:
        """What a command prints; afterwards the sandbox of the next one is being made."""
        done = await self.space.run(command, timeout=20)
        await anyio.wait_all_tasks_blocked()
        return done.text

    async def ready(self) -> psutil.Process:
        """Run a command, and return once the sandbox of the next one waits for it.

        Sockets of other programs come and go, and it may fail for that.
        """
        with anyio.fail_after(60):
            while True:
                await self.run("true")
                while found := waiting():
                    (one,) = found
                    if len(one.children(recursive=True)) > 1:
                        return one
                    await anyio.sleep(0.002)

    def _sandbox(self, mode: Mode) -> Sandbox:
        found = open_sandbox(
            workspace=self.work,
            home=self.home,
            hermes_home=self.home / ".hermes",
            scratch=self.top / "scratch",
            environ=self.environ,
            sandboxing=SandboxOptions(mode=mode),
        )
        assert found is not None, "bubblewrap does not work here"
        return found


@pytest.fixture(params=["workspace", "full"])
def mode(request: pytest.FixtureRequest) -> Mode:
    chosen: Mode = request.param
    return chosen


@pytest.fixture
async def ground(tmp_path: Path, environ: dict[str, str], spawn: Spawn, mode: Mode) -> AsyncIterator[Ground]:
    made = Ground(tmp_path, Path(environ["HOME"]), environ, spawn, mode)
    yield made
    await made.space.close()


def waiting() -> list[psutil.Process]:
    """The outermost processes of the sandboxes that this process has started."""
    found = [one for one in psutil.Process().children() if one.name() == "bwrap"]
    return [one for one in found if one.status() != psutil.STATUS_ZOMBIE]


def alive(tree: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still run; they get a while to end."""
    for _ in range(1000):
        left = [one for one in tree if _runs(one)]
        if not left:
            break
        time.sleep(0.02)
    return left


def _runs(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def exchange(one: Path, other: Path) -> None:
    assert ctypes.CDLL(None).renameat2(-100, bytes(one), -100, bytes(other), _EXCHANGE) == 0


def replaced(path: Path, text: str) -> None:
    path.with_name("new").write_text(text)
    path.with_name("new").rename(path)


def _new_secret(ground: Ground) -> None:
    (ground.home / ".netrc").write_text(CANARY)


def _other_secrets(ground: Ground) -> None:
    (ground.home / ".ssh").rename(ground.home / "old")
    (ground.home / ".ssh").mkdir()
    (ground.home / ".ssh" / "id").write_text(CANARY)


def _exchanged_secrets(ground: Ground) -> None:
    shutil.copytree(ground.home / ".ssh", ground.home / "copy")
    exchange(ground.home / ".ssh", ground.home / "copy")


def _same_secrets(ground: Ground) -> None:
    shutil.rmtree(ground.home / ".ssh")
    (ground.home / ".ssh").mkdir()
    (ground.home / ".ssh" / "id").write_text(CANARY)


def _other_settings(ground: Ground) -> None:
    replaced(ground.work / ".git" / "config", "[core]\n")


def _settings_twice(ground: Ground) -> None:
    _other_settings(ground)
    _other_settings(ground)


def _settings_by_link(ground: Ground) -> None:
    config = ground.work / ".git" / "config"
    config.rename(ground.work / "settings")
    config.symlink_to(ground.work / "settings")


def _more_settings(ground: Ground) -> None:
    (ground.work / ".git" / "config.worktree").write_text("")


def _other_hooks(ground: Ground) -> None:
    shutil.rmtree(ground.work / ".git" / "hooks")
    (ground.work / ".git" / "hooks").mkdir()


def _other_repository(ground: Ground) -> None:
    shutil.copytree(ground.work / ".git", ground.work / "copy")
    exchange(ground.work / ".git", ground.work / "copy")


def _linked_repository(ground: Ground) -> None:
    """The same files by other names: each has the inode that it had."""
    git, copy = ground.work / ".git", ground.work / "copy"
    (copy / "hooks").mkdir(parents=True)
    for name in ("HEAD", "config"):
        (copy / name).hardlink_to(git / name)
    exchange(git, copy)


def _submodule(ground: Ground) -> None:
    module = ground.work / ".git" / "modules" / "a"
    module.mkdir(parents=True)
    (module / "HEAD").write_text("")
    (module / "config").write_text("")


SECRETS = "cat $HOME/.netrc $HOME/.ssh/id"
SETTINGS = "echo x >> .git/config"
CHANGES: dict[str, tuple[Callable[[Ground], None], str]] = {
    "a secret appears": (_new_secret, SECRETS),
    "a folder of secrets is replaced": (_other_secrets, SECRETS),
    "a folder of secrets is exchanged": (_exchanged_secrets, SECRETS),
    "a folder of secrets is made anew": (_same_secrets, SECRETS),
    "the repository's settings are replaced": (_other_settings, SETTINGS),
    "the repository's settings are replaced twice": (_settings_twice, SETTINGS),
    "the repository's settings become a link": (
        _settings_by_link,
        "rm .git/config; echo x > .git/config; echo x > .git/hooks/pre-commit",
    ),
    "the repository gets more settings": (_more_settings, "echo x >> .git/config.worktree"),
    "the hooks are made anew": (_other_hooks, "echo x > .git/hooks/pre-commit"),
    "the repository is exchanged": (_other_repository, f"{SETTINGS}; echo x > .git/hooks/pre-commit"),
    "the repository is exchanged for links": (
        _linked_repository,
        f"{SETTINGS}; echo x > .git/hooks/pre-commit",
    ),
    "the repository gets a submodule": (_submodule, "echo x >> .git/modules/a/config"),
}


def harm(ground: Ground, output: str) -> list[str]:
    """What a command has read or written that it must not."""
    steering = ["config", "config.worktree", "hooks/pre-commit", "modules/a/config"]
    files = [ground.work / ".git" / name for name in steering]
    return [output] * (CANARY in output) + [
        str(path) for path in files if path.is_file() and not path.is_symlink() and "x" in path.read_text()
    ]


@pytest.mark.parametrize("moment", ["made", "waits"])
@pytest.mark.parametrize(("change", "attempt"), CHANGES.values(), ids=CHANGES.keys())
async def test_what_changed_since_it_was_begun_is_protected(
    ground: Ground, change: Callable[[Ground], None], attempt: str, moment: str
) -> None:
    await (ground.ready() if moment == "waits" else ground.run("true"))
    change(ground)
    assert harm(ground, await ground.run(attempt)) == []


@pytest.mark.parametrize("mode", ["workspace"])
async def test_a_repository_that_appeared_while_it_waited_is_protected(ground: Ground) -> None:
    (ground.work / ".git").rename(ground.top / "git")
    await ground.ready()
    (ground.top / "git").rename(ground.work / ".git")
    output = await ground.run("echo x >> .git/config; echo x > .git/hooks/pre-commit")
    assert harm(ground, output) == []


@pytest.mark.parametrize("mode", ["full"])
async def test_a_start_file_that_appeared_while_it_waited_is_protected(ground: Ground) -> None:
    await ground.ready()
    (ground.home / ".bash_profile").write_text("")
    await ground.run("echo x >> $HOME/.bash_profile")
    assert (ground.home / ".bash_profile").read_text() == ""


async def test_a_socket_that_appeared_while_it_waited_is_out_of_reach(ground: Ground) -> None:
    path = ground.home / "agent.sock"
    await ground.ready()
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(str(path))
        server.listen()
        server.setblocking(False)
        connect = f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r}); print('reached')"
        output = await ground.run(f'{PYTHON} -c "{connect}"')
        with pytest.raises(BlockingIOError):
            server.accept()
    assert "reached" not in output


@pytest.mark.parametrize("mode", ["workspace"])
async def test_a_workspace_that_was_replaced_while_it_waited_is_the_one_that_is_written(
    ground: Ground,
) -> None:
    await ground.ready()
    ground.work.rename(ground.top / "old")
    ground.work.mkdir()
    await ground.run("echo new > file")
    assert ((ground.work / "file").read_text(), (ground.top / "old" / "file").exists()) == ("new\n", False)


async def test_another_sessions_command_reaches_nothing_in_it(ground: Ground) -> None:
    await ground.ready()
    other = ground.session("scratch")
    await other.run(
        "echo x > /run/left; echo x > /dev/shm/left; mv .git moved; mkdir .git; echo x > .git/config; kill -9 -1",
        timeout=20,
    )
    await other.close()
    output = await ground.run("ls /run/left /dev/shm/left; echo x >> .git/config; echo ran")
    assert (output.count("No such file"), output.endswith("ran\n"), harm(ground, output)) == (
        2,
        True,
        [],
    )


async def test_no_command_finds_what_another_one_left_inside(ground: Ground) -> None:
    look = "ls /run/left /dev/shm/left 2>/dev/null; cat /proc/[0-9]*/comm | grep -c sleep"
    leave = "; (sleep 600 & ); touch /run/left /dev/shm/left"
    seen = [await ground.run(look + leave) for _ in range(4)]
    assert seen == ["0\n"] * 4


@pytest.mark.parametrize("mode", ["workspace"])
async def test_what_one_command_was_permitted_the_next_one_is_not(ground: Ground) -> None:
    file = ground.top / "granted" / "file"
    file.parent.mkdir()
    look = f"echo x >> {file}; tail -n +3 /proc/net/dev | wc -l; env | grep -c ^http_proxy"
    seen = []
    permits: list[dict[str, object]] = [
        {"paths": (str(file.parent),), "network": True},
        {},
        {"network": ("example.com",)},
    ]
    for permitted in permits:
        ground.permitted = permitted
        seen.append(((await ground.run(look))[-4:], file.read_text()))
    machine = len(Path("/proc/net/dev").read_text().splitlines()[2:])
    assert seen == [(f"{machine}\n0\n", "x\n"), ("1\n0\n", "x\n"), ("1\n1\n", "x\n")]


async def test_it_is_no_process_of_the_session_and_ends_with_it(ground: Ground) -> None:
    one = await ground.ready()
    tree = [one, *one.children(recursive=True)]
    assert ground.space.processes.list() == []
    await ground.space.close()
    assert alive(tree) == []


async def test_a_session_has_one_from_its_first_command_to_its_end(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    model = ScriptedModel(call("terminal", {"command": "echo one"}), say("done"))
    work = tmp_path / "work"
    work.mkdir()
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(
            SessionOptions(base_url="http://127.0.0.1:1/v1", model="m", toolsets=("terminal",), cwd=work)
        )
        before = len(waiting())
        await session.send("go")
        await anyio.wait_all_tasks_blocked()
        between = len(waiting())
        await session.close()
        after = len(waiting())
    assert (before, between, after) == (0, 1, 0)


async def test_a_command_has_its_result_when_nobody_runs_jobs_any_more(ground: Ground) -> None:
    async with background() as start:
        ground.spawn = start
    closed = ground.session("scratch")
    done = await closed.run("echo ran", timeout=20)
    await closed.close()
    assert (done.text, waiting()) == ("ran\n", [])


@pytest.fixture
async def ready(ground: Ground, spawn: Spawn) -> AsyncIterator[Callable[[float], Prewarmer]]:
    made: list[Prewarmer] = []

    def prewarmer(idle: float) -> Prewarmer:
        made.append(Prewarmer(ground.sandbox, spawn, lambda: {MARKER: "test"}, idle=idle))
        return made[-1]

    yield prewarmer
    for one in made:
        await one.close()


async def test_one_that_is_not_used_ends(ready: Callable[[float], Prewarmer]) -> None:
    prewarmer = ready(0.05)
    prewarmer.request(Confinement())
    with anyio.fail_after(20):
        await anyio.wait_all_tasks_blocked()
        while waiting():  # noqa: ASYNC110  # the kernel sets no event
            await anyio.sleep(0.01)
    assert await prewarmer.take(Confinement()) is None


async def test_one_is_kept_and_no_more(ready: Callable[[float], Prewarmer]) -> None:
    prewarmer = ready(60)
    for _ in range(3):
        prewarmer.request(Confinement())
        await anyio.wait_all_tasks_blocked()
    assert len(waiting()) == 1


@pytest.mark.parametrize(
    "other", [Confinement(network=True), Confinement(paths=("/srv",)), Confinement(network=("example.com",))]
)
async def test_one_of_another_kind_is_not_taken_and_ends(
    ready: Callable[[float], Prewarmer], other: Confinement
) -> None:
    prewarmer = ready(60)
    prewarmer.request(other)
    await anyio.wait_all_tasks_blocked()
    tree = waiting()
    assert (await prewarmer.take(Confinement())) is None
    await anyio.wait_all_tasks_blocked()
    await anyio.to_thread.run_sync(alive, tree)
    assert waiting() == []


async def test_one_that_nothing_changed_for_is_taken_once(ready: Callable[[float], Prewarmer]) -> None:
    for _ in range(20):  # other programs of this machine mount things and open sockets
        prewarmer = ready(60)
        prewarmer.request(Confinement())
        await anyio.wait_all_tasks_blocked()
        if taken := await prewarmer.take(Confinement()):
            break
    assert isinstance(taken, Prewarmed)
    again = await prewarmer.take(Confinement())
    await taken.end()
    assert again is None


KILLED = """
import sys
from pathlib import Path

import anyio

sys.path.insert(0, {root!r})
from tests.escapes.test_prewarmed import Ground, waiting
from hermes.lib.aio import background

async def main():
    environ = {environ!r}
    async with background() as spawn:
        ground = Ground(Path({top!r}), Path(environ["HOME"]), environ, spawn, {mode!r})
        ground.permitted = {permitted!r}
        one = await ground.ready()
        while len(one.children(recursive=True)) < {least}:
            await anyio.sleep(0.01)
        print(one.pid, *(process.pid for process in one.children(recursive=True)), flush=True)
        await anyio.sleep(600)

anyio.run(main)
"""


@pytest.mark.parametrize("permitted", [{}, {"network": ("example.com",)}], ids=["no network", "named hosts"])
def test_nothing_of_it_is_left_when_the_session_is_killed(
    tmp_path: Path, environ: dict[str, str], mode: Mode, permitted: dict[str, object]
) -> None:
    program = KILLED.format(
        root=str(Path(__file__).parents[2]),
        environ=environ,
        top=str(tmp_path),
        mode=mode,
        permitted=permitted,
        least=3 if permitted else 2,
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as session:
        assert session.stdout is not None
        tree = [psutil.Process(int(number)) for number in session.stdout.readline().split()]
        session.send_signal(signal.SIGKILL)
    assert (len(tree) >= 3, alive(tree)) == (True, [])


MOUNTED = """
import subprocess
import sys
from pathlib import Path

import anyio

sys.path.insert(0, {root!r})
from tests.escapes.test_prewarmed import Confinement, Ground, Prewarmer
from hermes.lib.aio import background

async def taken(ground, spawn, mounted):
    prewarmer = Prewarmer(ground.sandbox, spawn, dict)
    prewarmer.request(Confinement())
    await anyio.wait_all_tasks_blocked()
    if mounted:
        subprocess.run(["mount", "-t", "tmpfs", "none", mounted], check=True)
    ready = await prewarmer.take(Confinement())
    if ready:
        await ready.end()
    return bool(ready)

async def main():
    environ = {environ!r}
    async with background() as spawn:
        ground = Ground(Path({top!r}), Path(environ["HOME"]), environ, spawn, "workspace")
        print(await taken(ground, spawn, ""), await taken(ground, spawn, {top!r} + "/home/.ssh"))

anyio.run(main)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_one_is_not_taken_when_something_was_mounted_on_the_machine(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    program = MOUNTED.format(root=str(Path(__file__).parents[2]), environ=environ, top=str(tmp_path))
    done = subprocess.run(
        ["unshare", "--mount", "--", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True False\n", "")
