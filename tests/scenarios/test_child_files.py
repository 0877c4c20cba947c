"""What children do to files belongs to the turn of the session at the top: it is saved once, told, and taken back."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import hermes
from hermes.agent.session import Session
from hermes.agent.turn_files import SavedTurn, TurnFiles
from hermes.agent.undo import checkpoints_of
from hermes.safety.settings import CheckpointSettings
from hermes.store.checkpoints import CheckpointStore
from hermes.testing import Turn, call, say

from .conftest import Talk
from .family import FamilyModel, reports, task
from .test_file_commands import Person

pytestmark = pytest.mark.anyio

FILES = {"a.txt": "one\n", "b.txt": "one\n"}
OVER = [call("write_file", {"path": "a.txt", "content": "two\n"}), say("a")]
REMOVE = [call("terminal", {"command": "rm b.txt; echo new > n.txt"}), say("b")]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir(exist_ok=True)
    for name, text in FILES.items():
        (made / name).write_text(text)
    return made


@pytest.fixture
def saved(environ: Mapping[str, str]) -> Callable[[], list[tuple[str, bool, bool]]]:
    """What was saved of turns: before whose words, whether their end is known, and whether it differs."""
    kept = checkpoints_of(Path(environ["HERMES_HOME"]), CheckpointSettings(), Path(environ["HOME"]))

    def listed(store: CheckpointStore = kept) -> list[tuple[str, bool, bool]]:
        turns = [one for one in reversed(store.newest()) if one.message]
        return [(one.command, bool(one.after), one.tree != one.after) for one in turns]

    return listed


@pytest.fixture
def deep(environ: Mapping[str, str]) -> None:
    """Children may have children."""
    config = Path(environ["HERMES_HOME"]) / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("delegation: {max_spawn_depth: 3}\n")


def there(work: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in work.iterdir()}


def files_of(session: Session) -> TurnFiles:
    found = session.environment.turn_files
    assert found is not None
    return found


def side_by_side() -> FamilyModel:
    tasks = {"tasks": [{"goal": "write over"}, {"goal": "remove one"}]}
    return FamilyModel(
        {"begin": [call("delegate_task", tasks), say("ok")], "write over": OVER, "remove one": REMOVE}
    )


def grandchildren() -> FamilyModel:
    middle = [call(*task("write over")), call(*task("remove one")), say("m")]
    return FamilyModel(
        {
            "begin": [call(*task("between", role="orchestrator")), say("ok")],
            "between": middle,
            "write over": OVER,
            "remove one": REMOVE,
        }
    )


@pytest.mark.usefixtures("deep")
@pytest.mark.parametrize("family", [side_by_side, grandchildren])
async def test_what_children_change_is_saved_once_and_goes_back_with_the_turn(
    talk: Talk, work: Path, saved: Callable[[], list[Any]], family: Callable[[], FamilyModel]
) -> None:
    async with talk(family(), toolsets=("file", "terminal", "delegation"), attended=False) as session:
        await session.send("begin")
        assert there(work) == {"a.txt": "two\n", "n.txt": "new\n"}
        assert saved() == [("begin", True, True)]
        files = files_of(session)
        assert await files.saved_turns() == [SavedTurn(1, "begin", session.id)]
        assert [line for line in await files.diff(1, most=100) if line[0] in "-+"] == [
            "--- a/a.txt", "+++ b/a.txt", "-one", "+two",
            "--- a/b.txt", "+++ /dev/null", "-one",
            "--- /dev/null", "+++ b/n.txt", "+new",
        ]  # fmt: skip
        (work / "a.txt").write_text("by hand\n")
        done = (await files.roll_back(1, force=False)).plan
        assert (done.write, done.remove, done.changed) == (("b.txt",), ("n.txt",), ("a.txt",))
    assert there(work) == {**FILES, "a.txt": "by hand\n"}


async def test_a_child_before_its_parent_is_in_what_the_parent_takes_back(talk: Talk, work: Path) -> None:
    own = call("write_file", {"path": "own.txt", "content": "own\n"})
    model = FamilyModel({"begin": [call(*task("write over")), own, say("ok")], "write over": OVER})
    async with talk(model, toolsets=("file", "delegation"), attended=False) as session:
        await session.send("begin")
        done = await files_of(session).roll_back(1, force=False)
        assert (done.written, done.removed, done.is_whole) == (("a.txt",), ("own.txt",), True)
    assert there(work) == FILES


async def test_children_that_change_nothing_save_nothing(
    talk: Talk, work: Path, saved: Callable[[], list[Any]]
) -> None:
    looks = [call("terminal", {"command": "cat a.txt"}), say("seen")]
    model = FamilyModel({"begin": [call(*task("look at it")), say("ok")], "look at it": looks})
    async with talk(model, toolsets=("terminal", "delegation"), attended=False) as session:
        await session.send("begin")
    assert (saved(), there(work)) == ([], FILES)


class Held:
    """Calls that wait until they are let go, each of a number, and then leave something in a file, as a command does."""

    def __init__(self, leaves: Path | None = None) -> None:
        self.begun, self.go = [anyio.Event(), anyio.Event()], [anyio.Event(), anyio.Event()]

        @hermes.tool(outside=False)
        async def hold(number: int) -> str:
            """Hold until let go."""
            self.begun[number].set()
            await self.go[number].wait()
            if leaves is not None:
                leaves.write_text(f"{number}\n")
            return "went on"

        self.tool = hold


def hold(number: int = 0) -> Turn:
    return call("hold", {"number": number})


async def test_a_child_that_is_stopped_is_taken_back_too(talk: Talk, work: Path) -> None:
    held = Held()
    model = FamilyModel(
        {
            "begin": [call(*task("write over")), say("ok")],
            "write over": [OVER[0], hold(), say("no")],
        }
    )
    async with talk(
        model, toolsets=("file", "delegation"), functions=(held.tool,), attended=False
    ) as session:
        async with anyio.create_task_group() as group:
            group.start_soon(session.send, "begin")
            await held.begun[0].wait()
            session.children.living[0].cancel()
        assert [one["status"] for one in reports(session)] == ["cancelled"]
        assert (await files_of(session).roll_back(1, force=False)).is_whole
    assert there(work) == FILES


def background(*calls: Turn, more: tuple[Turn, ...] = ()) -> FamilyModel:
    begin = [call(*task("long work", background=True)), say("it runs"), *more]
    return FamilyModel({"begin": begin, "long work": [*calls, say("Done.")]})


async def until_reported(session: Session) -> None:
    """Until no child is at work any more, and what it left is saved."""
    while session.children.living:
        await anyio.lowlevel.checkpoint()


async def test_what_a_child_changes_after_its_turn_belongs_to_the_last_one(
    talk: Talk, work: Path, saved: Callable[[], list[Any]]
) -> None:
    held = Held()
    model = background(hold(), *OVER[:1], more=(say("nothing"),))
    async with talk(model, toolsets=("file", "delegation"), functions=(held.tool,)) as session:
        await session.send("begin")
        await held.begun[0].wait()
        assert saved() == []
        held.go[0].set()
        await until_reported(session)
        assert saved() == [("begin", True, True)]
        (work / "b.txt").write_text("by hand\n")
        done = (await files_of(session).roll_back(1, force=False)).plan
        assert (done.write, done.changed) == (("a.txt",), ())
    assert there(work) == {**FILES, "b.txt": "by hand\n"}


async def test_what_a_child_changes_in_a_later_turn_goes_back_with_that(
    talk: Talk, work: Path, saved: Callable[[], list[Any]]
) -> None:
    held = Held()
    own = call("write_file", {"path": "own.txt", "content": "own\n"})
    model = background(*OVER[:1], hold(), *REMOVE[:1], hold(1), more=(own, say("made"), say("ok")))
    async with talk(model, toolsets=("file", "terminal", "delegation"), functions=(held.tool,)) as session:
        await session.send("begin")
        await held.begun[0].wait()
        await session.send("make your own")
        held.go[0].set()
        await held.begun[1].wait()
        files, person = files_of(session), Person(session)
        assert [one.number for one in await files.saved_turns()] == [1, 2]
        told = await person.types("/rollback 2")
        assert "Children in the background still work (`long work`)" in told
        assert there(work) == {**FILES, "a.txt": "two\n"}
        held.go[1].set()
        await until_reported(session)
        assert (await files.roll_back(1, force=False)).is_whole
    assert there(work) == FILES
    assert all(end for _, end, _ in saved())


async def test_what_a_running_call_of_a_child_changes_belongs_to_the_turn_that_runs_then(
    talk: Talk, work: Path
) -> None:
    held = Held(leaves=work / "late.txt")
    model = background(OVER[0], hold(), more=(say("words"), say("no more")))
    async with talk(model, toolsets=("file", "delegation"), functions=(held.tool,)) as session:
        await session.send("begin")
        await held.begun[0].wait()
        await session.send("second")
        held.go[0].set()
        await until_reported(session)
        files = files_of(session)
        assert [one.number for one in await files.saved_turns()] == [1, 2]
        assert [line for line in await files.diff(2, most=100) if line[0] in "-+"] == [
            "--- /dev/null", "+++ b/late.txt", "+0",
        ]  # fmt: skip
        assert (await files.roll_back(2, force=False)).is_whole
    assert there(work) == {**FILES, "a.txt": "two\n"}


async def test_what_a_person_may_have_changed_beside_a_child_is_marked_and_the_child_named(
    talk: Talk, work: Path
) -> None:
    held = Held()
    begin = [call(*task("long work", background=True)), hold(1), say("it runs")]
    model = FamilyModel({"begin": begin, "long work": [OVER[0], hold(0), say("Done.")]})
    async with talk(model, toolsets=("file", "delegation"), functions=(held.tool,)) as session:
        person = Person(session)
        async with anyio.create_task_group() as group:
            group.start_soon(session.send, "begin")
            await held.begun[0].wait()
            held.go[1].set()
        (work / "b.txt").write_text("by hand\n")
        listed = (await person.types("/rollback")).splitlines()
        planned = (await person.types("/undo")).splitlines()
        told = (await person.types("/rollback 1")).splitlines()
        held.go[0].set()
        await until_reported(session)
    works = (
        "Children in the background still work (`long work`): they may change files again."
        " `/agents stop all` ends them."
    )
    mark = "it changed between turns while a child worked, perhaps by you"
    assert (listed[0], listed[-1]) == ("- before turn 1: begin", works)
    assert planned[2:4] == [
        "- `a.txt` goes back to what it was",
        f"- `b.txt` goes back to what it was ({mark})",
    ]
    assert planned[-1] == works
    assert told[:2] == ["- `a.txt` is as it was", f"- `b.txt` is as it was ({mark})"]
    assert told[-1] == works


async def test_what_a_call_of_a_child_leaves_after_its_turn_or_a_look_at_it_goes_back_with_it(
    talk: Talk, work: Path
) -> None:
    held = Held(leaves=work / "late.txt")
    begin = [call(*task("long work", background=True)), hold(1), say("it runs")]
    model = FamilyModel({"begin": begin, "long work": [OVER[0], hold(0), say("Done.")]})
    async with talk(model, toolsets=("file", "delegation"), functions=(held.tool,)) as session:
        async with anyio.create_task_group() as group:
            group.start_soon(session.send, "begin")
            await held.begun[0].wait()
            held.go[1].set()
        (work / "late.txt").unlink()
        files = files_of(session)
        assert [one.number for one in await files.saved_turns()] == [1]
        held.go[0].set()
        await until_reported(session)
        assert there(work) == {**FILES, "a.txt": "two\n", "late.txt": "0\n"}
        assert (await files.roll_back(1, force=False)).is_whole
    assert there(work) == FILES


async def test_closing_the_session_notes_what_its_children_have_left(
    talk: Talk, work: Path, saved: Callable[[], list[Any]]
) -> None:
    held = Held()
    model = background(*OVER[:1], hold())
    async with talk(model, toolsets=("file", "delegation"), functions=(held.tool,)) as session:
        await session.send("begin")
        await held.begun[0].wait()
    assert all(end for _, end, _ in saved())
    async with talk(FamilyModel({}), toolsets=("file", "delegation"), resume=session.id) as again:
        assert (await files_of(again).roll_back(1, force=False)).is_whole
    assert there(work) == FILES
