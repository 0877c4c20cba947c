"""Search files by content and by name, with ignore files respected: ripgrep's work, or the same in Python.

Expressions run in a process of their own, which is killed when it takes too long or nobody waits any more.
"""

import json
import re
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, Final, cast

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream
from msgspec import Struct

from hermes.environments import line_matcher
from hermes.environments.files import read_open
from hermes.environments.ripgrep import by_ripgrep
from hermes.environments.searched_files import LARGEST_FILE, Search, SearchedFile, searched_files, wanted
from hermes.lib.beneath import READ_FILE, held, open_beneath, stat_entry
from hermes.lib.child_processes import open_process
from hermes.lib.globs import glob_below
from hermes.types.workspace import FileStat, Match

_SNIFF: Final = 8_192
_BATCH_BYTES: Final = 1_000_000
_STEP: Final = 200
"""Files that are walked before it is seen whether the search goes on."""

_LARGEST_REPLY: Final = 200_000_000


class _Text(Struct, frozen=True):
    """A file that is looked into, and its bytes."""

    path: Path
    data: bytes


async def search_lines(pattern: str, search: Search, ripgrep: str | None = None) -> list[Match]:
    """Lines that match a regular expression, by path and line; ValueError when the expression is not one,
    TimeoutError when the search takes too long.
    """
    with _stopped_after(search.seconds):
        if ripgrep is not None and (found := await by_ripgrep(pattern, search, ripgrep)) is not None:
            return found
        return await _by_python(pattern, search)


async def find_files(glob: str, search: Search) -> list[FileStat]:
    """Files whose name (or path below the root, if the glob has a slash) fits, newest first; ValueError when
    it is not a glob, TimeoutError as `search_lines`.
    """
    found: list[FileStat] = []
    with _stopped_after(search.seconds), closing(_fitting(glob_below(glob, search.root), search)) as steps:
        while (step := await anyio.to_thread.run_sync(next, steps, None)) is not None:
            found += step
    return sorted(found, key=lambda item: (-item.mtime, item.path))[: search.limit]


@contextmanager
def _stopped_after(seconds: float) -> Iterator[None]:
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError:
        raise TimeoutError(
            f"the search was stopped after {seconds:g} seconds; a simpler expression or a smaller folder"
            " may do"
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
    async with open_process(argv, stderr=DEVNULL) as process:
        matcher = _Matcher(process)
        await matcher.send({"pattern": pattern, "seconds": search.seconds})
        with closing(_batches(search)) as batches:
            while (batch := await anyio.to_thread.run_sync(next, batches, None)) is not None:
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
    is_wanted = wanted(search)
    batch: list[_Text] = []
    size = 0
    for number, file in enumerate(searched_files(search), start=1):
        data = _text(file) if is_wanted(file.path) else None
        if data is not None:
            batch.append(_Text(file.path, data))
            size += len(data)
        if number % _STEP == 0 or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _fitting(fits: Callable[[Path], bool], search: Search) -> Generator[Sequence[FileStat], None, None]:
    """The files that fit, some at a time."""
    step: list[FileStat] = []
    for number, file in enumerate(searched_files(search), start=1):
        if fits(file.path):
            step.extend(_stat(file))
        if number % _STEP == 0:
            yield step
            step = []
    yield step


def _stat(file: SearchedFile) -> Iterator[FileStat]:
    with suppress(OSError):
        info = stat_entry(file.folder, file.name)
        yield FileStat(path=str(file.path), kind="file", size=info.st_size, mtime=info.st_mtime)


def _text(file: SearchedFile) -> bytes | None:
    """A file's bytes, or None for what is no text file of a sensible size."""
    try:
        with held(open_beneath(file.folder, file.name, READ_FILE)) as descriptor:
            data = read_open(descriptor, file.path, LARGEST_FILE)
    except OSError:
        return None
    return None if b"\0" in data[:_SNIFF] else data
