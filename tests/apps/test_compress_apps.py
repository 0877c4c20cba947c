"""What a person at a plain terminal sees while older messages are summed up; a real program in a real PTY."""

from pathlib import Path

from hermes.testing import say
from tests.apps.test_tui_program import Place

TURNS = 6
RECORD = "## Active task\n- Build it [1]\n## Goal\n- A house [1-3]\n"


def test_a_summing_up_is_told_in_a_plain_terminal_and_stopped_by_a_key(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.home / ".hermes").mkdir()
    (place.home / ".hermes" / "config.yaml").write_text("model:\n  context_window: 20000\n")
    words = [" ".join(f"w{number}x{word}" for word in range(800)) for number in range(TURNS)]
    turns = [say(f"{one} reply {number}") for number, one in enumerate(words)]
    slow = say(RECORD * 20, pause=1.0, breaks_prefix=True)
    with place.open(*turns, slow, env={"TERM": "dumb"}, ready="an empty line leaves") as terminal:
        for number in range(TURNS):
            terminal.type(f"turn {number}\r")
            terminal.until(f"reply {number}")
        terminal.type("/compress\r")
        terminal.until("(summing up older messages; Ctrl-C stops it)")
        terminal.type("\x03")
        terminal.until("This was stopped; nothing was summed up.")
