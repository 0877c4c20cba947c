"""Children of a process that was killed: what they did is there to read, nothing goes on, and their parent is told."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes.agent.delegation.recall import ENDED
from hermes.agent.losses import losses
from hermes.agent.recovery import UNKNOWN
from hermes.agent.spec import SessionOptions
from hermes.environments.settings import TerminalSettings
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, say
from hermes.types.message import Assistant, ToolResult, User

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
DELEGATOR = Path(__file__).with_name("delegator.py")
ROOT = Path(__file__).parents[2]


def killed(folder: Path, how: str) -> dict[str, Any]:
    """What the process told before it was killed with all children at work."""
    work = folder / "work"
    work.mkdir()
    with subprocess.Popen(
        [sys.executable, DELEGATOR, folder, how], stdout=subprocess.PIPE, text=True, cwd=work,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        process.kill()
    return dict(told)


@pytest.mark.parametrize("how", ["wait", "background"])
async def test_children_of_a_killed_process_are_readable_and_told_of_at_resume(
    tmp_path: Path, how: str
) -> None:
    told = killed(tmp_path, how)
    environ = {"HOME": str(tmp_path), "HERMES_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    model = ScriptedModel(say("I see"))
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        for child in told["children"]:
            stored = await runtime.store.read(child)
            assert stored.row.parent == told["session"]
            assert [one.text for one in stored.log if isinstance(one, Assistant)] == ["Half dug."]
        options = SessionOptions(
            resume=told["session"], base_url="http://127.0.0.1:1/v1", model="m", cwd=tmp_path / "work"
        )
        session = await runtime.session(options)
        told_at_once = list(losses(session, runtime.settings[TerminalSettings]))
        await session.send("what became of it?")
        await session.close()
        rows = await runtime.store.recent()
    (result,) = (json.loads(one.content) for one in session.log if isinstance(one, ToolResult))
    blocks = [block for one in session.log if isinstance(one, User | ToolResult) for block in one.blocks]
    if how == "wait":
        assert result == {"error": UNKNOWN, "status": "outcome_unknown"}
    when = "when the turn that was cut off goes on" if how == "wait" else "with the next message"
    assert told_at_once == [f"2 children of this session ended unheard; the model is told {when}."]
    assert [block.source for block in blocks] == told["children"]
    assert all(ENDED in block.text and "Half dug." in block.text for block in blocks)
    reports = [json.loads(block.text.partition("\n")[2]) for block in blocks]
    assert [(one["status"], one["model"]) for one in reports] == [("cancelled", "m")] * 2
    assert all("duration_seconds" not in one for one in reports), "nobody saw how long they ran"
    assert (len(model.requests), [row.id for row in rows]) == (1, [told["session"]])


@pytest.mark.parametrize("how", ["family-wait", "family-background"])
async def test_the_report_of_a_killed_child_has_what_it_and_those_below_it_changed_and_read(
    tmp_path: Path, how: str
) -> None:
    told = killed(tmp_path, how)
    work = tmp_path / "work"
    model = ScriptedModel(say("I see"))
    environ = {"HOME": str(tmp_path), "HERMES_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        options = SessionOptions(
            resume=told["session"], base_url="http://127.0.0.1:1/v1", model="m", cwd=work
        )
        session = await runtime.session(options)
        before_a_word = [one.name for one in session.environment.gate.read()]
        await session.send("what became of it?")
        read = [one.name for one in session.environment.gate.read()]
        await session.close()
    messages = (one for one in session.log if isinstance(one, User | ToolResult))
    (block,) = [block for one in messages for block in one.blocks]
    report = json.loads(next(line for line in block.text.splitlines() if line.startswith("{")))
    assert (block.outside, read, before_a_word) == ("the tool page", ["the tool page"], ["the tool page"])
    assert (report["status"], report["summary"], report["changed_files"]) == (
        "cancelled",
        "I have begun.",
        [str(work / "by_child"), str(work / "by_grandchild")],
    )
    assert report["unknown_tools"] == ["page", "hold"], "nobody has them any more"
