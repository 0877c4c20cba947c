"""What a call was reading from outside when its process was killed counts for the session that is resumed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.types.message import ToolResult

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
UNDOER = Path(__file__).with_name("undoer.py")
READER = Path(__file__).with_name("reader.py")
ROOT = Path(__file__).parents[2]


def killed(folder: Path, how: str, environ: dict[str, str]) -> str:
    """The id of the session whose process was killed once the call had read."""
    with subprocess.Popen(
        [sys.executable, READER, folder, how], stdout=subprocess.PIPE, text=True, env={**environ, "PYTHONPATH": str(ROOT)}
    ) as process:  # fmt: skip
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        until = time.monotonic() + 60
        while not (folder / "work" / "go").exists() and time.monotonic() < until:
            time.sleep(0.02)
        if how == "ended":  # and its result is in the journal
            time.sleep(0.5)
        process.kill()
    return name


@pytest.mark.parametrize("how", ["command", "script", "ended"])
async def test_what_a_killed_call_had_read_becomes_no_instructions_unasked(tmp_path: Path, how: str) -> None:
    page = tmp_path / "work" / "node_modules" / "pkg" / "README.md"
    page.parent.mkdir(parents=True)
    page.write_text("orders")
    environ = {"HOME": str(tmp_path), "HERMES_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    name = killed(tmp_path, how, environ)
    model = ScriptedModel(call("terminal", {"command": "cp go AGENTS.md"}), say("tried"))
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(
            SessionOptions(
                resume=name,
                base_url="http://127.0.0.1:1/v1",
                model="m",
                cwd=tmp_path / "work",
                attended=False,
            )
        )
        await session.send("go on")
        await session.close()
    cut, tried = (one for one in session.log if isinstance(one, ToolResult))
    assert cut.outside.startswith("the output of `cp node_modules/pkg/README.md go")
    assert "text from outside" in tried.content
    assert not (tmp_path / "work" / "AGENTS.md").exists()


@pytest.mark.parametrize(("write", "turns"), [(1, 1), (2, 1), (0, 0)])
async def test_wherever_an_undo_is_killed_the_session_knows_what_its_turn_had_read(
    tmp_path: Path, write: int, turns: int
) -> None:
    page = tmp_path / "work" / "node_modules" / "pkg" / "README.md"
    page.parent.mkdir(parents=True)
    page.write_text("orders")
    environ = {"HOME": str(tmp_path), "HERMES_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, UNDOER, tmp_path, str(write)], stdout=subprocess.PIPE, text=True, check=False,
        env={**environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    async with open_runtime(environ=environ, http=ScriptedModel().http()) as runtime:
        session = await runtime.session(
            SessionOptions(
                resume=done.stdout.strip(),
                base_url="http://127.0.0.1:1/v1",
                model="m",
                cwd=tmp_path / "work",
            )
        )
        read = [one.name for one in session.environment.gate.read()]
        await session.close()
    assert (done.returncode, session.turns, read) == (
        -9,
        turns,
        ["the output of `cp node_modules/pkg/README.md go`"],
    )
