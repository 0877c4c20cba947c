"""The bytes of a pipe, watched for as long as it is read: on asyncio, to begin and end a watch for each of
them, as `anyio.wait_readable` does, costs more than all else that is done with a small message.
"""

# What watches a pipe is the loop's own
import asyncio  # noqa: TID251
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import anyio

CHUNK: Final = 65_536
Read = Callable[[], Awaitable[bytes]]


@asynccontextmanager
async def pipe_reader(descriptor: int) -> AsyncIterator[Read]:
    """What gives the next bytes of a pipe, `CHUNK` at most, none at its end. The descriptor stays open."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        import trio  # noqa: PLC0415  # only where it runs already

        async with trio.lowlevel.FdStream(os.dup(descriptor)) as stream:
            yield partial(stream.receive_some, CHUNK)
        return
    reader = asyncio.StreamReader(CHUNK)
    connect = asyncio.get_running_loop().connect_read_pipe
    with anyio.CancelScope(shield=True):  # once it is begun, somebody must end it
        file = os.fdopen(os.dup(descriptor), "rb", 0)
        transport, _ = await connect(partial(asyncio.StreamReaderProtocol, reader), file)
    try:
        yield partial(reader.read, CHUNK)
    finally:
        transport.close()
