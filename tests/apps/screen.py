"""A terminal for tests: a program in a PTY, its screen and its scrollback kept by pyte, every byte recorded."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import pyte

_BEGIN, _END = b"\x1b[?2026h", b"\x1b[?2026l"  # synchronized output: nothing is shown in between
_KEY_REPORTS = re.compile(rb"\x1b\[[<>][0-9;]*[um]")  # pyte would print them, or take them for colours


class Terminal:
    """Runs `argv` in a window of `columns` by `rows`; use it in a `with` block."""

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], columns: int = 80, rows: int = 24
    ) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=5000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.code: int | None = None
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            _size(0, columns, rows)
            os.execvpe(argv[0], list(argv), dict(env))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._fd)

    @property
    def descriptor(self) -> int:
        """The terminal's own end, whose modes are those of the program's."""
        return self._fd

    @property
    def is_drawing(self) -> bool:
        """Whether the last picture is half written, which a terminal does not show."""
        return self.raw.rfind(_BEGIN) > self.raw.rfind(_END)

    @property
    def text(self) -> str:
        """The window's rows, right ends stripped."""
        return "\n".join(row.rstrip() for row in self.screen.display).rstrip()

    @property
    def everything(self) -> str:
        """Scrollback and window."""
        past = [
            "".join(row[column].data for column in range(self.screen.columns)).rstrip()
            for row in self.screen.history.top
        ]
        return "\n".join([*past, self.text])

    def type(self, keys: str) -> None:
        """Press keys, as bytes of a terminal."""
        os.write(self._fd, keys.encode())

    def read(self, seconds: float = 0.05) -> bytes:
        """Take in what the program writes within `seconds`."""
        end, taken = time.monotonic() + seconds, b""
        while (left := end - time.monotonic()) > 0 and select.select([self._fd], [], [], left)[0]:
            try:
                data = os.read(self._fd, 65536)
            except OSError:
                break
            if not data:
                break
            taken += data
            self.feed(data)
        self.raw += taken
        return taken

    def wait_readable(self, seconds: float) -> None:
        """Wait until the program has written something, at most `seconds`."""
        select.select([self._fd], [], [], seconds)

    def feed(self, data: bytes) -> None:
        """Show what the program wrote."""
        self._stream.feed(_KEY_REPORTS.sub(b"", data))

    def until(self, wanted: str | Callable[[], bool], seconds: float = 45.0) -> str:
        """Wait until a whole picture has a text in it, or a condition holds; gives the window."""
        end = time.monotonic() + seconds
        holds = wanted if callable(wanted) else lambda: wanted in self.text
        while self.is_drawing or not holds():
            assert time.monotonic() < end, f"{wanted!r} did not come:\n{self.everything}"
            self.wait_readable(
                0.2
            )  # to look at the screen costs more than the program; only news is worth it
            self.read(0.02)
        return self.text

    def resize(self, columns: int, rows: int) -> None:
        """Change the window, as a terminal that does not wrap lines anew."""
        self.read(0.01)
        self.screen.resize(rows, columns)
        _size(self._fd, columns, rows)

    def wait(self, seconds: float = 45.0) -> int:
        """The exit code, once the program has ended."""
        end = time.monotonic() + seconds
        while self.code is None:
            assert time.monotonic() < end, f"the program did not end:\n{self.everything}"
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        self.read(0.05)
        return self.code


def _size(descriptor: int, columns: int, rows: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
