"""What tools print on their own leaves the screen whole, and is shown as theirs."""

from pathlib import Path

import pytest

from hermes.testing import call
from tests.apps.test_tui_program import Place

TOOL = """
import ctypes, os, subprocess, sys, warnings
from hermes.tools.registry import registry

print("printed at the import")

def chatty(args, **keywords):
    {body}
    return '{{"output": "the result"}}'

registry.register(
    name="chatty", toolset="chatty", handler=chatty,
    schema={{"name": "chatty", "description": "Talk.", "parameters": {{"type": "object", "properties": {{}}}}}},
)
"""
EACH = {
    "print": "print('a word'); print('no end', end='')",
    "write": "sys.stdout.write('a word\\nno end')",
    "stderr": "sys.stderr.write('a word\\nno end')",
    "descriptor": "os.write(1, b'a word\\nno end')",
    "c": "libc = ctypes.CDLL(None); libc.puts(b'a word'); libc.printf(b'no end'); libc.fflush(None)",
    "program": "subprocess.run(['sh', '-c', 'echo a word; printf no\\ end >&2'])",
    "cursor": "print('\\x1b[2J\\x1b[H\\x1b[31ma word\\x1b[0m'); print('0 %\\r50 %\\rno end', end='')",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def chatty(place: Place, body: str) -> None:
    home = place.home / ".hermes"
    (home / "tools").mkdir(parents=True)
    (home / "tools" / "chatty.py").write_text(TOOL.format(body=body))
    (home / "config.yaml").write_text("toolsets: [hermes-cli, chatty]\n")


@pytest.mark.parametrize("body", EACH.values(), ids=EACH)
def test_what_a_tool_prints_is_a_dim_line_of_it_above_the_frame(place: Place, body: str) -> None:
    chatty(place, body)
    with place.open(call("chatty", {}), "all done") as terminal:
        terminal.type("go\r")
        terminal.until("all done")
        terminal.until("│ no end")
        rows = terminal.everything.split("\n")
    assert [row for row in rows if "a word" in row or "no end" in row] == [
        "      chatty │ a word", "      chatty │ no end",
    ]  # fmt: skip
    assert sum("? keys" in row for row in rows) == 1  # the header is where it was, and once
    assert rows[-1].startswith("fake-1 ")  # and the status line ends the window


def test_what_is_printed_at_the_start_comes_after_the_header(place: Place) -> None:
    chatty(place, "pass")
    with place.open() as terminal:
        terminal.until("│ printed at the import")
        rows = terminal.everything.split("\n")
    assert rows[0].startswith("hermes ")
    assert rows[-1].startswith("fake-1 ")


def test_a_flood_is_counted_and_holds_nothing_up(place: Place) -> None:
    chatty(place, "os.write(1, b'x' * 3_000_000 + b'\\n' + b'row\\n' * 500_000)")
    with place.open(call("chatty", {}), "all done") as terminal:
        terminal.type("go\r")
        terminal.until(lambda: "all done" in terminal.everything)  # more may come after it
        terminal.until(lambda: "more lines" in terminal.everything)
        shown = terminal.everything.count("│ row")
    assert shown < 5_000


def test_what_is_printed_at_the_very_end_is_on_the_terminal_afterwards(place: Place) -> None:
    chatty(place, "import atexit; atexit.register(print, 'a last word')")
    with place.open(call("chatty", {}), "all done") as terminal:
        terminal.type("go\r")
        terminal.until("all done")
        terminal.type("\x04")
        terminal.wait()
        assert "\na last word" in terminal.everything
