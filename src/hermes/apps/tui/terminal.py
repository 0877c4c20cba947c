"""The terminal's two ends: output that paints a whole picture at once, and keys that arrive the same from
every terminal.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.output.vt100 import Vt100_Output

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"  # synchronized output: the terminal shows nothing in between
_ASK_BACKGROUND = "\x1b]11;?\x1b\\"
_BACKGROUND = re.compile(
    r"\x1b\]11;rgba?:([0-9a-f]+)/([0-9a-f]+)/([0-9a-f]+)[^\x07\x1b]*(?:\x07|\x1b\\)", re.IGNORECASE
)
_CUT_REPLY = re.compile(r"\x1b\](?:1(?:1(?:;[^\x07\x1b]*\x1b?)?)?)?\Z")
_SHIFT_ENTER = re.compile(r"\x1b\[13;2u|\x1b\[27;2;13~")
_ALT_ENTER = "\x1b\r"
_HALF = 0.5


class Output(Vt100_Output):
    """Collects what is written until it is let go, and wraps it in synchronized-output marks."""

    held = 0

    def flush(self) -> None:
        """Write what is there, unless it is held back."""
        if self.held or not self._buffer:
            return
        self._buffer = [_BEGIN, *self._buffer, _END]
        super().flush()

    def erase_down(self) -> None:
        """Erase from the cursor, in column 0, to the end; tmux takes the usual way at its top left for a page
        to keep in its history.
        """
        self.write_raw("\x1b[K\x1b[C\x1b[J\x1b[D")

    @contextmanager
    def together(self) -> Iterator[None]:
        """Everything written inside goes out as one picture."""
        self.held += 1
        try:
            yield
        finally:
            self.held -= 1
            self.flush()

    def ask_background(self) -> None:
        """Ask the terminal for its background colour; the answer comes in as keys."""
        self.write_raw(_ASK_BACKGROUND)


class Keyboard(Vt100Input):
    """Takes the answers to our questions out of the keys, and gives Shift-Enter the meaning of Alt-Enter."""

    def __init__(self, stdin: TextIO, on_background: Callable[[bool], None]) -> None:
        super().__init__(stdin)
        self._on_background = on_background
        self._cut = ""

    def read_keys(self) -> list[KeyPress]:
        """The keys that were pressed."""
        self.vt100_parser.feed(self._translate(self._cut + self.stdin_reader.read()))
        keys, self._buffer = self._buffer, []
        return keys

    def _translate(self, data: str) -> str:
        for match in _BACKGROUND.finditer(data):
            self._on_background(is_light(match[1], match[2], match[3]))
        data = _SHIFT_ENTER.sub(_ALT_ENTER, _BACKGROUND.sub("", data))
        cut = _CUT_REPLY.search(data)
        self._cut = data[cut.start() :] if cut else ""
        return data[: cut.start()] if cut else data


def is_light(red: str, green: str, blue: str) -> bool:
    """Whether a colour of hexadecimal parts, of any length, is nearer to white than to black."""
    parts = [int(part, 16) / (16 ** len(part) - 1) for part in (red, green, blue)]
    brightness: float = 0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2]
    return brightness > _HALF
