"""Server-sent events, as bytes (WHATWG HTML, section 9.2): only `data` matters to model wires."""


class Events:
    """Splits a byte stream into the data of its events; lines may end in LF or CRLF and may be cut anywhere."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """The data of every event that these bytes complete."""
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
        return done

    def finish(self) -> list[bytes]:
        """The event that the stream's end completes, if one was open."""
        return self.feed(b"\n\n")
