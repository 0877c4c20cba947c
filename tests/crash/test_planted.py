"""What a command planted whose Hermes was killed is not taken for the user's own: the next session looks first."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from tests.crash.planter import opened

PLANTER = Path(__file__).with_name("planter.py")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a workspace in it."""
    (tmp_path / "work").mkdir()
    return tmp_path


def killed(folder: Path) -> None:
    """Plant, and be killed while the command runs."""
    child = subprocess.Popen([sys.executable, "-m", "tests.crash.planter", folder])
    try:
        end = time.monotonic() + 60
        while not (folder / "work" / "ready").exists() and time.monotonic() < end:
            time.sleep(0.01)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()


async def said(folder: Path) -> str:
    """What the first command of the next session prints."""
    space = opened(folder)
    planted = "pager" in (folder / "work" / ".git" / "config").read_text()
    done = await space.run("true", timeout=60)
    await space.close()
    return f"planted: {planted}\n{done.text}"


def test_what_a_command_planted_is_moved_aside_when_the_next_session_opens(folder: Path) -> None:
    killed(folder)
    config = folder / "work" / ".git" / "config"
    told = (
        f"planted: False\n[sandbox: {config} could make git run something (pager = x); it was moved to"
        f" {config}.taken, and what is harmless in it kept; should the user have made it meanwhile, they can"
        " move it back]\n"
    )
    assert (anyio.run(said, folder), list((folder / "hermes" / "watch").iterdir())) == (told, [])


def test_what_the_user_made_between_two_sessions_stays(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", folder / "work"], check=True)
    anyio.run(said, folder)
    subprocess.run(["git", "-C", folder / "work", "config", "core.pager", "x"], check=True)
    assert anyio.run(said, folder) == "planted: True\n"


def test_nothing_is_readable_of_what_is_kept(folder: Path) -> None:
    async def listed() -> str:
        space = opened(folder)
        done = await space.run(f"ls -A {folder}/hermes/watch {folder}/hermes; true", timeout=60)
        await space.close()
        return done.text

    assert ".json" not in anyio.run(listed)
