"""Show a job's output while it runs: merged and bounded, whatever the job writes."""

import codecs
from collections.abc import Callable
from typing import Final

import anyio

from hermes.lib.text import strip_escapes

MOST: Final = 4_000
"""How many bytes are shown at a time; of more the middle is left out."""

PAUSE: Final = 0.05
"""Seconds between two showings."""


class LiveOutput:
    """Gives text to `show`, at most `MOST` bytes every `PAUSE` seconds; the first comes at once."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._waiting = bytearray()
        self._left_out = 0
        self._arrived = anyio.Event()

    def add(self, data: bytes) -> None:
        """More output; nothing is shown here."""
        self._waiting += data
        over = len(self._waiting) - MOST
        if over > 0:
            self._left_out += over
            del self._waiting[MOST // 2 : MOST // 2 + over]
        self._arrived.set()

    async def run(self) -> None:
        """Show what arrives, until cancelled."""
        while True:
            await self._arrived.wait()
            self.flush()
            await anyio.sleep(PAUSE)

    def flush(self) -> None:
        """Show what waits."""
        data, left_out = bytes(self._waiting), self._left_out
        self._waiting.clear()
        self._left_out, self._arrived = 0, anyio.Event()
        text = self._decode(data)
        if left_out:
            half = len(text) // 2
            text = f"{text[:half]}\n… {left_out} bytes are not shown here …\n{text[half:]}"
        if text := strip_escapes(text):
            self._show(text)
