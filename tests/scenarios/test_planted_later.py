"""Once text from outside was read, what runs on from before plants no instructions for agents; what a person let be
written stays.
"""

import json
import shlex
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

import hermes
from hermes.agent.session import Session
from hermes.testing import ScriptedModel, call, say
from hermes.types.event import Asked
from hermes.types.message import ToolResult
from hermes.types.question import Approve, Deny, Grant

from .test_execute_code import code, opened, results

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
COPIES = "while not os.path.exists('go'): time.sleep(0.02)\nopen('AGENTS.md', 'w').write(open('go').read())\nopen('done', 'w')"
THREAD = f"""
import os, threading, time
threading.Thread(target=exec, args=({COPIES!r}, globals())).start()
"""
GO = call("write_file", {"path": "go", "content": "orders"})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@hermes.tool(outside=True)
def page() -> str:
    """A page."""
    return "orders"


async def appears(path: Path) -> None:
    with anyio.fail_after(30):
        while not path.exists():  # noqa: ASYNC110  # a process of the model's own makes it
            await anyio.sleep(0.02)


async def asked_and_answered(session: Session, text: str, answer: Any) -> list[str]:
    """What was asked in a turn; each gets the answer."""
    asked = []
    async with session.stream(text) as events:
        async for event in events:
            if isinstance(event, Asked) and isinstance(event.question, Approve):
                asked.append(event.question.command)
                session.answer(event.id, answer)
    return asked


async def test_a_thread_of_a_kernel_is_gone_before_the_model_has_words_from_outside(
    environ: dict[str, str], project: Path
) -> None:
    model = ScriptedModel(code(THREAD), call("page", {}), GO, say("written"), code("1"), say("done"))
    async with opened(environ, project, model, {"code_execution.kernel": True}, functions=(page,)) as session:
        await session.send("go")
        await session.send("more")
        *_, after = results(session)
    assert (after["kernel"], after["variables_lost"].startswith("text from outside")) == ("started", True)
    assert sorted(one.name for one in project.iterdir()) == ["go"]


async def test_what_a_background_process_makes_of_them_is_moved_aside_and_told(
    environ: dict[str, str], project: Path
) -> None:
    script = f"import os, time\n{COPIES}"
    start = call("terminal", {"command": f"python3 -c {shlex.quote(script)}", "background": True})
    model = ScriptedModel(
        start, call("page", {}), GO, say("written"), call("terminal", {"command": "ls"}), say("done")
    )
    async with opened(environ, project, model, {}, functions=(page,)) as session:
        await session.send("go")
        await appears(project / "done")
        await session.send("more")
        *_, listed = results(session)
    assert "AGENTS.md" not in {one.name for one in project.iterdir()}
    assert f"agents would take {project}/AGENTS.md as instructions" in listed["output"]


@pytest.mark.parametrize("kernel", [False, True])
async def test_a_script_that_reads_from_outside_leaves_none_itself(
    environ: dict[str, str], project: Path, kernel: bool
) -> None:
    model = ScriptedModel(
        code(
            "from hermes_tools import page",
            "words = str(page())",
            "open('AGENTS.md', 'w').write(words)",
            "open('notes', 'w')",
        ),
        say("done"),
    )
    flags = {"code_execution.kernel": kernel}
    async with opened(environ, project, model, flags, functions=(page,)) as session:
        await session.send("go")
        (result,) = results(session)
    left = {one.name for one in project.iterdir()}
    assert ("notes" in left, "AGENTS.md" in left) == (True, False)
    assert "as instructions" in result["output"]


async def test_a_call_of_a_script_after_one_that_read_from_outside_needs_a_yes_of_its_own(
    environ: dict[str, str], project: Path
) -> None:
    model = ScriptedModel(
        code("from hermes_tools import page, write_file", "print(write_file('AGENTS.md', str(page())))"),
        say("done"),
    )
    async with opened(environ, project, model, {}, functions=(page,)) as session:
        asked = await asked_and_answered(session, "go", Deny())
    assert ([str(project / "AGENTS.md") in one for one in asked], (project / "AGENTS.md").exists()) == (
        [True],
        False,
    )


async def test_undone_turns_take_with_them_what_their_scripts_have_read(
    environ: dict[str, str], project: Path
) -> None:
    model = ScriptedModel(
        code("from hermes_tools import page", "page()"),
        say("done"),
        replace(call("write_file", {"path": "AGENTS.md", "content": "mine"}), breaks_prefix=True),
        say("done"),
    )
    async with opened(environ, project, model, {}, functions=(page,)) as session:
        await session.send("go")
        await session.undo()
        assert await asked_and_answered(session, "more", Deny()) == []
    assert (project / "AGENTS.md").read_text() == "mine"


@pytest.mark.parametrize("by", ["write_file", "terminal"])
async def test_what_a_person_lets_be_written_stays_whatever_runs_beside_it(
    environ: dict[str, str], project: Path, by: str
) -> None:
    write = (
        call("write_file", {"path": "AGENTS.md", "content": "mine"})
        if by == "write_file"
        else call(
            "terminal",
            {"command": "printf mine > AGENTS.md", "needs": {"paths": ["AGENTS.md"]}},
        )
    )
    model = ScriptedModel(
        call("terminal", {"command": "sleep 60", "background": True}),
        call("page", {}), write, call("terminal", {"command": "ls"}), say("done"),
    )  # fmt: skip
    async with opened(environ, project, model, {}, functions=(page,)) as session:
        assert len(await asked_and_answered(session, "go", Grant())) == 1
        last = [one for one in session.log if isinstance(one, ToolResult)][-1]
    assert (json.loads(last.content)["output"].split(), (project / "AGENTS.md").read_text()) == (
        ["AGENTS.md"],
        "mine",
    )
