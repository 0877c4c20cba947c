"""How a reply comes: as a stream, or as one whole body. Servers answer either way, whatever was asked for."""

_BODIES = (b"{", b"[", b"<")


class Arrival:
    """Tells the bytes of a stream from those of a body, which are kept until the end.

    `streams` is None as long as nothing has come.
    """

    def __init__(self) -> None:
        self.streams: bool | None = None
        self._body: list[bytes] = []

    def streamed(self, data: bytes) -> bytes:
        """The bytes, if they are a stream's; else nothing."""
        if self.streams is None and data.strip():
            self.streams = not data.lstrip().startswith(_BODIES)
        if self.streams:
            return data
        self._body.append(data)
        return b""

    @property
    def body(self) -> bytes:
        """What has come of a body."""
        return b"".join(self._body).strip()
