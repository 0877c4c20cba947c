"""Keys that skills need are asked for where a person is, and typed unseen: they go to `.env` and nowhere else."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.testing import ScriptedModel, ScriptedServer, say
from tests.apps.screen import Terminal
from tests.apps.test_tui_program import Place

KEY = "s3cr3t-w0rds-of-mine"
FRONT = """---
name: clouds
description: Look at clouds
required_environment_variables:
  - {name: CLOUDS_API_KEY, prompt: Key of the clouds, help: from clouds.example}
  - CLOUDS_URL
---
1. Look up.
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    (tmp_path / "mine" / "clouds").mkdir(parents=True)
    (tmp_path / "mine" / "clouds" / "SKILL.md").write_text(FRONT)
    return made


@pytest.fixture(params=["screen", "lines"])
def terminal(request: pytest.FixtureRequest, place: Place, model: ScriptedModel) -> Iterator[Terminal]:
    plain = {"TERM": "dumb"} if request.param == "lines" else {}
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, 100, 30, "", plain) as terminal,
    ):
        terminal.until("an empty line leaves" if plain else "? keys", 40)
        yield terminal


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel("Blue.")


def press(terminal: Terminal, *keys: str) -> None:
    for key in keys:
        terminal.read(0.5)
        terminal.type(key)


def written(place: Place) -> str:
    """All that was written in the home, but for `.env`."""
    files = [one for one in (place.home / ".hermes").rglob("*") if one.is_file() and one.name != ".env"]
    return "".join(one.read_bytes().decode(errors="replace") for one in files)


def test_a_skill_is_installed_after_a_yes_and_its_key_is_typed_unseen(
    terminal: Terminal, place: Place, model: ScriptedModel
) -> None:
    terminal.type(f"/skills install {place.home}/mine/clouds\r")
    terminal.until("Install this skill?")
    assert "Look at clouds" in terminal.until("the guard says safe")
    press(terminal, "y" if "yes, or no" in terminal.text else "1", "\r")
    terminal.until("The skill clouds needs CLOUDS_API_KEY: Key of the clouds (from clouds.example)")
    press(terminal, KEY, "\r")
    terminal.until("CLOUDS_API_KEY is kept in")
    assert (place.home / ".hermes" / ".env").read_text() == f"CLOUDS_API_KEY='{KEY}'\n"
    press(terminal, "/clouds now\r")
    terminal.until("Blue.")
    assert KEY not in terminal.everything + json.dumps(model.requests) + written(place)
    assert KEY.encode() not in terminal.raw
    sent = json.dumps(model.requests)
    assert (
        "the variable CLOUDS_API_KEY is not set" in sent,
        "the variable CLOUDS_URL is not set" in sent,
    ) == (
        False,
        True,
    )


def test_a_skill_that_is_called_for_asks_once_for_its_key_and_goes_without(place: Place) -> None:
    model = ScriptedModel("Blue.", "Grey.")
    folder = place.home / ".hermes" / "skills" / "clouds"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(FRONT)
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, 100, 30, "", {}) as terminal,
    ):
        terminal.until("? keys", 40)
        press(terminal, "/clouds now\r")
        terminal.until("The skill clouds needs CLOUDS_API_KEY")
        press(terminal, "half")
        terminal.until("****")
        press(terminal, "\x1b")
        terminal.until("Blue.")
        assert "half" not in terminal.everything
        press(terminal, "/clouds again\r")
        terminal.until("Grey.")  # without a question
    assert "the variable CLOUDS_API_KEY is not set" in json.dumps(model.requests)
    assert not (place.home / ".hermes" / ".env").exists()


def test_what_is_typed_unseen_is_no_message_whatever_key_ends_it(place: Place) -> None:
    model = ScriptedModel(say("Blue and grey.", pause=60.0))
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, 100, 30, "", {}) as terminal,
    ):
        terminal.until("? keys", 40)
        press(terminal, "look up\r")
        terminal.until("Enter: into this turn")
        press(terminal, f"/skills install {place.home}/mine/clouds\r")
        terminal.until("Install this skill?")
        press(terminal, "1", "\r")
        terminal.until("The skill clouds needs CLOUDS_API_KEY")
        press(terminal, KEY, "\t")
        terminal.read(0.5)
        assert "*" * len(KEY) in terminal.until("❯ ***")
        press(terminal, "\x03")
        terminal.until(lambda: "***" not in terminal.text)
        press(terminal, "\x03")
        terminal.until(lambda: "The skill clouds needs" not in terminal.text)
        assert KEY not in terminal.everything
    assert KEY not in json.dumps(model.requests) + written(place)


def test_a_draft_is_not_taken_for_a_key(place: Place, model: ScriptedModel) -> None:
    folder = place.home / ".hermes" / "skills" / "clouds"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(FRONT)
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, 100, 30, "", {}) as terminal,
    ):
        terminal.until("? keys", 40)
        terminal.type("/clouds now\rmy next words")
        terminal.until("The skill clouds needs CLOUDS_API_KEY")
        press(terminal, KEY, "\r")
        terminal.until("❯ my next words")
        assert (place.home / ".hermes" / ".env").read_text() == f"CLOUDS_API_KEY='{KEY}'\n"


def test_the_command_line_asks_for_a_key_too(place: Place) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(place.home), "TERM": "xterm", "LANG": "C.UTF-8"}
    argv = [sys.executable, "-m", "hermes", "skills", "install", str(place.home / "mine" / "clouds")]
    with Terminal(argv, cwd=place.project, env=environ, columns=200) as terminal:
        terminal.until("Install it from")
        terminal.type("y\r")
        terminal.until("(not shown; Enter leaves it out):")
        terminal.type(f"{KEY}\r")
        terminal.until("CLOUDS_API_KEY is kept in")
        assert KEY not in terminal.everything
    assert (place.home / ".hermes" / ".env").read_text() == f"CLOUDS_API_KEY='{KEY}'\n"


def test_no_installs_nothing(terminal: Terminal, place: Place, model: ScriptedModel) -> None:
    model.requests.append({})
    terminal.type(f"/skills install {place.home}/mine/clouds\r")
    terminal.until("Install this skill?")
    press(terminal, "\r")
    terminal.until("Nothing was installed.")
    assert not (place.home / ".hermes" / "skills" / "clouds").exists()
