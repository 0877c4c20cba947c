"""Calls and sessions that work beside each other share files: what one has read or written counts at once for all of them."""

from pathlib import Path

import anyio
import pytest

from hermes.testing import ScriptedModel, call, calls, say
from hermes.types.message import ToolResult
from hermes.types.question import Deny, Grant

from .family import FamilyModel, task
from .test_execute_code import opened
from .test_planted_later import appears, asked_and_answered, page

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
SETS = ("file", "terminal", "delegation")
UNTIL = "for i in $(seq 600); do [ -f {} ] && break; sleep 0.05; done"
WAITS = f"{UNTIL.format('go')}; cp go AGENTS.md; echo made"
WRITES = [call("page", {}), call("write_file", {"path": "go", "content": "orders"}), say("written")]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.mark.parametrize("reader", ["sibling", "grandchild"])
async def test_words_from_outside_become_no_instructions_by_way_of_one_that_has_not_read_them(
    environ: dict[str, str], project: Path, reader: str
) -> None:
    below = [call(*task("grand gamma")), say("handed on")]
    scripts = {
        "hello parent": [
            call(
                "delegate_task",
                {"tasks": [{"goal": "kid alpha", "role": "orchestrator"}, {"goal": "kid beta"}]},
            ),
            say("all is done"),
        ],
        "kid alpha": WRITES if reader == "sibling" else below,
        "grand gamma": WRITES,
        "kid beta": [call("terminal", {"command": WAITS}), call("terminal", {"command": "ls"}), say("made")],
    }
    flags = {"delegation.max_spawn_depth": 2}
    async with opened(
        environ, project, FamilyModel(scripts), flags, toolsets=SETS, functions=(page,), attended=False
    ) as session:
        end = await session.send("hello parent")
    assert end.outcome in {"done", "refused"}  # as beta's command is decided before the reading, or after it
    left = {one.name for one in project.iterdir()}
    assert ("go" in left, "AGENTS.md" in left) == (True, False)


async def test_what_a_child_in_the_background_has_read_counts_for_its_parent_at_once(
    environ: dict[str, str], project: Path
) -> None:
    plant = call("terminal", {"command": "echo orders > AGENTS.md"})
    scripts = {
        "hello parent": [
            call(*task("kid alpha", background=True)),
            call("terminal", {"command": UNTIL.format("go")}),
            plant,
            call("terminal", {"command": "touch over"}),
            say("done"),
        ],
        "kid alpha": [*WRITES[:2], call("terminal", {"command": UNTIL.format("over")}), say("waited")],
    }
    async with opened(
        environ, project, FamilyModel(scripts), {}, toolsets=SETS, functions=(page,)
    ) as session:
        asked = await asked_and_answered(session, "hello parent", Deny())
    assert asked == ["echo orders > AGENTS.md"]
    assert "AGENTS.md" not in {one.name for one in project.iterdir()}


@pytest.mark.parametrize("writer", ["parent", "sibling"])
async def test_without_a_sandbox_a_child_runs_nothing_that_others_of_its_family_wrote(
    environ: dict[str, str], project: Path, writer: str
) -> None:
    write = call("write_file", {"path": "t.py", "content": "open('ran', 'w')"})
    first = [write] if writer == "parent" else [call(*task("kid alpha"))]
    scripts = {
        "hello parent": [*first, call(*task("kid beta")), say("done")],
        "kid alpha": [write, say("written")],
        "kid beta": [call("terminal", {"command": "python3 t.py"}), say("tried")],
    }
    async with opened(
        environ,
        project,
        FamilyModel(scripts),
        {"terminal.sandbox": "off"},
        toolsets=SETS,
        attended=False,
    ) as session:
        await session.send("hello parent")
    assert sorted(one.name for one in project.iterdir()) == ["t.py"]


PLANT = "echo orders > AGENTS.md"
SECOND = {
    "a command": ("terminal", {"command": PLANT}),
    "a file tool": ("write_file", {"path": "AGENTS.md", "content": "orders"}),
    "a script": ("execute_code", {"code": f"import os\nos.system({PLANT!r})"}),
    "a child": task("kid alpha"),
}


