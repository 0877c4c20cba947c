"""Questions in a terminal that understands only lines: a number means what it means in the box on the screen."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hermes.testing import Turn, call, say
from tests.apps.screen import Terminal
from tests.apps.test_tui_program import Place

REMOVE = call("terminal", {"command": "rm -rf keep && echo removed"})
WRITE = call("write_file", {"path": "made.txt", "content": "x\n"})


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    (place.project / "keep").mkdir()
    (place.project / "keep" / "file").write_text("x")
    (place.home / ".hermes").mkdir()
    (place.home / ".hermes" / "config.yaml").write_text(
        "approvals: {edits: ask}\ncheckpoints: {max_megabytes: 0}\n"
    )
    return place


@contextmanager
def plainly(place: Place, heard: list[str], *replies: object) -> Iterator[Terminal]:
    """A plain terminal; `heard` gets the last result that the model was sent."""

    def reply(request: dict[str, Any]) -> Turn:
        heard.append(str(request["messages"][-1]["content"]))
        return say("finished")

    with place.open(*replies, reply, env={"TERM": "dumb"}, ready="an empty line leaves") as terminal:
        terminal.type("go\n")
        yield terminal


def test_one_is_a_yes_for_once(place: Place) -> None:
    with plainly(place, [], REMOVE) as terminal:
        shown = terminal.until("Type a number, yes, no, or what to do instead >")
        assert [row.split(":")[0] for row in shown.split("\n") if row[:3].strip().isdecimal()] == [
            "  1  once", "  2  this session", "  3  always", "  4  no (n)",
            "  5  no, and say what to do instead",
        ]  # fmt: skip
        terminal.type("1\n")
        terminal.until("finished")
        assert "✓ allowed once by you: rm -rf keep" in terminal.text
    assert not (place.project / "keep").exists()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("5", "keep it"), "keep it"),
        (("5", "yes"), "yes"),
        (("7", "keep it"), "keep it"),
        (("4",), ""),
        (("7", "4"), ""),
        (("5", "4"), ""),
        (("n",), ""),
        (("keep it",), "keep it"),
    ],
)
def test_a_number_is_no_words_and_words_are_a_no(place: Place, typed: tuple[str, ...], told: str) -> None:
    heard: list[str] = []
    asked = {"5": "Say what to do instead >", "7": "No choice is 7. Type one, or words >"}
    with plainly(place, heard, REMOVE) as terminal:
        terminal.until("what to do instead >")
        for words in typed:
            terminal.type(f"{words}\n")
            terminal.until(asked.get(words, "finished"))
        rows = terminal.text.split("\n")
    denied = next(number for number, row in enumerate(rows) if row.startswith("✗ denied by you: rm -rf keep"))
    assert (rows[denied + 1].startswith("  "), told in rows[denied + 1]) == (bool(told), True)
    assert (place.project / "keep").is_dir()
    assert (told in heard[0], json.loads(heard[0])["exit_code"]) == (True, -1)


def test_a_question_about_an_edit_names_the_folder(place: Place) -> None:
    with plainly(place, [], WRITE) as terminal:
        terminal.until("Make this change?")
        shown = "".join(terminal.until("what to do instead >").split())
        assert f"in{place.project}·stoppedbecause:" in shown
        terminal.type("1\n")
        terminal.until("finished")
    assert (place.project / "made.txt").read_text() == "x\n"
