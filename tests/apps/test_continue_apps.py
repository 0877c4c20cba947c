"""A session whose last turn was cut off, as a person meets it: one line that says so, /continue, and `hermes -c`."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from hermes.testing import ScriptedModel, ScriptedServer
from tests.apps.screen import Terminal
from tests.apps.test_tui_program import Place
from tests.scenarios.cut_turn import cut_turn

SAYS = "The last turn was cut off before its end; /continue goes on with it"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    anyio.run(cut_turn, tmp_path / ".hermes", place.project, 1)
    return place


@contextmanager
def resumed(place: Place, env: dict[str, str]) -> Iterator[Terminal]:
    with (
        ScriptedServer(ScriptedModel("all done", "again")).running() as server,
        place.window(server.base_url, 100, 24, "latest", env) as terminal,
    ):
        yield terminal


def test_the_screen_says_that_a_turn_was_cut_off_and_continue_goes_on_with_it(place: Place) -> None:
    with resumed(place, {}) as terminal:
        terminal.until(SAYS)
        terminal.type("/continue\r")
        terminal.until("all done")
        terminal.type("/continue\r")
        terminal.until("was not cut off; there is nothing to go on with")
        terminal.type("hi\r")
        terminal.until("again")


def test_where_the_settings_want_it_the_turn_goes_on_by_itself(place: Place) -> None:
    (place.home / ".hermes" / "config.yaml").write_text("agent:\n  auto_continue: true\n")
    with resumed(place, {}) as terminal:
        terminal.until("it goes on now (agent.auto_continue)")
        terminal.until("all done")


def test_a_plain_terminal_goes_on_too(place: Place) -> None:
    with resumed(place, {"TERM": "dumb"}) as terminal:
        terminal.until("The last turn was cut off")
        assert "error:" not in terminal.everything
        terminal.type("/continue\r")
        terminal.until("all done")
        terminal.type("/continue\r")
        terminal.until("there is nothing to go on with")


def test_without_a_question_the_command_line_goes_on_with_the_cut_turn_and_answers(place: Place) -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(place.home),
        "HERMES_HOME": str(place.home / ".hermes"),
    }
    with ScriptedServer(ScriptedModel("all done")).running() as server:
        argv = [sys.executable, "-m", "hermes", "--base-url", server.base_url, "-m", "m", "--continue"]
        runs = [
            subprocess.run(
                argv,
                capture_output=True,
                text=True,
                env=environ,
                cwd=place.project,
                stdin=subprocess.DEVNULL,
                check=False,
            )
            for _ in range(2)
        ]
    assert [(run.returncode, run.stdout) for run in runs] == [(0, "all done\n"), (1, "")]
    assert (
        runs[1].stderr
        == "hermes: The last turn of this session was not cut off; there is nothing to go on with.\n"
    )
