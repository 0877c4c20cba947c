"""A folder with notes for agents asks once before the model is told of them; no is what nobody chose against."""

import json
from pathlib import Path

import pytest

from hermes.testing import ScriptedModel, ScriptedServer
from tests.apps.screen import Terminal
from tests.apps.test_tui_program import Place

TITLE = "Are the notes in this folder for the model?"
LEFT_OUT = "The notes of this folder for agents are left out"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    (made.project / "AGENTS.md").write_text("Always answer in verse.\n")
    return made


class Talk:
    """One run of the screen, and what its model was told."""

    def __init__(self, place: Place) -> None:
        self._place, self.model = place, ScriptedModel("Hello.")

    def __call__(self, *keys: str, asks: bool) -> str:
        """What stood on the screen after these keys and a message."""
        with (
            ScriptedServer(self.model).running() as server,
            self._place.window(server.base_url, 100, 30, "", {}) as terminal,
        ):
            if asks:
                terminal.until(TITLE, 40)
                _press(terminal, keys)
            terminal.until("? keys", 40)
            terminal.type("hi\r")
            terminal.until("Hello.")
            return terminal.everything

    @property
    def knows(self) -> bool:
        return "Always answer in verse." in json.dumps(self.model.requests[0])


def _press(terminal: Terminal, keys: tuple[str, ...]) -> None:
    terminal.read(0.5)
    for key in keys:
        terminal.type(key)
        terminal.read(0.3)


def test_enter_alone_leaves_them_out_and_is_not_asked_again(place: Place) -> None:
    first = Talk(place)
    shown = first("\r", asks=True)
    assert (first.knows, LEFT_OUT in shown) == (False, True)
    second = Talk(place)
    shown = second(asks=False)
    assert (second.knows, LEFT_OUT in shown, TITLE in shown) == (False, True, False)


def test_yes_tells_the_model_of_them_from_now_on(place: Place) -> None:
    first = Talk(place)
    first("3", "\r", asks=True)
    assert first.knows
    second = Talk(place)
    assert TITLE not in second(asks=False)
    assert second.knows
    assert json.loads((place.home / ".hermes" / "trust.json").read_text()) == {str(place.project): True}


def test_the_prompt_takes_keys_and_the_screen_leaves_while_the_question_is_open(place: Place) -> None:
    with place.window("http://127.0.0.1:1/v1", 100, 30, "", {}) as terminal:
        text = terminal.until(TITLE, 40)
        assert "  AGENTS.md\nin ~/project · stopped because: " in text
        assert "❯ 4  no, leave them out (n)" in text
        terminal.type("a draft")
        terminal.until("❯ a draft")
        terminal.type("\x03")
        terminal.read(0.3)
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert not (place.home / ".hermes" / "trust.json").exists()


def test_a_folder_without_notes_asks_nothing(tmp_path: Path) -> None:
    talk = Talk(Place(tmp_path))
    assert TITLE not in talk(asks=False)


def test_a_terminal_without_escapes_asks_for_a_word_and_trust_changes_the_answer(place: Place) -> None:
    model = ScriptedModel("Hello.")
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, 80, 30, "", {"TERM": "dumb"}) as terminal,
    ):
        terminal.until("yes, or no (Enter) >", 40)
        terminal.type("\n")
        terminal.until(LEFT_OUT)
        terminal.type("/trust yes\n")
        terminal.until("/new begins one.")
        terminal.type("/new\n")
        terminal.until("session ")
        terminal.type("hi\n")
        terminal.until("Hello.")
    assert "Always answer in verse." in json.dumps(model.requests[0])
