"""Search files by content, with ignore files respected: ripgrep's work, or the same in Python. Either runs in
a process of its own, which is killed when it takes too long or nobody waits any more.
"""

import json
import re
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, Final, cast

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream
from msgspec import Struct

from hermes.environments import line_matcher
from hermes.environments.beneath import READ_FILE, held, open_beneath
from hermes.environments.files import read_open
from hermes.environments.ripgrep import by_ripgrep
from hermes.environments.searched_files import LARGEST_FILE, Search, SearchedFile, searched_files, wanted
from hermes.types.workspace import Match

_SNIFF: Final = 8_192
_BATCH_BYTES, _BATCH_FILES = 1_000_000, 200
_LARGEST_REPLY: Final = 200_000_000


class _Text(Struct, frozen=True):
    """A file that is looked into, and its bytes."""

    path: Path
    data: bytes


async def search_lines(pattern: str, search: Search, ripgrep: str | None = None) -> list[Match]:
    """Lines that match a regular expression, by path and line; ValueError when the expression is not one,
    TimeoutError when the search takes too long.
    """
    try:
        with anyio.fail_after(search.seconds):
            if ripgrep is not None and (found := await by_ripgrep(pattern, search, ripgrep)) is not None:
                return found
            return await _by_python(pattern, search)
    except TimeoutError:
        raise TimeoutError(
            f"the search was stopped after {search.seconds:g} seconds; a simpler expression or a smaller"
            " folder may do"
        ) from None


def compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression; ValueError with a sentence when it is not one."""
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error


async def _by_python(pattern: str, search: Search) -> list[Match]:
    compiled(pattern)
    found: list[Match] = []
    argv = [sys.executable, "-I", "-S", line_matcher.__file__]
    async with await anyio.open_process(argv, stderr=DEVNULL) as process:
        matcher = _Matcher(process)
        await matcher.send({"pattern": pattern, "seconds": search.seconds})
        with closing(_batches(search)) as batches:
            while batch := await anyio.to_thread.run_sync(next, batches, ()):
                found += await matcher.matches(batch, search.limit - len(found))
                if len(found) >= search.limit:
                    break
    return found


class _Matcher:
    """The other end of `line_matcher`."""

    def __init__(self, process: Process) -> None:
        # It was started with pipes.
        self._input = cast("ByteSendStream", process.stdin)
        self._output = BufferedByteReceiveStream(cast("ByteReceiveStream", process.stdout))

    async def send(self, header: Mapping[str, Any], data: bytes = b"") -> None:
        await self._input.send(json.dumps(header).encode() + b"\n" + data)

    async def matches(self, batch: Sequence[_Text], limit: int) -> list[Match]:
        """The lines of the texts that match; OSError when the process has ended."""
        header = {"sizes": [len(text.data) for text in batch], "limit": limit}
        try:
            await self.send(header, b"".join(text.data for text in batch))
            reply = await self._output.receive_until(b"\n", _LARGEST_REPLY)
        except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead) as error:
            raise OSError("what looks for the lines ended before it was done") from error
        return [
            Match(path=str(batch[number].path), line=line, content=content)
            for number, line, content in json.loads(reply)
        ]


def _batches(search: Search) -> Generator[Sequence[_Text], None, None]:
    """The texts that are wanted, some at a time."""
    batch: list[_Text] = []
    for text in _texts(search):
        batch.append(text)
        if len(batch) >= _BATCH_FILES or sum(len(one.data) for one in batch) >= _BATCH_BYTES:
            yield batch
            batch = []
    yield batch


def _texts(search: Search) -> Iterator[_Text]:
    is_wanted = wanted(search)
    for file in searched_files(search):
        data = _text(file) if is_wanted(file.path) else None
        if data is not None:
            yield _Text(file.path, data)


def _text(file: SearchedFile) -> bytes | None:
    """A file's bytes, or None for what is no text file of a sensible size."""
    try:
        with held(open_beneath(file.folder, file.name, READ_FILE)) as descriptor:
            data = read_open(descriptor, file.path, LARGEST_FILE)
    except OSError:
        return None
    return None if b"\0" in data[:_SNIFF] else data
