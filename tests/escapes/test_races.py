"""Files, folders and sockets that come and go while a sandbox is set up: no command is unconfined, none fails for it."""

import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.environments.sandbox.mounts import Mode
from hermes.environments.sandbox.sandbox import Sandbox, SandboxOptions
from hermes.types.action import Action, Permit
from hermes.types.error import ExecError
from tests.escapes.ground import bubblewrap

pytestmark = pytest.mark.anyio

CHURN = """
import os, socket, sys, time
kind, folder, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
number = 0
print(flush=True)
while True:
    number += 1
    if kind == "socket":
        path = f"{folder}/{os.getpid()}-{number}"
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path)
            made.listen()
            time.sleep(seconds)
        os.unlink(path)
    elif kind == "folder":
        os.makedirs(folder, exist_ok=True)
        time.sleep(seconds)
        os.rmdir(folder)
    else:
        with open(folder, "w") as made:
            made.write("secret")
        time.sleep(seconds)
        os.unlink(folder)
    time.sleep(seconds / 4)
"""
CHECK = "readlink /proc/self/ns/pid; echo done"


@contextmanager
def churning(*kinds: tuple[str, Path, float]) -> Iterator[None]:
    running = [
        subprocess.Popen([sys.executable, "-c", CHURN, kind, str(path), str(seconds)], stdout=subprocess.PIPE)
        for kind, path, seconds in kinds
    ]
    try:
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()
        yield
    finally:
        for process in running:
            process.kill()
            process.communicate()


@pytest.fixture
def place(tmp_path: Path, environ: dict[str, str]) -> Callable[[Mode], Sandbox | None]:
    home = Path(environ["HOME"])
    (tmp_path / "work" / ".git").mkdir(parents=True)
    (tmp_path / "work" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "work" / ".git" / "config").write_text("")
    (tmp_path / "sockets").mkdir()
    (home / ".config").mkdir()

    def sandbox(mode: Mode) -> Sandbox | None:
        return open_sandbox(
            workspace=tmp_path / "work",
            home=home,
            hermes_home=home / ".hermes",
            scratch=tmp_path / "scratch",
            environ=environ,
            sandboxing=SandboxOptions(mode=mode),
        )

    return sandbox


def turmoil(tmp_path: Path, environ: dict[str, str]) -> list[tuple[str, Path, float]]:
    return [
        *[("socket", tmp_path / "sockets", 0.01)] * 3,
        ("folder", Path(environ["HOME"], ".config", "gh"), 0.01),
        ("file", Path(environ["HOME"], ".netrc"), 0.02),
        ("folder", tmp_path / "work" / ".git" / "modules" / "a", 0.01),
        ("file", tmp_path / "work" / ".git" / "config.worktree", 0.01),
    ]


@asynccontextmanager
async def workspace(
    tmp_path: Path, environ: dict[str, str], sandbox: Sandbox | None
) -> AsyncIterator[LocalWorkspace]:
    assert sandbox is not None

    async def confined(action: Action) -> Permit:
        return Permit.of(action, confined=True)

    space = LocalWorkspace(
        tmp_path / "work", authorize=confined, environ=environ, scratch=tmp_path / "scratch", sandbox=sandbox
    )
    yield space
    await space.close()


@pytest.mark.parametrize("mode", ["workspace", "full"])
async def test_every_command_runs_and_runs_confined(
    tmp_path: Path,
    environ: dict[str, str],
    place: Callable[[Mode], Sandbox | None],
    mode: Mode,
    request: pytest.FixtureRequest,
) -> None:
    runs = 500 if request.config.getoption("--long") else 25
    with churning(*turmoil(tmp_path, environ)):
        async with workspace(tmp_path, environ, place(mode)) as space:
            done = [await space.run(CHECK, timeout=20) for _ in range(runs)]
            background = [await space.start(CHECK) for _ in range(3)]
    unconfined = [one.text for one in done if str(Path("/proc/self/ns/pid").readlink()) in one.text]
    failed = [(one.code, one.text) for one in done if one.code != 0 or not one.text.startswith("pid:[")]
    assert (unconfined, failed, len(background)) == ([], [], 3)


async def test_a_probe_that_meets_a_race_finds_the_same_sandbox(
    tmp_path: Path, environ: dict[str, str], place: Callable[[Mode], Sandbox | None]
) -> None:
    calm = place("full")
    assert calm is not None
    with churning(*turmoil(tmp_path, environ)):
        found = [place("full") for _ in range(12)]
    assert [one and (one.rules, one.program) for one in found] == [(calm.rules, calm.program)] * 12


def moody(tmp_path: Path, fails: str) -> str:
    """The folder of a bubblewrap that does not work when `fails` says so; $N counts its calls."""
    (tmp_path / "moody").mkdir()
    trap = tmp_path / "moody" / "bwrap"
    trap.write_text(
        f"#!/bin/sh\nN=$(wc -l < {tmp_path}/calls); echo >> {tmp_path}/calls\n"
        f"if {fails}; then echo 'bwrap: Resource temporarily unavailable' >&2; exit 1; fi\n"
        f'exec {bubblewrap()} "$@"\n'
    )
    trap.chmod(0o755)
    (tmp_path / "calls").touch()
    return str(trap.parent)


@pytest.mark.parametrize("fails", ["[ $N -lt 2 ]", "[ $((N % 2)) = 0 ]", "[ $N = 1 ] || [ $N = 3 ]"])
async def test_a_sandbox_that_fails_now_and_then_is_tried_again(
    tmp_path: Path, environ: dict[str, str], place: Callable[[Mode], Sandbox | None], fails: str
) -> None:
    environ["PATH"] = f"{moody(tmp_path, fails)}:{environ['PATH']}"
    shown: list[str] = []
    async with workspace(tmp_path, environ, place("workspace")) as space:
        done = [await space.run("echo out; exit 1", timeout=20, on_output=shown.append) for _ in range(4)]
        await space.start("echo later")
    assert ([(one.code, one.text) for one in done], "".join(shown)) == ([(1, "out\n")] * 4, "out\n" * 4)


@pytest.mark.parametrize("start", ["run", "spawn"])
async def test_a_sandbox_that_works_no_more_refuses_and_says_so(
    tmp_path: Path, environ: dict[str, str], place: Callable[[Mode], Sandbox | None], start: str
) -> None:
    environ["PATH"] = f"{moody(tmp_path, '[ $N -ge 1 ]')}:{environ['PATH']}"
    async with workspace(tmp_path, environ, place("workspace")) as space:
        with pytest.raises(ExecError) as refused:
            await (space.run("touch ran", timeout=20) if start == "run" else space.start("touch ran"))
    assert (str(refused.value), (tmp_path / "work" / "ran").exists()) == (
        "The sandbox could not be set up in 8 tries, so the command was not run: bwrap: Resource temporarily unavailable. See hermes sandbox status.",
        False,
    )


async def test_a_command_that_begins_and_dies_is_not_run_twice(
    tmp_path: Path, environ: dict[str, str], place: Callable[[Mode], Sandbox | None]
) -> None:
    async with workspace(tmp_path, environ, place("workspace")) as space:
        done = await space.run("echo x >> ran; kill -9 $$", timeout=20)
        failed = await space.run("echo x >> ran; echo bwrap: no >&2; exit 1", timeout=20)
    assert (done.code, failed.code, (tmp_path / "work" / "ran").read_text()) == (
        128 + signal.SIGKILL,
        1,
        "x\nx\n",
    )
