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

from hermes.apps.tui.key_reports import ASK, ASK_XTERM, STOP, STOP_XTERM, cut_at, translated

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"  # synchronized output: the terminal shows nothing in between
_ASK_BACKGROUND = "\x1b]11;?\x1b\\"
_BACKGROUND = re.compile(
    r"\x1b\]11;rgba?:([0-9a-f]+)/([0-9a-f]+)/([0-9a-f]+)[^\x07\x1b]*(?:\x07|\x1b\\)", re.IGNORECASE
)
_CUT_REPLY = re.compile(r"\x1b\](?:1(?:1(?:;[^\x07\x1b]*\x1b?)?)?)?\Z")
_HALF = 0.5
_LIKE_XTERM = ("xterm", "tmux", "screen")


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

    def ask_for_keys(self) -> None:
        """Have the terminal tell apart keys that are the same otherwise, such as Enter and Shift-Enter."""
        self._report_keys(ASK, ASK_XTERM)

    def stop_keys(self) -> None:
        """Have the terminal report keys as it did before."""
        self._report_keys(STOP, STOP_XTERM)

    def _report_keys(self, kitty: str, xterm: str) -> None:
        if self.term == "linux":  # it prints what it does not know
            return
        self.write_raw(kitty + (xterm if (self.term or "").startswith(_LIKE_XTERM) else ""))
        self.flush()


class Keyboard(Vt100Input):
    """Takes the answers to our questions out of the keys, and asks the terminal to tell keys apart while they
    come to us: another program gets them as ever.
    """

    def __init__(self, stdin: TextIO, output: Output, on_background: Callable[[bool], None]) -> None:
        super().__init__(stdin)
        self._output, self._on_background = output, on_background
        self._cut, self._first = "", True

    @contextmanager
    def raw_mode(self) -> Iterator[None]:
        """Keys come as they are pressed."""
        with super().raw_mode():
            self._output.ask_for_keys()
            try:
                yield
            finally:
                self._output.stop_keys()

    @contextmanager
    def cooked_mode(self) -> Iterator[None]:
        """The terminal is another program's."""
        self._output.stop_keys()
        try:
            with super().cooked_mode():
                yield
        finally:
            self._output.ask_for_keys()

    def read_keys(self) -> list[KeyPress]:
        """The keys that were pressed."""
        read = self.stdin_reader.read()
        if self._first and read:  # Ctrl-D that came while the terminal still read lines arrives as NUL
            self._first, read = False, read.replace("\0", "\x04")
        self.vt100_parser.feed(self._translate(self._cut + read))
        keys, self._buffer = self._buffer, []
        return keys

    def _translate(self, data: str) -> str:
        for match in _BACKGROUND.finditer(data):
            self._on_background(is_light(match[1], match[2], match[3]))
        data = _BACKGROUND.sub("", data)
        reply = _CUT_REPLY.search(data)
        end = reply.start() if reply else cut_at(data)
        self._cut = data[end:]
        return translated(data[:end])


def is_light(red: str, green: str, blue: str) -> bool:
    """Whether a colour of hexadecimal parts, of any length, is nearer to white than to black."""
    parts = [int(part, 16) / (16 ** len(part) - 1) for part in (red, green, blue)]
    brightness: float = 0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2]
    return brightness > _HALF
