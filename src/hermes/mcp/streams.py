"""The two streams of a connection, and what may come in on them."""

from collections.abc import Callable
from typing import Final

import anyio
from mcp.client._transport import TransportStreams

from hermes.types.error import McpError

Streams = TransportStreams

LONGEST_MESSAGE: Final = 16_000_000
"""Bytes of one message."""
WINDOW: Final = 10.0
MOST_MESSAGES, MOST_BYTES, MOST_OTHER = 10_000, 200_000_000, 2_000
"""What a server may send in that many seconds: messages, bytes, and lines that are no messages."""


class Traffic:
    """What a server has sent in the running window; `lost` is set when nothing more can come, `said` are its
    last words about itself, `wrote` what it first wrote that was no message, `refused` why it refuses us.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.lost = anyio.Event()
        self.said = self.wrote = self.refused = ""
        self._clock, self._begun = clock, clock()
        self._messages = self._bytes = self._other = 0

    def count(self, size: int) -> None:
        """One more message of so many bytes; McpError when there were too many."""
        self._turn_window()
        self._messages += 1
        self._check(size)

    def count_bytes(self, size: int) -> None:
        """More bytes of a message; McpError when there were too many."""
        self._turn_window()
        self._check(size)

    def count_other(self, line: bytes) -> None:
        """A line was no message; McpError when there were too many."""
        self.wrote = self.wrote or line[:200].decode("utf-8", "replace").strip()
        self._other += 1
        if self._other > MOST_OTHER:
            raise McpError("it keeps writing what is no message to its standard output")

    def _turn_window(self) -> None:
        if self._clock() - self._begun > WINDOW:
            self._begun = self._clock()
            self._messages = self._bytes = self._other = 0

    def _check(self, size: int) -> None:
        self._bytes += size
        if self._messages > MOST_MESSAGES or self._bytes > MOST_BYTES:
            raise McpError(
                f"it sent {self._messages:,} messages with {self._bytes:,} bytes in {WINDOW:.0f} s"
            )
