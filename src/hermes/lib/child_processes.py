"""Programs run as children of an event loop, which are ended without a word when what asked is cancelled.

anyio's own way ends with `Transport.close`, which asks about the child behind the back of the thread that
waits for it (https://github.com/python/cpython/issues/127049): asyncio then warns of an "Unknown child
process pid" in the middle of the user's screen, and makes up an exit code.
"""

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

_PIPES: Final[dict[str, Any]] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
_REST_SECONDS: Final = 0.5
"""How long what a program printed may take to arrive after its end."""


@asynccontextmanager
async def open_process(command: Sequence[str], **options: Any) -> AsyncIterator[Process]:
    """A child with the options of `anyio.open_process`, which is killed if it still runs after the block.

    OSError where it cannot be started.
    """
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(command, **options)
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)  # `Process.kill` looks whether it runs, too
            await process.aclose()


async def run_process(
    command: Sequence[str], *, given: bytes = b"", **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run it to its end with what it is `given` to read; gives what it printed, whatever its exit code.

    What children of its own print after its end is left where they keep its output open.
    """
    output, errors = bytearray(), bytearray()

    async with open_process(command, **(_PIPES | options)) as process, anyio.create_task_group() as tasks:
        tasks.start_soon(_read, process.stdout, output)
        tasks.start_soon(_read, process.stderr, errors)
        tasks.start_soon(_give, process.stdin, given)
        code = await process.wait()
        tasks.cancel_scope.deadline = anyio.current_time() + _REST_SECONDS
    return subprocess.CompletedProcess(list(command), code, bytes(output), bytes(errors))


async def _read(stream: ByteReceiveStream | None, printed: bytearray) -> None:
    if stream is not None:
        async for chunk in stream:
            printed += chunk


async def _give(stream: ByteSendStream | None, given: bytes) -> None:
    if stream is not None:
        with suppress(anyio.BrokenResourceError):  # it has read enough
            await stream.send(given)
        await stream.aclose()
