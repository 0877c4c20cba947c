"""A branch begins with what its session had up to a turn, goes its own way, and leaves the session as it is."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from msgspec.structs import replace

import hermes
from hermes.agent.branching import branch
from hermes.agent.delegation.recall import AT_WORK, ELSEWHERE
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.commands.run import run_command
from hermes.present.session_tree import session_tree
from hermes.runtime import Runtime, open_runtime
from hermes.store.session_file import import_session
from hermes.testing import ScriptedModel, call, say
from hermes.types.error import HermesError
from hermes.types.message import ToolResult, User

from .family import FamilyModel, task

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio

GIVEN: dict[str, Any] = {
    "toolsets": ("todo", "file"),
    "base_url": "http://127.0.0.1:1/v1",
    "model": "scripted",
    "attended": False,
}


class Person:
    """Somebody at an app that can open sessions."""

    def __init__(
        self, runtime: Runtime, session: Session, work: "Path", given: Mapping[str, Any] | None = None
    ) -> None:
        self.runtime, self.session, self.work, self.given = runtime, session, work, given or {}
        self.told: list[str] = []
        self.edited: list[str] = []
        self.tell, self.warn, self.edit = self.told.append, self.told.append, self.edited.append
        self.sessions = runtime.store

    async def open(self, *, resume: str = "") -> None:
        """Another session, instead of the one before, which is closed when that is open, as apps do."""
        old = self.session
        self.session = await opened(self.runtime, self.work, resume=resume, **self.given)
        await old.close()

    async def types(self, line: str) -> str:
        """Run a command, and give what it shows."""
        self.told.clear()
        await run_command(line, self)  # type: ignore[arg-type]  # the part of it that these commands use
        return "\n".join(self.told)


async def opened(runtime: Runtime, work: "Path", **options: Any) -> Session:
    work.mkdir(exist_ok=True)
    return await runtime.session(SessionOptions(cwd=work, **{**GIVEN, **options}))


def texts(session: Session) -> list[str]:
    return [getattr(one, "text", one.kind) for one in session.log]


async def test_a_branch_has_the_turns_before_it_and_the_session_stays(
    environ: dict[str, str], tmp_path: "Path"
) -> None:
    model = ScriptedModel(
        say("1"), say("2"), say("other 2", breaks_prefix=True), say("3", breaks_prefix=True)
    )
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await opened(runtime, tmp_path / "work")
        session.pin("the port is 8042")
        await session.send("one")
        await session.send("two")
        row = await branch(session, turns=1, title="another way")
        other = await opened(runtime, tmp_path / "work", resume=row.id)
        assert (row.origin, other.title, other.system, other.tools.definitions) == (
            session.id,
            "another way",
            session.system,
            session.tools.definitions,
        )
        assert (texts(other), other.pins) == (["one", "1"], ("the port is 8042",))
        await other.send("two, otherwise")
        await session.send("three")
        assert (texts(other)[2:], texts(session)[2:]) == (
            ["two, otherwise", "other 2"],
            ["two", "2", "three", "3"],
        )
        assert list(session_tree(await runtime.store.recent())) == [
            ("", (await runtime.store.resolve(session.id))),
            ("└─ ", (await runtime.store.resolve(other.id))),
        ]
        with pytest.raises(HermesError, match="There are 3 turns here"):
            await branch(session, turns=4)
        await other.close()
        await session.close()


async def test_what_came_from_outside_and_the_plan_are_those_of_the_moment(
    environ: dict[str, str], tmp_path: "Path"
) -> None:
    plan = call("todo", {"todos": [{"id": "1", "content": "look", "status": "pending"}]})
    model = ScriptedModel(say("1"), plan, say("2"))
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await opened(runtime, tmp_path / "work")
        await session.send("one")
        await session.send("two")
        log = [replace(one, outside="the web") if isinstance(one, ToolResult) else one for one in session.log]
        await session.undo(2)
        await runtime.store.append(session.id, *log)
        await session.close()
        session = await opened(runtime, tmp_path / "work", resume=session.id)
        early, late = [await branch(session, turns=turns) for turns in (1, 2)]
        before = await opened(runtime, tmp_path / "work", resume=early.id)
        after = await opened(runtime, tmp_path / "work", resume=late.id)
        read = [[one.name for one in one.environment.gate.read()] for one in (before, after)]
        assert (read, before.todos.read(), [one["content"] for one in after.todos.read()]) == (
            [[], ["the web"]],
            [],
            ["look"],
        )
        for one in (session, before, after):
            await one.close()


async def test_rewind_goes_back_in_a_branch_with_the_words_in_the_input(
    environ: dict[str, str], tmp_path: "Path"
) -> None:
    model = ScriptedModel(say("1"), say("2"))
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await opened(runtime, tmp_path / "work")
        person = Person(runtime, session, tmp_path / "work")
        await session.send("one")
        await session.send("two")
        assert await person.types("/branches") == "This session has no branches; /branch makes one."
        assert await person.types("/rewind 3") == (
            "/rewind takes the number of one of the 2 turns of this session."
        )
        await person.types("/rewind 2")
        assert (texts(person.session), person.edited) == (["one", "1"], ["two"])
        assert f"{session.id}  4 messages" in await person.types("/branches")
        await person.types("/branch side")
        assert (person.session.title, texts(person.session)) == ("side", ["one", "1"])
        shown = (await person.types("/branches")).splitlines()
        assert [line.partition("2")[0] for line in shown[1:-1]] == ["", "└─ ", "   └─ "]
        assert shown[3].endswith("side  ← this one")
        await person.types("/rewind 1")
        assert (texts(person.session), person.edited) == ([], ["two", "one"])
        await person.session.close()


async def test_a_branch_shows_what_its_first_turns_changed_and_says_where_that_is_brought_back(
    environ: dict[str, str], tmp_path: "Path"
) -> None:
    first, third = [call("write_file", {"path": "f.txt", "content": f"{text}\n"}) for text in "13"]
    model = ScriptedModel(first, say("1"), say("2"), replace(third, breaks_prefix=True), say("3"))
    work = tmp_path / "work"
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await opened(runtime, work)
        person = Person(runtime, session, work)
        await session.send("one")
        await session.send("two")
        await person.types("/branch")
        assert (await person.types("/undo")).startswith("The model has forgotten that turn; no file")
        assert await person.types("/undo") == (
            "A turn that this branch began with has changed files; `/rollback 1` says where they are brought"
            " back.\n\n- `/undo conversation`: the model forgets the turn here; files stay"
        )
        await person.session.send("three")
        shown = (await person.types("/rollback")).splitlines()
        assert shown[:2] == [f"- before turn 1 (taken in {session.id}): one", "- before turn 2: three"]
        shown = (await person.types("/diff 1")).splitlines()
        assert (shown[0], shown[-2]) == (f"Since before turn 1 (taken in {session.id}):", "+3")
        for line in ("/rollback 1", "/rollback 1 force", "/undo 2 both", "/undo 2 files"):
            told = await person.types(line)
            assert told.startswith(
                f"Turn 1 was taken in the session {session.id}: `/rollback 1` there (`/resume {session.id}`)"
            )
        assert ((work / "f.txt").read_text(), person.session.turns) == ("3\n", 2)
        assert "- `f.txt` is as it was" in await person.types("/rollback 2")
        await person.types(f"/resume {session.id}")
        assert "- `f.txt` is removed" in await person.types("/rollback 1 force")
        await person.session.close()


async def test_all_of_an_imported_session_is_from_outside_in_its_branches_too(
    environ: dict[str, str], tmp_path: "Path"
) -> None:
    async with open_runtime(environ=environ, http=ScriptedModel(say("1")).http()) as runtime:
        session = await opened(runtime, tmp_path / "work")
        await session.send("one")
        found = await runtime.store.read(session.id)
        row = await import_session(runtime.store, found, free_id="new", cwd=str(tmp_path / "work"), now=1.0)
        imported = await opened(runtime, tmp_path / "work", resume=row.id)
        other = await opened(runtime, tmp_path / "work", resume=(await branch(imported, turns=1)).id)
        child = await opened(runtime, tmp_path / "work", parent=row.id)
        name = f"the imported session {session.id}"
        for one, read in ((session, []), (imported, [name]), (other, [name]), (child, [name])):
            assert [source.name for source in one.environment.gate.read()] == read
            await one.close()


class LongWork:
    """A model that starts a child in the background, whose tool never ends; `begun` once it is in that."""

    def __init__(self) -> None:
        self.begun = anyio.Event()

        @hermes.tool(outside=False)
        async def hold() -> str:
            """Hold for ever."""
            self.begun.set()
            await anyio.sleep_forever()
            return ""

        begin = [
            call(*task("long work", background=True)),
            say("it runs"),
            say("two"),
            say("and", breaks_prefix=True),
        ]
        self.model = FamilyModel({"begin": begin, "long work": [call("hold", {}, text="Half of it.")]})
        self.given = {"toolsets": ("delegation",), "functions": (hold,), "attended": True}

    async def begin(self, session: Session) -> None:
        """Two turns, with the child at work."""
        await session.send("begin")
        with anyio.fail_after(20):
            await self.begun.wait()
        await session.send("second")


async def report_in(session: Session) -> tuple[str, str, str]:
    """What the model is told of the child with the next message: how it stands, its words, and why."""
    await session.send("and?")
    (said,) = [one for one in session.log if isinstance(one, User) and one.text == "and?"]
    (news,) = said.blocks
    report = json.loads(news.text.partition("\n")[2])
    return report["status"], report["summary"], report["exit_reason"]


@pytest.mark.parametrize("command", ["/branch other", "/rewind 2"])
async def test_a_branch_ends_children_in_the_background_says_so_and_its_model_is_told(
    environ: dict[str, str], tmp_path: "Path", command: str
) -> None:
    work = LongWork()
    async with open_runtime(environ=environ, http=work.model.http()) as runtime:
        session = await opened(runtime, tmp_path / "work", **work.given)
        person = Person(runtime, session, tmp_path / "work", work.given)
        await work.begin(session)
        told = await person.types(command)
        assert told.splitlines()[-1] == (
            "Children that worked in the background for the session you left have ended with it"
            " (`long work`); what they had done stands."
        )
        status, words, why = await report_in(person.session)
        assert (status, "Half of it." in words, why) == ("cancelled", True, ELSEWHERE)
        await person.session.close()


async def test_a_branch_of_a_session_that_stays_open_is_told_that_its_children_go_on_there(
    environ: dict[str, str], tmp_path: "Path"
) -> None:
    work = LongWork()
    async with open_runtime(environ=environ, http=work.model.http()) as runtime:
        session = await opened(runtime, tmp_path / "work", **work.given)
        await work.begin(session)
        row = await branch(session, turns=2)
        other = await opened(runtime, tmp_path / "work", resume=row.id, **work.given)
        status, _, why = await report_in(other)
        assert (status, why) == ("running", AT_WORK)
        assert len(session.children.living) == 1
        await other.close()
        await session.close()
