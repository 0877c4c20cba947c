"""The server on the standard streams: whoever starts it is its one client."""

import os
from typing import Any, BinaryIO, Final

from hermes.apps.serve.mcp_server import required
from hermes.lib.threads import in_thread

LONGEST_LINE: Final = 4 << 20
"""Bytes of a message; the same as over HTTP."""


async def serve_stdio(server: Any) -> None:
    """Serve until the client closes its end; nothing but messages goes to stdout."""
    opened = required("mcp.server.stdio:stdio_server")
    with _own_stdin() as stream:
        async with opened(stdin=MessageLines(stream)) as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())


class MessageLines:
    """The lines of a stream as they come; one that is too long for a message is one that holds none."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def __aiter__(self) -> "MessageLines":
        return self

    async def __anext__(self) -> str:
        # In a thread that holds nothing up: a client may keep its end open and say nothing
        line = await in_thread(self._line)
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")

    def _line(self) -> bytes:
        line = part = self._stream.readline(LONGEST_LINE)
        while part and not part.endswith(b"\n"):
            line, part = b"\n", self._stream.readline(LONGEST_LINE)
        return line


def _own_stdin() -> BinaryIO:
    """Standard input for the server alone: what tools start reads an empty one."""
    own, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(own, "rb", closefd=False)
