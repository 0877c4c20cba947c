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
from anyio.abc import ByteReceiveStream, Process

_PIPES: Final[dict[str, Any]] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


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
    """Run it to its end with what it is `given` to read; gives what it printed, whatever its exit code."""
    printed = {1: b"", 2: b""}

    async def read(number: int, stream: ByteReceiveStream | None) -> None:
        if stream is not None:
            printed[number] = b"".join([chunk async for chunk in stream])

    async with open_process(command, **(_PIPES | options)) as process, anyio.create_task_group() as tasks:
        tasks.start_soon(read, 1, process.stdout)
        tasks.start_soon(read, 2, process.stderr)
        if process.stdin is not None:
            with suppress(anyio.BrokenResourceError):  # it has read enough
                await process.stdin.send(given)
            await process.stdin.aclose()
        code = await process.wait()
    return subprocess.CompletedProcess(list(command), code, printed[1], printed[2])
