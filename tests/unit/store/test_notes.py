"""MEMORY.md and USER.md: changes are made whole or not at all, beside hand edits and other processes."""

import multiprocessing
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hermes.store.notes import Edit, Note, NoteOrigin, Notes
from hermes.types.error import StoreError

HERE = NoteOrigin(at=10.0, session="s1", outside=("requests to example.org",))


def notes(tmp_path: Path) -> Notes:
    return Notes(folder=tmp_path / "memories", limits={"memory": 40, "user": 20})


def test_facts_are_added_changed_and_removed_with_where_they_come_from(tmp_path: Path) -> None:
    held = notes(tmp_path)
    held.edit(
        "memory", [Edit(action="add", content="Uses tabs."), Edit(action="add", content="Likes tea.")], HERE
    )
    later = NoteOrigin(at=20.0, session="s2")
    held.edit("memory", [Edit(action="replace", old_text="tea", content="Likes coffee.")], later)
    assert held.read("memory") == (
        Note(text="Uses tabs.", origin=HERE),
        Note(text="Likes coffee.", origin=later),
    )
    assert held.edit("memory", [Edit(action="remove", old_text="tabs")], later) == (
        Note(text="Likes coffee.", origin=later),
    )
    assert (held.folder / "MEMORY.md").read_text() == "Likes coffee.\n"
    assert held.read("user") == ()


def test_what_people_write_by_hand_stays_and_is_known_as_theirs(tmp_path: Path) -> None:
    held = notes(tmp_path)
    held.edit("user", [Edit(action="add", content="A.")], HERE)
    (held.folder / "USER.md").write_text("A.\n§\nB, by hand.\n§\n\n")
    held.edit("user", [Edit(action="add", content="C.")], HERE)
    assert held.read("user") == (
        Note(text="A.", origin=HERE),
        Note(text="B, by hand."),
        Note(text="C.", origin=HERE),
    )


def test_bytes_that_are_no_text_are_told_read_as_such_and_never_written_over(tmp_path: Path) -> None:
    held = notes(tmp_path)
    held.edit("memory", [Edit(action="add", content="A.")], HERE)
    path = held.folder / "USER.md"
    path.write_bytes("Likes tea.\n§\nJ".encode() + b"\xf6rg\n")
    told = (
        f"{path} has bytes that are no UTF-8 (the first in line 3): they are read as \ufffd, and no note is"
        " written there until the file is saved as UTF-8."
    )
    assert list(held.faults()) == [told]
    assert [one.text for one in held.read("user")] == ["Likes tea.", "J\ufffdrg"]
    with pytest.raises(StoreError) as caught:
        held.edit("user", [Edit(action="remove", old_text="tea")], HERE)
    assert (str(caught.value), path.read_bytes()[-6:]) == (told, b"\nJ\xf6rg\n")
    held.edit("memory", [Edit(action="add", content="B.")], HERE)
    path.write_text("Jörg\n")
    assert list(held.faults()) == []


@pytest.mark.parametrize(
    ("edits", "sentence"),
    [
        ([Edit(action="add", content=" ")], "add needs content"),
        ([Edit(action="add", content="a\n§\nb")], "add needs content"),
        ([Edit(action="remove", old_text="nothing")], "No note has the text 'nothing'"),
        ([Edit(action="remove", old_text="")], "No note has the text ''"),
        ([Edit(action="remove", old_text="e")], "2 notes have the text 'e'"),
        ([Edit(action="add", content="x" * 200)], "MEMORY.md would take 56 of 40 tokens"),
    ],
)
def test_what_cannot_be_done_changes_nothing_and_says_why(
    tmp_path: Path, edits: list[Edit], sentence: str
) -> None:
    held = notes(tmp_path)
    held.edit("memory", [Edit(action="add", content="one"), Edit(action="add", content="three")], HERE)
    with pytest.raises(StoreError, match=sentence):
        held.edit("memory", [Edit(action="add", content="good"), *edits], HERE)
    assert [one.text for one in held.read("memory")] == ["one", "three"]


def test_room_is_made_in_the_same_call(tmp_path: Path) -> None:
    held = notes(tmp_path)
    held.edit("memory", [Edit(action="add", content="a" * 100)], HERE)
    swapped = [Edit(action="remove", old_text="aaa"), Edit(action="add", content="b" * 120)]
    assert [one.text for one in held.edit("memory", swapped, HERE)] == ["b" * 120]


def test_an_unreadable_file_is_told_and_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    held = notes(tmp_path)
    held.folder.mkdir()
    (held.folder / "MEMORY.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StoreError, match="no UTF-8"):
        held.edit("memory", [Edit(action="add", content="x")], HERE)
    assert (held.folder / "MEMORY.md").read_bytes() == b"\xff\xfe\x00"


def write(folder: Path, name: str) -> None:
    held = Notes(folder=folder, limits={"memory": 100_000, "user": 1})
    for number in range(25):
        held.edit("memory", [Edit(action="add", content=f"fact {name}-{number}")], HERE)


def test_writers_in_other_processes_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write, args=(tmp_path, str(name))) for name in range(4)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    held = Notes(folder=tmp_path, limits={"memory": 100_000, "user": 1})
    expected = {f"fact {name}-{number}" for name in range(4) for number in range(25)}
    assert {one.text for one in held.read("memory")} == expected


WORDS = st.text("ab c\n§d", min_size=1, max_size=8)


class Model(RuleBasedStateMachine):
    """The files behave as a list of texts."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.notes = Notes(folder=Path(self.folder.name), limits={"memory": 30, "user": 30})
        self.texts: list[str] = []

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule(content=WORDS)
    def add(self, content: str) -> None:
        try:
            self.notes.edit("memory", [Edit(action="add", content=content)], HERE)
        except StoreError:
            return
        if content.strip() not in self.texts:
            self.texts.append(content.strip())

    @rule(wanted=WORDS)
    def remove(self, wanted: str) -> None:
        places = [one for one in self.texts if wanted.strip() and wanted.strip() in one]
        try:
            self.notes.edit("memory", [Edit(action="remove", old_text=wanted)], HERE)
        except StoreError:
            assert len(places) != 1
            return
        self.texts.remove(*places)

    @invariant()
    def same(self) -> None:
        assert [one.text for one in self.notes.read("memory")] == self.texts


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=40, stateful_step_count=15, deadline=None)


@given(WORDS)
def test_a_note_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    held = Notes(folder=tmp_path_factory.mktemp("notes"))
    try:
        held.edit("user", [Edit(action="add", content=text)], HERE)
    except StoreError:
        return
    assert [one.text for one in held.read("user")] == [text.strip()]
