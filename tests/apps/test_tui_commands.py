"""Slash commands on the screen and in a plain terminal: a real program in a real PTY."""

import re
from pathlib import Path

import pytest

from hermes.testing import ScriptedModel, ScriptedServer
from tests.apps.test_tui_program import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_doctor_tells_here_what_hermes_doctor_tells(place: Place, term: str) -> None:
    (place.home / ".hermes").mkdir()
    (place.home / ".hermes" / "config.yaml").write_text("display: {colour: red}\n")
    with (
        ScriptedServer(ScriptedModel()).running() as server,
        place.window(server.base_url, 80, 50, "", {"TERM": term}) as terminal,
    ):
        terminal.until("/help" if term != "dumb" else "an empty line leaves")
        terminal.type("/doctor\r" if term != "dumb" else "/doctor\n")
        shown = terminal.until("sessions: ")
    assert (
        f"✓ model: custom/fake-1 at {server.base_url}" in shown,
        "✗ config.yaml line 1: nobody knows the key display.colour" in shown,
        bool(re.search(r"^✓ bash: /", shown, re.MULTILINE)),
    ) == (True, True, True)
