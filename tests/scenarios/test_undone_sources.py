"""What a turn has read from outside counts on without it, as long as something that it wrote may be left."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from msgspec.structs import replace

from hermes.agent.branching import branch
from hermes.agent.session import Session
from hermes.testing import ScriptedModel, call, say

from .family import FamilyModel, task
from .test_beside import SETS, UNTIL
from .test_execute_code import opened
from .test_file_commands import Person
from .test_planted_later import appears, page

if TYPE_CHECKING:
    from hermes.testing import Turn

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
PAGE = "the tool page"
READ = call("page", {})
PLANT = replace(call("terminal", {"command": "cp go AGENTS.md"}), breaks_prefix=True)
WRITES = call("terminal", {"command": "echo orders > go"})
LEFT: dict[str, "Turn"] = {
    "a file": WRITES,
    "a folder that is rebuilt": call("terminal", {"command": "mkdir .cache; echo orders > .cache/go"}),
    "the /tmp of commands": call("terminal", {"command": "echo orders > /tmp/go"}),
    "a process": call("terminal", {"command": "sleep 60", "background": True}),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def read(session: Session) -> list[str]:
    return [one.name for one in session.environment.gate.read()]


@pytest.mark.parametrize("left", LEFT)
async def test_what_an_undone_turn_has_read_counts_while_something_is_left_of_it(
    environ: dict[str, str], project: Path, left: str
) -> None:
    options: dict[str, Any] = {"functions": (page,), "attended": False}
    model = ScriptedModel(READ, LEFT[left], say("read"))
    async with opened(environ, project, model, {}, **options) as session:
        await session.send("one")
        await session.undo()
        here = read(session)
    async with opened(environ, project, ScriptedModel(), {}, resume=session.id, **options) as resumed:
        assert (here, read(resumed), resumed.turns) == ([PAGE], [PAGE], 0)


async def test_a_file_of_an_undone_turn_becomes_no_instructions(
    environ: dict[str, str], project: Path
) -> None:
    model = ScriptedModel(READ, WRITES, say("read"), PLANT, say("tried"))
    async with opened(environ, project, model, {}, functions=(page,), attended=False) as session:
        await session.send("one")
        await session.undo()
        await session.send("two")
    assert [one.name for one in project.iterdir()] == ["go"]


@pytest.mark.parametrize("how", ["both", "conversation"])
async def test_a_turn_whose_files_went_back_takes_with_it_what_it_had_read(
    environ: dict[str, str], project: Path, how: str
) -> None:
    model = ScriptedModel(say("nothing"), READ, WRITES, say("read"))
    async with opened(environ, project, model, {}, functions=(page,)) as session:
        await session.send("one")
        await session.send("two")
        await Person(session).types(f"/undo {how}")
        assert (session.turns, read(session)) == (1, [] if how == "both" else [PAGE])


async def test_of_two_turns_only_what_the_undone_one_had_read_is_taken_away(
    environ: dict[str, str], project: Path
) -> None:
    command = ("terminal", {"command": "cat Maildir/one", "needs": {"paths": []}})
    (project / "Maildir").mkdir()
    (project / "Maildir" / "one").write_text("a mail")
    model = ScriptedModel(call(*command), say("1"), READ, say("2"))
    async with opened(environ, project, model, {}, functions=(page,)) as session:
        await session.send("one")
        await session.send("two")
        both = read(session)
        await session.undo()
        assert (both, read(session)) == (["the output of `cat Maildir/one`", PAGE], both[:1])


async def test_the_report_of_a_child_that_is_undone_leaves_what_the_child_has_read(
    environ: dict[str, str], project: Path
) -> None:
    scripts = {
        "hello parent": [
            call(*task("kid alpha", background=True)),
            say("started"),
            say("told", breaks_prefix=True),
        ],
        "kid alpha": [READ, WRITES, say("written")],
    }
    options: dict[str, Any] = {"toolsets": SETS, "functions": (page,)}
    async with opened(environ, project, FamilyModel(scripts), {}, **options) as session:
        await session.send("hello parent")
        with anyio.fail_after(30):
            while not session.mailbox.waiting("child"):  # noqa: ASYNC110  # nothing tells of it
                await anyio.sleep(0.02)
        await session.send("and?")
        (block,) = session.log[-2].blocks  # type: ignore[union-attr]  # what the user said
        await session.undo()
        here = read(session)
    async with opened(environ, project, ScriptedModel(), {}, resume=session.id, **options) as resumed:
        assert (block.kind, here, read(resumed)) == ("child", [PAGE], [PAGE])


async def test_a_branch_has_what_a_child_in_the_background_has_read_and_not_reported(
    environ: dict[str, str], project: Path
) -> None:
    scripts = {
        "hello parent": [call(*task("kid alpha", background=True)), say("started")],
        "kid alpha": [READ, WRITES, call("terminal", {"command": UNTIL.format("over")}), say("waited")],
    }
    options: dict[str, Any] = {"toolsets": SETS, "functions": (page,)}
    async with opened(environ, project, FamilyModel(scripts), {}, **options) as session:
        await session.send("hello parent")
        await appears(project / "go")
        row = await branch(session, turns=1)
        (project / "over").touch()
    model = ScriptedModel(PLANT, say("tried"))
    async with opened(environ, project, model, {}, resume=row.id, attended=False, **options) as branched:
        assert read(branched) == [PAGE]
        await branched.send("go on")
    assert sorted(one.name for one in project.iterdir()) == ["go", "over"]


async def test_a_branch_from_before_a_turn_knows_what_that_has_read_while_its_files_are_there(
    environ: dict[str, str], project: Path
) -> None:
    model = ScriptedModel(say("nothing"), READ, WRITES, say("read"))
    async with opened(environ, project, model, {}, functions=(page,)) as session:
        await session.send("one")
        await session.send("two")
        with_file = await branch(session, turns=1)
        (project / "go").unlink()
        without = await branch(session, turns=1)
    assert (with_file.outside, without.outside) == (PAGE, "")
