"""What a person sees and can do while older messages are summed up; a real program in a real PTY."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes.testing import say
from tests.apps.screen import Terminal
from tests.apps.test_tui_program import Place

TURNS = 6
RECORD = "## Active task\n- Build it [1]\n## Goal\n- A house [1-3]\n"


@contextmanager
def long_session(tmp_path: Path, *, term: str, ready: str) -> Iterator[Terminal]:
    """A session with enough to sum up, whose next request, the record, takes its time."""
    place = Place(tmp_path)
    (place.home / ".hermes").mkdir()
    (place.home / ".hermes" / "config.yaml").write_text("model:\n  context_window: 20000\n")
    words = [" ".join(f"w{number}x{word}" for word in range(800)) for number in range(TURNS)]
    turns = [say(f"{one} reply {number}") for number, one in enumerate(words)]
    slow = say(RECORD * 20, pause=1.0, breaks_prefix=True)
    after = say("Heard you.", breaks_prefix=True)
    with place.open(*turns, slow, after, env={"TERM": term}, ready=ready) as terminal:
        for number in range(TURNS):
            terminal.type(f"turn {number}\r")
            terminal.until(f"reply {number}")
        yield terminal


def test_a_summing_up_is_told_in_a_plain_terminal_and_stopped_by_a_key(tmp_path: Path) -> None:
    with long_session(tmp_path, term="dumb", ready="an empty line leaves") as terminal:
        terminal.type("/compress\r")
        terminal.until("(summing up older messages; Ctrl-C stops it)")
        terminal.type("\x03")
        terminal.until("This was stopped; nothing was summed up.")


def test_what_is_typed_while_older_messages_are_summed_up_is_sent_after_it(tmp_path: Path) -> None:
    with long_session(tmp_path, term="xterm-256color", ready="? keys") as terminal:
        terminal.type("/compress\r")
        terminal.until("summing up older messages")
        terminal.type("And now this\r")
        terminal.until("next: And now this")
        terminal.until("Enter: sent after this")
        terminal.type("\x1b")
        terminal.until("This was stopped; nothing was summed up.")
        terminal.until("Heard you.")
