"""What the screen asks of a terminal's keyboard, and that it takes that back: a real program in a real PTY."""

import os
import re
import signal
from pathlib import Path

import pytest

from hermes.testing import ScriptedModel, ScriptedServer
from tests.apps.screen import Terminal
from tests.apps.test_tui_program import Place

KITTY, XTERM = rb"\x1b\[([<>])[0-9]+u", rb"\x1b\[>4(;1)?m"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def asked(terminal: Terminal) -> tuple[list[bytes], list[bytes]]:
    """What was written about keys so far: `>` or `;1` asks for reports, `<` or nothing ends them."""
    return re.findall(KITTY, terminal.raw), re.findall(XTERM, terminal.raw)


@pytest.mark.parametrize("end", ["\x04", "\x03\x03", signal.SIGTERM, signal.SIGHUP])
def test_a_terminal_that_was_asked_to_tell_keys_apart_stops_when_we_leave(
    place: Place, end: str | signal.Signals
) -> None:
    with place.open() as terminal:
        terminal.until("(main")
        assert asked(terminal) == ([b">"], [b";1"])
        if isinstance(end, str):
            terminal.type(end)
        else:
            os.kill(terminal.pid, end)
        terminal.wait()
        assert asked(terminal) == ([b">", b"<"], [b";1", b""])


def test_an_editor_gets_keys_as_ever_and_the_screen_has_them_told_apart_again(place: Place) -> None:
    (place.home / "edit").write_text("#!/bin/sh\necho editor-runs\nread line\necho $line > $1\n")
    (place.home / "edit").chmod(0o755)
    with place.open(env={"EDITOR": str(place.home / "edit")}) as terminal:
        terminal.until("(main")
        terminal.type("\x07")
        terminal.until("editor-runs")
        assert asked(terminal) == ([b">", b"<"], [b";1", b""])
        terminal.type("changed\n")
        terminal.until("❯ changed")
        assert asked(terminal) == ([b">", b"<", b">"], [b";1", b"", b";1"])


def test_suspended_the_terminal_reports_keys_as_before(place: Place) -> None:
    with place.open(shell=True) as terminal:
        terminal.until("(main")
        terminal.type("\x1a")
        terminal.until("Stopped")
        assert asked(terminal)[0] == [b">", b"<"]
        terminal.type("fg\r")
        terminal.until(lambda: asked(terminal)[0] == [b">", b"<", b">"])


def test_reported_keys_do_what_they_always_did(place: Place) -> None:
    with place.open("the answer") as terminal:
        terminal.type("one\x1b[13;2utwo\x1b[27;2;13~three")
        terminal.until("❯ one\n  two\n  three")
        terminal.type("\x1b[99;5u")
        terminal.until(lambda: "three" not in terminal.text)
        terminal.type("?")
        terminal.until("Alt-Enter")
        terminal.type("\x1b[27u")
        terminal.until(lambda: "Alt-Enter" not in terminal.text)


def test_the_console_of_the_kernel_is_asked_nothing(place: Place) -> None:
    with (
        ScriptedServer(ScriptedModel()).running() as server,
        place.window(server.base_url, 80, 24, "", {"TERM": "linux"}) as terminal,
    ):
        terminal.until("(main", 40)
        assert asked(terminal) == ([], [])