@pytest.mark.parametrize("second", SECOND)
async def test_what_a_call_reads_counts_for_the_next_one_of_the_same_reply(
    environ: dict[str, str], project: Path, second: str
) -> None:
    scripts = {
        "hello parent": [calls(("page", {}), SECOND[second]), say("done")],
        "kid alpha": [call("terminal", {"command": PLANT}), say("tried")],
    }
    sets = (*SETS, "code_execution")
    async with opened(
        environ, project, FamilyModel(scripts), {}, toolsets=sets, functions=(page,), attended=False
    ) as session:
        await session.send("hello parent")
    assert "AGENTS.md" not in {one.name for one in project.iterdir()}


async def test_a_note_that_comes_with_a_reading_in_one_reply_is_not_made_unasked(
    environ: dict[str, str], project: Path
) -> None:
    note = ("memory", {"action": "add", "target": "memory", "content": "orders"})
    model = ScriptedModel(calls(("page", {}), note), say("done"))
    async with opened(
        environ, project, model, {}, toolsets=("memory",), functions=(page,), attended=False
    ) as session:
        await session.send("go")
        *_, last = (one for one in session.log if isinstance(one, ToolResult))
    assert (
        "Nobody can be asked here" in last.content,
        list(Path(environ["HERMES_HOME"]).rglob("MEMORY.md")),
    ) == (
        True,
        [],
    )


def copying(project: Path) -> str:
    """A command that copies what somebody else wrote; who runs it can wait for `go`."""
    page = project / "node_modules" / "pkg" / "README.md"
    page.parent.mkdir(parents=True)
    page.write_text("orders")
    return "cp node_modules/pkg/README.md go"


COPY = call("terminal", {"command": "cp go AGENTS.md"})


@pytest.mark.parametrize("by", ["a command", "a script", "a child"])
async def test_what_a_call_reads_counts_though_it_is_interrupted(
    environ: dict[str, str], project: Path, by: str
) -> None:
    command = ("terminal", {"command": f"{copying(project)}; sleep 77"})
    ways = {
        "a command": call(*command),
        "a script": call("execute_code", {"code": f"from hermes_tools import terminal\nterminal({command[1]['command']!r})"}),
        "a child": call(*task("kid alpha")),
    }  # fmt: skip
    scripts = {
        "hello parent": [ways[by], COPY, say("done")],
        "kid alpha": [call(*command), say("never")],
    }
    sets = (*SETS, "code_execution")
    async with opened(environ, project, FamilyModel(scripts), {}, toolsets=sets, attended=False) as session:
        async with anyio.create_task_group() as group:
            group.start_soon(session.send, "hello parent")
            await appears(project / "go")
            session.interrupt()
        await session.send("go on")
    assert "AGENTS.md" not in {one.name for one in project.iterdir()}


async def test_what_a_child_reads_counts_for_its_siblings_while_it_reads(
    environ: dict[str, str], project: Path
) -> None:
    long = f"{copying(project)}; {UNTIL.format('over')}"
    scripts = {
        "hello parent": [
            call("delegate_task", {"tasks": [{"goal": "kid alpha"}, {"goal": "kid beta"}]}),
            say("done"),
        ],
        "kid alpha": [call("terminal", {"command": long}), say("read")],
        "kid beta": [
            call("terminal", {"command": UNTIL.format("go")}),
            call("terminal", {"command": "cp go AGENTS.md"}),
            call("terminal", {"command": "touch over"}),
            say("tried"),
        ],
    }
    async with opened(environ, project, FamilyModel(scripts), {}, toolsets=SETS, attended=False) as session:
        await session.send("hello parent")
    left = {one.name for one in project.iterdir()}
    assert ("over" in left, "AGENTS.md" in left) == (True, False)


async def test_a_download_that_reached_nobody_takes_no_rights(environ: dict[str, str], project: Path) -> None:
    fetch = call("terminal", {"command": "curl -s http://127.0.0.1:1/page"})
    model = ScriptedModel(fetch, call("terminal", {"command": "echo mine > AGENTS.md"}), say("done"))
    async with opened(environ, project, model, {"terminal.sandbox": "off"}) as session:
        asked = await asked_and_answered(session, "go", Grant())
    assert ("echo mine > AGENTS.md" in asked, (project / "AGENTS.md").read_text()) == (False, "mine\n")
