"""How a reply comes: as a stream of server-sent events (WHATWG HTML, section 9.2), or as one whole body;
servers answer either way, whatever was asked for.
"""

from typing import Final

from hermes.models.transports.base import BadReplyError

MOST: Final = 32_000_000
"""Bytes of one event, or of a whole body: more would fill the memory before anything is read."""

MOST_TOGETHER: Final = 8 * MOST
"""Bytes of all events of a reply: several times what the longest takes with an event for each token."""


class Events:
    """Splits a byte stream into the data of its events; lines may end in LF or CRLF and may be cut
    anywhere.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._held = self._taken = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The data of every event that these bytes complete."""
        self._held += len(data)
        self._taken += len(data)
        if self._held > MOST or self._taken > MOST_TOGETHER:
            raise _too_long()
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        done: list[bytes] = []
        pending = self._data
        for line in lines:
            if line[:5] == b"data:":
                pending.append(line[5:].strip())
            elif pending and line in {b"", b"\r"}:
                done.append(pending[0] if len(pending) == 1 else b"\n".join(pending))
                pending.clear()
        if not pending:
            self._held = len(self._rest)
        return done

    def finish(self) -> list[bytes]:
        """The event that the stream's end completes, if one was open."""
        return self.feed(b"\n\n")


def _too_long() -> BadReplyError:
    return BadReplyError(
        f"The server sent more than {MOST:,} bytes of a reply in one piece, or without an end."
    )


_BODIES = (b"{", b"[", b"<")


class BodyDetector:
    """Tells the bytes of a stream from those of a body, which are kept until the end.

    `streams` is None as long as nothing has come.
    """

    def __init__(self) -> None:
        self.streams: bool | None = None
        self._body: list[bytes] = []
        self._held = 0

    def streamed(self, data: bytes) -> bytes:
        """The bytes, if they are a stream's; else nothing."""
        if self.streams is None and data.strip():
            self.streams = not data.lstrip().startswith(_BODIES)
        if self.streams:
            return data
        self._held += len(data)
        if self._held > MOST:
            raise _too_long()
        self._body.append(data)
        return b""

    @property
    def body(self) -> bytes:
        """What has come of a body."""
        return b"".join(self._body).strip()
