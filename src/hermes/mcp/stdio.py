"""The way to a server that is a program: lines of JSON on its standard streams, within bounds."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from hermes.environments.base import Job
from hermes.environments.local import LocalEnvironment
from hermes.environments.local_child import LocalChild
from hermes.lib.pipes import pipe_reader
from hermes.mcp.streams import LONGEST_MESSAGE, Streams, Traffic
from hermes.types.error import McpError

KEPT_ERRORS: Final = 4_000
GRACE: Final = 1.0


class ServerProcess:
    """A running server: `errors` is the end of what it wrote to its standard error."""

    def __init__(self, child: LocalChild, traffic: Traffic) -> None:
        self._child, self._traffic = child, traffic
        self.errors = ""

    async def read(self, received: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Hand over its messages until its output ends; McpError for more than a server may send."""
        rest = bytearray()
        async with received, pipe_reader(self._child.output) as read:
            while chunk := await read():
                *lines, last = chunk.split(b"\n")
                for line in lines:
                    await self._hand_over(bytes(rest) + line, received)
                    rest.clear()
                rest += last
                if len(rest) > LONGEST_MESSAGE:
                    raise McpError(f"it sent a message of more than {LONGEST_MESSAGE:,} bytes")
        self._traffic.lost.set()

    async def write(self, sent: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Give it what is sent, as fast as it reads."""
        async with sent:
            async for message in sent:
                data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                while data := data[self._child.write(data) :]:
                    await self._child.takes_input()

    async def read_errors(self) -> None:
        """Keep the end of what it says of itself."""
        if (pipe := self._child.errors) is not None:
            async with pipe_reader(pipe.output) as read:
                while chunk := await read():
                    self.errors = (self.errors + chunk.decode("utf-8", "replace"))[-KEPT_ERRORS:]

    async def _hand_over(
        self, line: bytes, received: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        self._traffic.count(len(line))
        try:
            message = _message(line)
        except ValueError:  # words of a program that takes its output for a screen
            self._traffic.count_other(line)
            return
        await received.send(SessionMessage(message))


@asynccontextmanager
async def stdio_streams(environment: LocalEnvironment, job: Job, traffic: Traffic) -> AsyncIterator[Streams]:
    """The streams to a server that is started for them, and ended with all it has started after them.

    McpError, with its last words, where it ended by itself; ExecError where it could not be started.
    """
    with anyio.CancelScope(shield=True):
        await environment.start()
        child = await environment.spawn(job)
    process = ServerProcess(child, traffic)
    try:
        async with _served(process) as streams:
            yield streams
    finally:
        with anyio.CancelScope(shield=True):
            traffic.said = process.errors.strip() or traffic.said
            await child.stop(GRACE)
            child.release()
            await environment.stop()


@asynccontextmanager
async def _served(process: ServerProcess) -> AsyncIterator[Streams]:
    received_in, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, sent_out = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks, received, sent:
        tasks.start_soon(_until_closed, partial(process.read, received_in))
        tasks.start_soon(_until_closed, partial(process.write, sent_out))
        tasks.start_soon(process.read_errors)
        yield received, sent
        tasks.cancel_scope.cancel()


def _message(line: bytes) -> mcp_types.JSONRPCMessage:
    """The message of a line; ValueError where it is none.

    Halves of characters in it are replaced, and an answer that is none becomes an error, so that who waits
    for it learns of that.
    """
    read = mcp_types.jsonrpc_message_adapter.validate_json
    try:
        return read(line, by_name=False)
    except ValueError:
        whole = json.loads(line)
        if not isinstance(whole, dict):
            raise
        try:
            return read(json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace"), by_name=False)
        except ValueError:
            if "method" in whole or not isinstance(whole.get("id"), int | str):
                raise
            fault = mcp_types.ErrorData(code=mcp_types.INTERNAL_ERROR, message="its answer is none")
            return mcp_types.JSONRPCError(jsonrpc="2.0", id=whole["id"], error=fault)


async def _until_closed(job: Callable[[], Awaitable[None]]) -> None:
    """Run it until either side is gone, which the session learns by the end of its stream."""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        await job()
