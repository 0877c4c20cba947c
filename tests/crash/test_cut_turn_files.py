"""A turn that was killed and went on is taken back to where it first began, and what changed in between stays."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.agent.spec import SessionOptions
from hermes.agent.turn_files import SavedTurn
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say

WRITER = Path(__file__).with_name("cut_writer.py")
pytestmark = pytest.mark.anyio


def killed(folder: Path, *child: str) -> str:
    """The id of the session whose process was killed in mid-turn."""
    done = subprocess.run(
        [sys.executable, WRITER, folder, *child], stdout=subprocess.PIPE, check=False,
        env={**os.environ, "PYTHONPATH": str(WRITER.parents[2])},
    )  # fmt: skip
    return done.stdout.decode()


def there(work: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in work.iterdir()}


async def test_a_turn_that_was_killed_and_went_on_goes_back_to_before_its_first_change(
    tmp_path: Path,
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    (work / "by_hand.txt").write_text("one\n")
    session_id = killed(tmp_path)
    (work / "by_hand.txt").write_text("by hand\n")
    environ = {"HOME": str(tmp_path), "HERMES_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    model = ScriptedModel(
        call("write_file", {"path": "a.txt", "content": "gone on\n"}),
        call("write_file", {"path": "late.txt", "content": "gone on\n"}),
        say("done"),
    )
    options = SessionOptions(
        base_url="http://127.0.0.1:1/v1",
        model="m",
        resume=session_id,
        toolsets=("file",),
        cwd=work,
        attended=False,
    )
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(options)
        assert (await session.continue_turn()).text == "done"
        files = session.environment.turn_files
        assert files is not None
        assert await files.saved_turns() == [SavedTurn(1, "write", session.id)]
        assert [line for line in await files.diff(1, most=100) if line[0] in "-+"] == [
            "--- a/a.txt", "+++ b/a.txt", "-one", "+gone on",
            "--- a/by_hand.txt", "+++ b/by_hand.txt", "-one", "+by hand",
            "--- /dev/null", "+++ b/late.txt", "+gone on",
            "--- /dev/null", "+++ b/made.txt", "+begun",
        ]  # fmt: skip
        left = (await files.roll_back(1, force=False)).plan
        assert (left.remove, left.changed, left.unknown) == (
            ("late.txt",),
            ("a.txt", "by_hand.txt", "made.txt"),
            ("a.txt", "by_hand.txt", "made.txt"),
        )
        assert there(work) == {"a.txt": "gone on\n", "by_hand.txt": "by hand\n", "made.txt": "begun\n"}
        await files.roll_back(1, force=True)
        assert there(work) == {"a.txt": "one\n", "by_hand.txt": "one\n"}
        await session.close()


async def test_what_a_child_of_a_killed_process_changed_is_told_and_goes_back_with_the_turn(
    tmp_path: Path,
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    environ = {"HOME": str(tmp_path), "HERMES_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    options = SessionOptions(
        base_url="http://127.0.0.1:1/v1",
        model="m",
        resume=killed(tmp_path, "child"),
        cwd=work,
        attended=False,
    )
    async with open_runtime(environ=environ, http=ScriptedModel().http()) as runtime:
        session = await runtime.session(options)
        files = session.environment.turn_files
        assert files is not None
        assert await files.saved_turns() == [SavedTurn(1, "write", session.id)]
        left = (await files.roll_back(1, force=False)).plan
        assert (left.changed, left.unknown) == (("a.txt", "made.txt"), ("a.txt", "made.txt"))
        await files.roll_back(1, force=True)
        assert there(work) == {"a.txt": "one\n"}
        await session.close()
