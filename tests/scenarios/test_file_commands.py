"""What a person is told by /diff, /rollback and /undo, and what these do and leave."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from hermes.agent.session import Session
from hermes.agent.undo import checkpoints_of
from hermes.commands.run import run_command
from hermes.safety.settings import CheckpointSettings
from hermes.testing import ScriptedModel, Turn, call, calls, say

from .conftest import Talk

if TYPE_CHECKING:
    from hermes.commands.context import CommandContext

pytestmark = pytest.mark.anyio


class Person:
    """Somebody at an app, who keeps what it shows."""

    def __init__(self, session: Session | None) -> None:
        self.session = session
        self.told: list[str] = []
        self.warned: list[str] = []
        self.edited: list[str] = []
        self.tell, self.warn, self.edit = self.told.append, self.warned.append, self.edited.append

    async def types(self, line: str) -> str:
        """Run a command, and give what it shows."""
        self.told.clear()
        self.warned.clear()
        talk: CommandContext = self  # type: ignore[assignment]  # the part of it that these commands use
        await run_command(line, talk)
        return "\n".join([*self.told, *(f"error: {one}" for one in self.warned)])


@pytest.fixture
def work(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir(exist_ok=True)
    (made / "a.txt").write_text("one\n")
    return made


def writes(text: str, name: str = "a.txt") -> list[Turn]:
    return [call("write_file", {"path": name, "content": text}), say("ok")]


OPTIONS: dict[str, Any] = {"toolsets": ("file",), "attended": False}


async def test_undo_says_what_it_would_do_and_does_what_is_chosen(talk: Talk, work: Path) -> None:
    model = ScriptedModel(*writes("two\n"), *writes("three\n", "b.txt"))
    async with talk(model, **OPTIONS) as session:
        person = Person(session)
        await session.send("first")
        await session.send("second")
        shown = await person.types("/undo")
        assert "- `b.txt` is removed, for it was not there" in shown
        assert [line for line in shown.splitlines() if line.startswith("- `/undo")] == [
            "- `/undo both`: files, and the model forgets the turn",
            "- `/undo files`: files; the conversation stays",
            "- `/undo conversation`: the model forgets the turn; files stay",
        ]
        assert (session.turns, (work / "b.txt").exists(), person.edited) == (2, True, [])
        shown = await person.types("/undo 2 both")
        assert "- `a.txt` is as it was\n- `b.txt` is removed" in shown
        assert (session.turns, person.edited) == (0, ["first"])
        assert {path.name: path.read_text() for path in work.iterdir()} == {"a.txt": "one\n"}


async def test_undo_of_one_part_leaves_the_other(talk: Talk, work: Path) -> None:
    async with talk(ScriptedModel(*writes("two\n"), *writes("three\n")), **OPTIONS) as session:
        person = Person(session)
        await session.send("first")
        await session.send("second")
        await person.types("/undo files")
        assert ((work / "a.txt").read_text(), session.turns, person.edited) == ("two\n", 2, [])
        await person.types("/undo conversation")
        assert ((work / "a.txt").read_text(), session.turns, person.edited) == ("two\n", 1, ["second"])


async def test_undo_of_both_says_what_was_left_and_what_takes_it_back_once_the_turn_is_forgotten(
    talk: Talk, work: Path
) -> None:
    asked, said = writes("three\n", "b.txt")
    model = ScriptedModel(
        writes("two\n")[0], *writes("new\n", "c.txt"), replace(asked, breaks_prefix=True), said
    )
    async with talk(model, **OPTIONS) as session:
        person = Person(session)
        await session.send("first")
        (work / "a.txt").write_text("by hand\n")
        shown = (await person.types("/undo both")).splitlines()
        taken = re.search("hermes checkpoints restore [0-9a-f]+ --force", shown[1])
        assert taken is not None
        assert shown[:2] == [
            "- `c.txt` is removed",
            f"- `a.txt` was left: it was changed since, by you (a `!command` counts) or another program (`{taken[0]}` takes it back, too)",
        ]
        assert shown[-1] == "The model has forgotten that turn; what was left of its files is named above."
        await session.send("second")
        shown = (await person.types("/undo both")).splitlines()
        assert shown[-1] == "The model has forgotten that turn, and its files are as they were before."
        assert (session.turns, (work / "b.txt").exists()) == (0, False)


async def test_undo_of_several_turns_names_the_command_that_takes_them_all_back(
    talk: Talk, work: Path
) -> None:
    async with talk(ScriptedModel(*writes("two\n"), *writes("three\n", "b.txt")), **OPTIONS) as session:
        person = Person(session)
        await session.send("first")
        await session.send("second")
        shown = (await person.types("/undo 2")).splitlines()
        assert shown[-5:] == [
            "- `/undo 2 both`: files, and the model forgets the 2 turns",
            "- `/undo 2 files`: files; the conversation stays",
            "- `/undo 2 conversation`: the model forgets the 2 turns; files stay",
            "",
            "Without the 2 only the last turn is taken back.",
        ]
        (work / "a.txt").write_text("by hand\n")
        (work / "b.txt").write_text("by hand\n")
        shown = (await person.types("/undo 2 both")).splitlines()
        assert shown[-1] == (
            "Nothing of those 2 turns was taken back, for none of their files went back. `/undo 2 both force`"
            " takes back all that is named above; `/undo 2 conversation` has the model forget those 2 turns,"
            " and files stay."
        )
        shown = (await person.types("/undo 2 both force")).splitlines()
        assert shown[-1] == "The model has forgotten those 2 turns, and their files are as they were before."
        assert (session.turns, (work / "a.txt").read_text(), (work / "b.txt").exists()) == (0, "one\n", False)


async def test_a_turn_of_which_no_file_goes_back_stays_until_that_is_forced(talk: Talk, work: Path) -> None:
    async with talk(ScriptedModel(*writes("two\n")), **OPTIONS) as session:
        person = Person(session)
        await session.send("first")
        (work / "a.txt").write_text("by hand\n")
        assert (await person.types("/undo both")).splitlines() == [
            "- `a.txt` was left: it was changed since, by you (a `!command` counts) or another program (`/undo both force` takes it back, too)",
            "",
            "Nothing was changed.",
            (
                "Nothing of that turn was taken back, for none of its files went back. `/undo both force` takes back all that is named"
                " above; `/undo conversation` has the model forget that turn, and files stay."
            ),
        ]
        assert (session.turns, (work / "a.txt").read_text()) == (1, "by hand\n")
        shown = (await person.types("/undo both force")).splitlines()
        assert shown[-1] == "The model has forgotten that turn, and its files are as they were before."
        assert (session.turns, (work / "a.txt").read_text()) == (0, "one\n")


async def test_what_the_turn_never_changed_is_neither_named_nor_taken_back(talk: Talk, work: Path) -> None:
    model = ScriptedModel(*writes("two\n"), call("terminal", {"command": "sh -c :"}), say("looked"))
    (work / "README.md").write_text("one\n")
    async with talk(model, toolsets=("file", "terminal"), attended=False) as session:
        person = Person(session)
        await session.send("write")
        await session.send("look")
        (work / "README.md").write_text("by hand\n")
        looked = await person.types("/undo both force")
        shown = await person.types("/undo")
        forced = await person.types("/undo both force")
    assert looked == "The model has forgotten that turn; no file is known to have changed then."
    assert [line for line in shown.splitlines() if line.startswith("- ") and "/undo" not in line] == [
        "- `a.txt` goes back to what it was"
    ]
    assert "README.md" not in forced
    assert ((work / "a.txt").read_text(), (work / "README.md").read_text()) == ("one\n", "by hand\n")


async def test_files_outside_the_workspace_are_named_as_staying(talk: Talk, work: Path) -> None:
    outside = work.parent / "elsewhere.txt"
    both = calls(
        ("write_file", {"path": "a.txt", "content": "two\n"}),
        ("write_file", {"path": str(outside), "content": "x\n"}),
    )
    model = ScriptedModel(both, say("ok"), *writes("y\n", str(outside)))
    async with talk(model, toolsets=("file",), yolo=True) as session:
        person = Person(session)
        await session.send("first")
        shown = await person.types("/undo")
        assert f"- `{outside}` stays: it is outside the workspace, which alone is saved" in shown.splitlines()
        await session.send("second")
        assert await person.types("/undo files") == (
            f"Nothing goes back: what was changed in that turn is outside the workspace (`{outside}`),"
            " where nothing is saved."
        )
        assert await person.types("/undo") == (
            "The model has forgotten that turn. Outside the workspace, where nothing is saved, it changed"
            f" `{outside}`; that stays."
        )
        shown = await person.types("/undo both")
    assert [row for row in shown.splitlines() if "`hermes checkpoints" not in row] == [
        "- `a.txt` is as it was",
        f"- `{outside}` was left: it is outside the workspace, which alone is saved",
        "",
        "The model has forgotten that turn; what was left of its files is named above.",
    ]
    assert (work / "a.txt").read_text() == "one\n"


async def test_a_turn_without_changes_is_taken_back_at_once(talk: Talk) -> None:
    async with talk(ScriptedModel(say("hello")), **OPTIONS) as session:
        person = Person(session)
        await session.send("hi")
        assert (
            await person.types("/undo 2") == "error: This session has 1 turns; there are not 2 to take back."
        )
        await person.types("/undo")
        assert (session.turns, person.edited) == (0, ["hi"])
        assert await person.types("/undo") == "error: There is no turn to take back."
        assert (await person.types("/undo 1 x")).startswith("error: '1 x' is not what /undo takes")


async def test_rollback_brings_files_back_names_what_it_leaves_and_is_taken_back(
    talk: Talk, work: Path
) -> None:
    async with talk(ScriptedModel(*writes("two\n"), *writes("b\n", "b.txt")), **OPTIONS) as session:
        person = Person(session)
        assert await person.types("/rollback") == "No turn of this session has changed files."
        await session.send("first words")
        await session.send("second words")
        shown = await person.types("/rollback")
        assert shown.startswith("- before turn 1: first words\n- before turn 2: second words\n\n")
        (work / "b.txt").write_text("by hand\n")
        shown = await person.types("/rollback 1")
        assert (
            "- `a.txt` is as it was\n- `b.txt` was left: it was changed since, by you (a `!command` counts) or another program"
            in shown
        )
        assert ((work / "a.txt").read_text(), (work / "b.txt").read_text()) == ("one\n", "by hand\n")
        shown = await person.types("/rollback 1 force")
        assert "- `b.txt` is removed" in shown
        assert (session.turns, (work / "b.txt").exists()) == (2, False)
        assert await person.types("/rollback x") == (
            "error: /rollback takes the number of a turn: /rollback 3, or /rollback 3 force."
        )


async def test_of_a_turn_of_words_nothing_is_said_to_stand(talk: Talk) -> None:
    async with talk(ScriptedModel(say("hello")), toolsets=("file", "terminal"), attended=False) as session:
        await session.send("hi")
        diff = await Person(session).types("/diff 1")
        told = await Person(session).types("/undo")
    assert diff == "No file is known to have changed since before turn 1."
    assert told == "The model has forgotten that turn; no file is known to have changed then."


async def test_a_turn_whose_commands_changed_nothing_is_not_listed(talk: Talk, work: Path) -> None:
    model = ScriptedModel(
        call("terminal", {"command": "touch a.txt; sh -c :"}),
        say("looked"),
        *writes("two\n"),
        call("terminal", {"command": "sh -c :"}),
        say("looked"),
    )
    async with talk(model, toolsets=("file", "terminal"), attended=False) as session:
        person = Person(session)
        await session.send("look")
        assert await person.types("/rollback") == "No turn of this session has changed files."
        assert await person.types("/undo files") == "No file is known to have changed in that turn."
        await session.send("write")
        await session.send("look again")
        shown = (await person.types("/rollback")).splitlines()
        assert shown[:-1] == ["- before turn 2: write", ""]
        assert (await person.types("/diff")).startswith("Since before turn 2:\n")
        await person.types("/rollback 1")
        assert (work / "a.txt").read_text() == "one\n"


async def test_what_was_saved_before_files_went_back_is_named_after_what_was_typed(
    talk: Talk, environ: dict[str, str]
) -> None:
    async with talk(ScriptedModel(*writes("two\n"), *writes("three\n")), **OPTIONS) as session:
        person = Person(session)
        await session.send("first")
        await session.send("second")
        for line in ("/rollback 2 force", "/undo 2 files", "/undo 2 both force"):
            await person.types(line)
    kept = checkpoints_of(Path(environ["HERMES_HOME"]), CheckpointSettings(), Path(environ["HOME"]))
    assert [one.command for one in kept.newest() if one.restores] == [
        "/undo 2 both force",
        "/undo 2 files",
        "/rollback 2 force",
    ]


async def test_a_diff_is_shown_in_pages_that_no_file_can_leave(talk: Talk, work: Path) -> None:
    text = "````\n" + "".join(f"{number}\n" for number in range(300))
    async with talk(ScriptedModel(*writes(text)), **OPTIONS) as session:
        person = Person(session)
        assert await person.types("/diff") == "No turn of this session has changed files."
        await session.send("first")
        first = (await person.types("/diff")).splitlines()
        assert first[:6] == [
            "Since before turn 1:",
            "",
            "`````diff",
            "--- a/a.txt",
            "+++ b/a.txt",
            "@@ -1 +1,301 @@",
        ]
        assert (len(first), first[-1]) == (206, "`/diff 1 2` shows more.")
        second = (await person.types("/diff 1 2")).splitlines()
        assert second[-2:] == ["+299", "```"]
        assert (await person.types("/diff 2")) == "error: There is no turn 2; this session has 1."
        (work / "a.txt").write_text("one\n")
        assert await person.types("/diff 1") == "Nothing differs from before turn 1."


async def test_a_rollback_names_what_still_runs_and_may_write_again(talk: Talk) -> None:
    model = ScriptedModel(
        call("terminal", {"command": "touch b.txt; sleep 600", "background": True}), say("it runs")
    )
    async with talk(model, toolsets=("terminal",), attended=False) as session:
        person = Person(session)
        await session.send("start it")
        words = (
            "In the background still runs `touch b.txt; sleep 600`: it may change files again."
            " `/stop` ends it."
        )
        assert words in await person.types("/rollback 1")
        await person.types("/stop")
        assert words not in await person.types("/rollback 1")
