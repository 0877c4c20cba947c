"""Search with ripgrep, and take from it only what is really below the folder that was opened."""

import codecs
import json
import sys
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, Final, cast

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream
from msgspec.structs import replace

from hermes.environments.files import read_open
from hermes.environments.line_matcher import LONGEST_LINE
from hermes.environments.searched_files import LARGEST_FILE, Search, wanted
from hermes.lib.beneath import FOLDER, READ_FILE, READ_FOLDER, held, open_beneath, open_path
from hermes.lib.child_processes import open_process
from hermes.types.workspace import Match

RIPGREP: Final = ("--no-config", "--json", "--sort", "path", "--max-filesize", str(LARGEST_FILE))
"""How ripgrep is called, before the expression and the path."""

_LONGEST_RECORD: Final = 20 * LARGEST_FILE
_BYTE_ORDER_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_ripgrep(lines: Iterable[bytes], search: Search) -> list[Match]:
    """The matches in ripgrep's lines of JSON that the search wants."""
    is_wanted = wanted(search)
    found: list[Match] = []
    for match in map(_match, lines):
        if match is not None and is_wanted(Path(match.path)):
            found.append(_clipped(match))
        if len(found) >= search.limit:
            break
    return found


async def by_ripgrep(pattern: str, search: Search, program: str) -> list[Match] | None:
    """Lines that match; None when ripgrep cannot do it: it knows no look-around.

    It opens files by name and may follow a link that has come in its way, so that each line is read again by
    descriptor, and left out if it is not there.
    """
    base, at, inside = _opened(search.root)
    with held(at):
        argv = [program, *RIPGREP, "--regexp", pattern, "--", inside]
        # A process can be started in an open folder under this name.
        cwd = f"/proc/self/fd/{at}" if sys.platform == "linux" else str(base)
        try:
            async with open_process(argv, stdin=DEVNULL, stderr=DEVNULL, env={}, cwd=cwd) as process:
                found = await _reported(process, base, search)
                if len(found) < search.limit and await process.wait() not in {0, 1}:
                    return None
        except OSError:
            return None
        return await anyio.to_thread.run_sync(_confirmed, at, base, found)


def _opened(root: Path) -> tuple[Path, int, str]:
    """The folder to start in, its descriptor, and what to search from there."""
    try:
        return root, open_path(root, READ_FOLDER), "./"
    except NotADirectoryError:
        return root.parent, open_path(root.parent, FOLDER), f"./{root.name}"


async def _reported(process: Process, base: Path, search: Search) -> list[Match]:
    """What it says, with absolute paths; it is killed when that is enough."""
    is_wanted = wanted(search)
    found: list[Match] = []
    output = BufferedByteReceiveStream(cast("ByteReceiveStream", process.stdout))  # started with a pipe
    while line := await _next_line(output):
        match = _match(line)
        if match is not None and is_wanted(base / match.path):
            found.append(replace(match, path=str(base / match.path)))
        if len(found) >= search.limit:
            break
    return found


async def _next_line(output: BufferedByteReceiveStream) -> bytes:
    """A line, b"" at the end."""
    try:
        return await output.receive_until(b"\n", _LONGEST_RECORD)
    except (anyio.EndOfStream, anyio.IncompleteRead):
        return b""


def _match(line: bytes) -> Match | None:
    """A match with its whole line; None for other records, and for paths that are no text."""
    record = json.loads(line)
    path = record["data"].get("path", {}).get("text")
    if record["type"] != "match" or path is None:
        return None
    return Match(path=path, line=record["data"]["line_number"], content=_content(record["data"]["lines"]))


def _content(lines: dict[str, Any]) -> str:
    text: str = lines["text"] if "text" in lines else b64decode(lines["bytes"]).decode("utf-8", "replace")
    return text.rstrip("\r\n").removeprefix("\ufeff")


def _confirmed(at: int, base: Path, found: Sequence[Match]) -> list[Match]:
    """The matches whose line is in a file below the open folder."""
    return [
        _clipped(match)
        for path, matches in groupby(found, key=lambda match: match.path)
        for match in _still_there(matches, _lines_of(at, Path(path).relative_to(base)))
    ]


def _still_there(matches: Iterable[Match], lines: Sequence[str]) -> Iterator[Match]:
    return (match for match in matches if lines[match.line - 1 : match.line] == [match.content])


def _lines_of(at: int, path: Path) -> list[str]:
    try:
        with held(open_beneath(at, str(path), READ_FILE)) as descriptor:
            data = read_open(descriptor, path, LARGEST_FILE)
    except OSError:
        return []
    codec = "utf-16" if data.startswith(_BYTE_ORDER_MARKS) else "utf-8-sig"
    return [line.rstrip("\r") for line in data.decode(codec, "replace").split("\n")]


def _clipped(match: Match) -> Match:
    return replace(match, content=match.content[:LONGEST_LINE])
