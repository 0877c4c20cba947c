"""The way to a program on this machine: a Unix socket in a folder that confined commands see, too.

A client sends a token, then requests; each is answered before the next is read. Token, requests and answers
have their length before them, in four bytes.
"""

import hmac
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.abc
import anyio.to_thread
from anyio.streams.buffered import BufferedByteReceiveStream

from hermes.environments.tool_channel import EMPTY, LONGEST_REQUEST, MODULE
from hermes.lib.aio import background
from hermes.lib.beneath import FOLDER
from hermes.types.workspace import AnswerRequest

SOCKET: Final = "socket"
TOKEN: Final = "token"  # noqa: S105  # a file's name
MOST_CLIENTS: Final = 16
"""Connections at a time: a program's threads and children may each have one."""

_PREFIX: Final = "tools-"
_LENGTH: Final = 4
_GONE: Final = (
    anyio.IncompleteRead,
    anyio.EndOfStream,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    ValueError,
)


class SocketChannel:
    """Ways in `folder`, where shell states lie, too; the part of it for confined commands is seen by them as
    `inside`. What a process that was killed has left there is removed.
    """

    def __init__(self, folder: Path, inside: str) -> None:
        self._folder = folder
        self._inside = inside
        for left in folder.glob(f"*/{_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)

    @asynccontextmanager
    async def open(self, module: str, answer: AnswerRequest, *, confined: bool) -> AsyncIterator[str]:
        """While it is entered requests are answered; gives the module's folder as the program sees it."""
        # Two folders, as for shell states: confined commands could put other files into theirs.
        folder = self._folder / ("confined" if confined else "open") / f"{_PREFIX}{os.urandom(8).hex()}"
        token = os.urandom(16).hex().encode()
        folder.mkdir(parents=True, mode=0o700)
        # By descriptor from here on: a confined command could put a link in the folder's place.
        at = os.open(folder, FOLDER)
        try:
            _write(at, MODULE, module.encode())
            _write(at, TOKEN, token)
            os.mkdir(EMPTY, 0o700, dir_fd=at)  # by descriptor
            # The whole path may be longer than a socket's name can be
            listener = await anyio.create_unix_listener(f"/proc/self/fd/{at}/{SOCKET}", mode=0o600)
            limiter = anyio.CapacityLimiter(MOST_CLIENTS)
            async with listener, background() as start:
                start(partial(listener.serve, partial(_serve, token=token, answer=answer, limiter=limiter)))
                yield f"{self._inside}/{folder.name}" if confined and self._inside else str(folder)
        finally:
            os.close(at)
            with anyio.CancelScope(
                shield=True
            ):  # beside the loop: a script may have left any number of files
                await anyio.to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True))


def _write(at: int, name: str, data: bytes) -> None:
    made = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=at)
    with os.fdopen(made, "wb") as file:
        file.write(data)


async def _serve(
    stream: anyio.abc.SocketStream, *, token: bytes, answer: AnswerRequest, limiter: anyio.CapacityLimiter
) -> None:
    """Answer one client, unless there are too many, until it goes or sends what is no request."""
    async with stream:
        with suppress(anyio.WouldBlock):
            limiter.acquire_on_behalf_of_nowait(stream)
            try:
                with suppress(*_GONE):
                    await _answer_all(stream, token, answer)
            finally:
                limiter.release_on_behalf_of(stream)


async def _answer_all(stream: anyio.abc.SocketStream, token: bytes, answer: AnswerRequest) -> None:
    reader = BufferedByteReceiveStream(stream)
    if not hmac.compare_digest(await _frame(reader, len(token)), token):
        return
    while True:
        reply = await answer(await _frame(reader, LONGEST_REQUEST))
        await stream.send(len(reply).to_bytes(_LENGTH, "big") + reply)


async def _frame(reader: BufferedByteReceiveStream, longest: int) -> bytes:
    length = int.from_bytes(await reader.receive_exactly(_LENGTH), "big")
    if length > longest:
        raise ValueError(f"a request of {length} bytes is too long")
    return await reader.receive_exactly(length)
