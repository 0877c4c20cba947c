"""The line that the screen leaves behind: a real program in a real PTY."""

import re
import sys
from pathlib import Path

import pytest

from hermes import __version__
from hermes.testing import ScriptedModel, ScriptedServer, call, say
from tests.apps.test_tui_program import Place


@pytest.mark.parametrize("usual", [True, False])
def test_the_last_line_names_the_model_where_it_is_not_the_default(tmp_path: Path, usual: bool) -> None:
    place = Place(tmp_path)
    (place.home / ".hermes").mkdir()
    with ScriptedServer(ScriptedModel("the answer")).running() as server:
        name = "fake-1" if usual else "another"
        (place.home / ".hermes" / "config.yaml").write_text(
            f"model: {{default: {name}, base_url: {server.base_url}}}\n"
        )
        with place.window(server.base_url, 80, 24, "", {}) as terminal:
            terminal.until("? keys")
            terminal.type("hello\r")
            terminal.until("the answer")
            terminal.type("\x04")
            terminal.wait()
            last = terminal.text.split("\n")[-1]
    named = re.fullmatch(r"to go on: hermes -r \S+ · (fake-1 · )?[\d.]+s · .* tokens", last)
    assert named, last
    assert named[1] == (None if usual else "fake-1 · ")


def test_what_was_shown_of_an_answer_stays_when_the_screen_is_left(tmp_path: Path) -> None:
    words = "A first paragraph.\n\nThe open one has " + "word " * 200
    with Place(tmp_path).open(say(words, pause=0.05), columns=100) as terminal:
        terminal.type("go\r")
        terminal.until("The open one has word word")
        shown = terminal.text.count("word")
        terminal.type("\x04")
        terminal.wait()
        left = terminal.everything
    assert ("A first paragraph.\n\nThe open one has word word" in left, "✗ stopped" in left) == (True, True)
    assert shown <= left.count("word") < 200


def test_a_session_that_is_open_elsewhere_is_named_and_a_new_one_has_its_model(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.open("first answer") as terminal:
        terminal.type("earlier\r")
        terminal.until("first answer")
        terminal.type("\x04")
        terminal.wait()
        (earlier,) = re.findall(r"^to go on: hermes -r (\S+)", terminal.text, re.MULTILINE)
    with place.open("second answer") as first:
        (place.home / ".hermes" / "config.yaml").write_text(
            "model: {default: usual, base_url: 'http://127.0.0.1:9/v1'}\n"
        )
        first.type("hello\r")
        first.until("second answer")
        with place.window("", 300, 30, "latest", {}) as second:
            shown = second.until("This is a new session.", 40)
    assert re.search(r"^error: Session \S+ is open in cli \(process ", shown, re.MULTILINE)
    assert f"This is a new session. hermes -r {earlier} goes on with the one before" in shown
    assert shown.startswith(f"hermes {__version__} · fake-1 · ")


def test_the_last_line_names_the_program_where_no_shell_finds_hermes(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.command.unlink()
    with place.open("the answer", columns=300) as terminal:
        terminal.type("hello\r")
        terminal.until("the answer")
        terminal.type("\x04")
        terminal.wait()
        last = terminal.text.split("\n")[-1]
    assert last.startswith(f"to go on: {sys.executable} -m hermes -r ")


def test_the_processes_that_ended_with_the_session_are_named(tmp_path: Path) -> None:
    begun = [call("terminal", {"command": f"sleep {n}", "background": True}) for n in (71, 72)]
    with Place(tmp_path).open(*begun, "both run") as terminal:
        terminal.type("go\r")
        terminal.until("both run")
        terminal.until("· 2 in background ·")
        terminal.type("\x04")
        terminal.wait()
        rows = terminal.text.split("\n")
    assert rows[-3:-1] == ["ended with it: sleep 71", "ended with it: sleep 72"]
    assert rows[-1].startswith("to go on: hermes -r ")
