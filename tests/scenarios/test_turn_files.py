"""Before a turn first changes files the workspace is saved, whatever changes them; and it can be brought back per turn."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from hermes.agent.session import Session
from hermes.agent.turn_files import NOT_SAVED, TOO_LARGE, SavedTurn, TurnFiles
from hermes.agent.undo import checkpoints_of
from hermes.safety.settings import CheckpointSettings
from hermes.store.checkpoints import CheckpointStore
from hermes.testing import ScriptedModel, call, say
from hermes.types.error import HermesError
from hermes.types.event import Notice

from .conftest import Talk, events_of

pytestmark = pytest.mark.anyio

TOOLS = ("terminal", "file")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir(exist_ok=True)
    (made / "a.txt").write_text("one\n")
    return made


@pytest.fixture
def kept(environ: Mapping[str, str]) -> CheckpointStore:
    return checkpoints_of(Path(environ["HERMES_HOME"]), CheckpointSettings(), Path(environ["HOME"]))


def files_of(session: Session) -> TurnFiles:
    found = session.environment.turn_files
    assert found is not None
    return found


async def test_a_turns_changes_are_shown_without_secrets(talk: Talk, work: Path) -> None:
    (work / "make").write_text("echo A=one > .env\n")
    token = "ghp_" + "1a2B" * 9
    model = ScriptedModel(call("terminal", {"command": f"sh make; echo {token} > b.txt"}), say("made"))
    async with talk(model, toolsets=TOOLS, attended=False) as session:
        await session.send("make")
        shown = await files_of(session).diff(1, most=100)
    assert [line for line in shown if line[0] == "+"] == [
        "+++ b/.env",
        "+A=[redacted]",
        "+++ b/b.txt",
        "+[redacted]",
    ]


async def test_each_turn_that_may_change_files_is_saved_once_and_no_other(
    talk: Talk, work: Path, kept: CheckpointStore
) -> None:
    model = ScriptedModel(
        call("terminal", {"command": "cat a.txt && ls -la"}),
        say("read"),
        call("write_file", {"path": "a.txt", "content": "two\n"}),
        call("terminal", {"command": "echo three > b.txt"}),
        say("wrote"),
        call("terminal", {"command": "rm a.txt"}),
        say("removed"),
    )
    async with talk(model, toolsets=TOOLS, attended=False) as session:
        for words in ("read", "write", "remove"):
            await session.send(words)
        files = files_of(session)
        assert await files.saved_turns() == [
            SavedTurn(2, "write", session.id),
            SavedTurn(3, "remove", session.id),
        ]
        assert [(one.command, bool(one.after)) for one in reversed(kept.newest()) if one.tree] == [
            ("write", True),
            ("remove", True),
        ]
        changes = ["--- a/a.txt", "+++ /dev/null", "@@ -1 +0,0 @@", "-one"]
        changes += ["--- /dev/null", "+++ b/b.txt", "@@ -0,0 +1 @@", "+three"]
        assert await files.diff(2, most=100) == changes
        assert await files.diff(3, first=1, most=1) == ["+++ /dev/null"]
        done = await files.roll_back(2, force=False)
        assert (done.plan.write, done.plan.remove) == (("a.txt",), ("b.txt",))
        assert {path.name: path.read_text() for path in work.iterdir()} == {"a.txt": "one\n"}
        assert session.turns == 3


async def test_a_turn_that_changed_nothing_goes_back_with_the_next_one(talk: Talk, work: Path) -> None:
    model = ScriptedModel(say("no"), call("write_file", {"path": "a.txt", "content": "two\n"}), say("ok"))
    async with talk(model, toolsets=TOOLS, attended=False) as session:
        await session.send("nothing")
        await session.send("write")
        await files_of(session).roll_back(1, force=False)
        with pytest.raises(HermesError, match="There is no turn 3; this session has 2"):
            await files_of(session).plan(3)
    assert (work / "a.txt").read_text() == "one\n"


async def test_what_is_done_between_turns_is_refused_by_name(talk: Talk, work: Path) -> None:
    model = ScriptedModel(call("write_file", {"path": "a.txt", "content": "two\n"}), say("ok"))
    async with talk(model, toolsets=TOOLS, attended=False) as session:
        await session.send("write")
        (work / "a.txt").write_text("by hand\n")
        done = await files_of(session).roll_back(1, force=False)
        assert (done.plan.changed, (work / "a.txt").read_text()) == (("a.txt",), "by hand\n")
        await files_of(session).roll_back(1, force=True)
        assert (work / "a.txt").read_text() == "one\n"


async def test_a_resumed_session_goes_back_to_before_its_earlier_turns(
    talk: Talk, work: Path, tmp_path: Path
) -> None:
    model = ScriptedModel(call("write_file", {"path": "a.txt", "content": "two\n"}), say("ok"))
    async with talk(model, toolsets=TOOLS, attended=False) as session:
        await session.send("write")
    async with talk(ScriptedModel(), toolsets=TOOLS, attended=False, resume=session.id) as again:
        assert (await files_of(again).plan(1)).write == ("a.txt",)
        await files_of(again).roll_back(1, force=False)
    assert (work / "a.txt").read_text() == "one\n"


async def test_what_is_too_large_is_said_once_and_stops_nothing(
    talk: Talk, work: Path, environ: dict[str, str]
) -> None:
    config = Path(environ["HERMES_HOME"]) / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("checkpoints: {max_megabytes: 1}\n")
    (work / "large").write_bytes(b"x" * 1_100_000)
    model = ScriptedModel(
        call("write_file", {"path": "a.txt", "content": "two\n"}),
        say("ok"),
        call("write_file", {"path": "a.txt", "content": "three\n"}),
        say("ok"),
    )
    async with talk(model, toolsets=TOOLS, attended=False) as session:
        told = [*(await events_of(session, "one")), *(await events_of(session, "two"))]
    assert [one.text for one in told if isinstance(one, Notice)] == [NOT_SAVED.format(TOO_LARGE)]
    assert (work / "a.txt").read_text() == "three\n"


async def test_a_turn_whose_checkpoint_made_room_is_not_answered_for_by_a_later_one(
    talk: Talk, work: Path, environ: dict[str, str]
) -> None:
    config = Path(environ["HERMES_HOME"]) / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("checkpoints: {max_turns: 1}\n")
    model = ScriptedModel(
        call("write_file", {"path": "a.txt", "content": "two\n"}),
        say("ok"),
        call("write_file", {"path": "a.txt", "content": "three\n"}),
        say("ok"),
        say("nothing"),
    )
    async with talk(model, toolsets=TOOLS, attended=False) as session:
        for words in ("one", "two", "three"):
            await session.send(words)
        files = files_of(session)
        assert await files.saved_turns() == [SavedTurn(2, "two", session.id)]
        for work_of in (files.plan(1), files.diff(1, most=9), files.roll_back(1, force=True)):
            with pytest.raises(HermesError, match="What was there before turn 1 is no longer saved"):
                await work_of
        with pytest.raises(HermesError, match="No file is known to have changed since before turn 3"):
            await files.plan(3)
        await files.roll_back(2, force=False)
    assert (work / "a.txt").read_text() == "two\n"


async def test_it_can_be_switched_off(talk: Talk, kept: CheckpointStore, environ: dict[str, str]) -> None:
    config = Path(environ["HERMES_HOME"]) / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("checkpoints: {turns: false}\n")
    model = ScriptedModel(call("write_file", {"path": "a.txt", "content": "two\n"}), say("ok"))
    async with talk(model, toolsets=TOOLS, attended=False) as session:
        await session.send("write")
        assert (session.environment.turn_files, kept.newest()) == (None, [])
