"""In plan mode nothing changes, whatever is called and however it is allowed elsewhere."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import hermes
from hermes.agent.change_mode import ChangeMode
from hermes.agent.gate import ApprovalGate
from hermes.agent.spec import SessionOptions
from hermes.agent.turn_files import TurnFiles
from hermes.composition import SYSTEM_PORTS
from hermes.runtime import open_runtime
from hermes.safety.decide import Policy
from hermes.store.checkpoints import CheckpointLimits, CheckpointStore
from hermes.testing import ScriptedModel, call, calls, say
from hermes.types.action import PLAN_MODE, Action, Command, FileAccess
from hermes.types.error import Refused
from hermes.types.message import ToolResult
from hermes.types.question import Answer, Deny, Question
from tests.scenarios.conftest import Talk

pytestmark = pytest.mark.anyio
TOOLS = ("terminal", "file", "code_execution", "delegation")


@hermes.tool
def post(text: str) -> str:
    """Publish something."""
    return "posted"


@hermes.tool(read_only=True)
def look(name: str) -> str:
    """Look something up."""
    return "seen"


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("terminal", {"command": "touch made"}),
    ("terminal", {"command": 'python3 -c \'open("made", "w")\''}),
    ("terminal", {"command": "cat a.txt > made"}),
    ("terminal", {"command": "make all", "background": True}),
    ("write_file", {"path": "made", "content": "x"}),
    ("patch", {"mode": "replace", "path": "a.txt", "old_string": "one", "new_string": "two"}),
    ("execute_code", {"code": "open('made', 'w')"}),
    ("post", {"text": "x"}),
]
READS: list[tuple[str, dict[str, Any]]] = [
    ("terminal", {"command": "cat a.txt"}),
    ("terminal", {"command": "ls | head -n 3"}),
    ("read_file", {"path": "a.txt"}),
    ("search_files", {"pattern": "one"}),
    ("look", {"name": "x"}),
]


@pytest.mark.parametrize("yolo", [False, True])
async def test_nothing_changes_and_reading_goes_on(talk: Talk, tmp_path: Path, yolo: bool) -> None:
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    (work / "a.txt").write_text("one\n")
    model = ScriptedModel(calls(*CHANGES), calls(*READS), "The plan.")
    async with talk(model, toolsets=TOOLS, functions=(post, look), attended=False, yolo=yolo) as session:
        session.mode = ChangeMode(planning=True)
        end = await session.send("Plan it.")
        results = [one for one in session.log if isinstance(one, ToolResult)]
    refused, read = results[: len(CHANGES)], results[len(CHANGES) :]
    assert [("Plan mode is on" in one.content, one.failed) for one in refused] == [(True, True)] * len(
        CHANGES
    )
    assert [one.failed for one in read] == [False] * len(READS)
    assert [path.name for path in work.iterdir() if not path.name.startswith(".")] == ["a.txt"]
    assert (work / "a.txt").read_text() == "one\n"
    assert end.text == "The plan."
    assert PLAN_MODE in model.requests[0]["messages"][-1]["content"]


async def test_when_it_is_over_things_change_as_before(talk: Talk, tmp_path: Path) -> None:
    write = call("write_file", {"path": "made", "content": "x"})
    model = ScriptedModel(write, "Planned.", write, "Made.")
    async with talk(model, toolsets=TOOLS) as session:
        session.mode = ChangeMode(planning=True)
        await session.send("Plan it.")
        session.mode = ChangeMode()
        await session.send("Do it.")
        last = [one for one in session.log if isinstance(one, ToolResult)][-1]
    assert json.loads(last.content)["bytes_written"] == 1
    assert "Plan mode" not in model.requests[-1]["messages"][-3]["content"]


async def test_a_child_of_a_session_that_plans_changes_nothing_either(talk: Talk, tmp_path: Path) -> None:
    model = ScriptedModel(
        call("delegate_task", {"goal": "write it"}),
        call("write_file", {"path": "made", "content": "x"}, breaks_prefix=True),
        "could not",
        hermes.testing.say("Planned.", breaks_prefix=True),
    )
    async with talk(model, toolsets=TOOLS) as session:
        session.mode = ChangeMode(planning=True)
        await session.send("Plan it.")
    assert not (tmp_path / "work" / "made").exists()
    assert "Plan mode is on" in model.requests[2]["messages"][-1]["content"]


@pytest.mark.parametrize("parent", ["stored", "in use", "gone"])
async def test_a_child_that_is_opened_by_itself_may_change_no_more_than_the_session_above_it(
    environ: dict[str, str], tmp_path: Path, parent: str
) -> None:
    write = call("write_file", {"path": "made", "content": "x"}, breaks_prefix=True)
    delegate = call("delegate_task", {"goal": "write it"})
    child_says, says = say("could not", breaks_prefix=True), say("Planned.", breaks_prefix=True)
    model = ScriptedModel(delegate, child_says, says, write, "could not")
    given = SessionOptions(toolsets=TOOLS, cwd=tmp_path, base_url="http://127.0.0.1:1/v1", model="scripted")
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(given)
        await session.change_mode(ChangeMode(planning=True, asks_edits=True))
        await session.send("Plan it.")
        store = session.services.store
        (child,) = await store.children(session.id)
        if parent != "in use":
            await session.close()
        if parent == "gone":
            await store.delete(session.id)
        again = await runtime.session(replace(given, toolsets=None, resume=child.id))
        await again.send("Write it.")
        told = [one.content for one in again.log if isinstance(one, ToolResult)]
    assert ["Plan mode is on" in one for one in told] == [True]
    assert again.mode == ChangeMode(planning=True, asks_edits=None if parent == "gone" else True)
    assert not (tmp_path / "made").exists()


class LongSaving(TurnFiles):
    """Saves the workspace for so long that a person begins plan mode meanwhile."""

    is_planning = False

    async def save_before(self, action: Action) -> None:
        self.is_planning = True


@pytest.mark.parametrize("action", ["command", "file"])
async def test_nothing_changes_once_it_has_begun_while_the_workspace_was_saved(
    tmp_path: Path, action: str
) -> None:
    actions: dict[str, Action] = {
        "command": Command(command="echo x > made", cwd=str(tmp_path)),
        "file": FileAccess(operation="write", path=str(tmp_path / "made"), diff="+x"),
    }

    async def nobody(_question: Question) -> Answer:
        return Deny()

    store = CheckpointStore(tmp_path / "checkpoints", CheckpointLimits())
    saving = LongSaving(store, SYSTEM_PORTS, tmp_path, tmp_path)
    gate = ApprovalGate(
        policy=Policy(workspace=str(tmp_path), home="/home/user", hermes_home="/h"),
        ask=nobody,
        save=lambda _: None,
        ports=SYSTEM_PORTS,
        turn_files=saving,
        planning=lambda: saving.is_planning,
    )
    with pytest.raises(Refused, match="Plan mode is on"):
        await gate.authorize(actions[action])
