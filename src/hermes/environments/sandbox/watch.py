"""From the beginning of a confined job to the look at what it left: also where the process that ran it was
killed meanwhile, for what was there before is kept on disk until that look.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hermes.environments.sandbox.planted import Watched
from hermes.environments.sandbox.snapshot import FileSnapshot
from hermes.lib.locks import HeldFile, holder, take


class Record(Struct, frozen=True):
    """What is watched, and what was there before."""

    watched: Watched
    before: dict[str, FileSnapshot]


_NOTHING: Final = Record(Watched(tops=()), {})


class Watch:
    """Looks at what confined jobs leave. In `folder` a file of its own, which this process holds, says what
    was there while jobs run; without the folder above it, or with None, nothing is kept on disk.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._file: HeldFile | None = None
        self._record = _NOTHING
        self._told = (_NOTHING.watched, "{}")

    def begin(self, watched: Watched) -> None:
        """Take what is there now for the user's own, until `end`; while jobs run, as far as it was not
        watched.
        """
        old = self._record
        new = watched.beyond(old.watched)
        if new != _NOTHING.watched:
            self._record = Record(old.watched.plus(new), {**new.secured(), **old.before})
            self._keep(self._words())

    @property
    def keeps_instructions(self) -> bool:
        """Whether new instructions for agents are among what is watched."""
        return bool(self._record.watched.instructions)

    def accept(self, path: str) -> None:
        """Take what is made at a path, and the folders on the way to it, for the user's own."""
        watched, before = self._record.watched, self._record.before
        way = {path, *map(str, Path(path).parents)}
        made = way.intersection((*watched.instructions, *watched.starts)).difference(before)
        if made:
            self._record = Record(watched, {**before, **dict.fromkeys(made, FileSnapshot())})
            self._keep(self._words())

    def take(self) -> list[str]:
        """Move aside what was planted since; a sentence for each."""
        return self._record.watched.take_planted(self._record.before)

    def end(self) -> None:
        """No job runs any more, and what they left was looked at."""
        self._record = _NOTHING
        if self._file:
            self._keep(b"")

    def close(self) -> None:
        """Let go of the file, and remove it; where jobs were not looked at, it is left for the next to
        look.
        """
        if self._file and self._record is _NOTHING:
            self._file.close()
        elif self._file:
            self._file.leave()
        self._file = None

    def take_left(self) -> list[str]:
        """Move aside what jobs have planted whose Hermes was killed before it looked; a sentence for each."""
        return [sentence for left in self._left() for sentence in left.watched.take_planted(left.before)]

    def _words(self) -> bytes:
        """The record as JSON; what is watched is mostly the same, and long."""
        watched, before = self._record.watched, self._record.before
        if watched != self._told[0]:
            # Names of files are bytes: what is no character in them has no form in msgspec's JSON
            self._told = (watched, json.dumps(msgspec.to_builtins(watched)))
        return f'{{"watched": {self._told[1]}, "before": {json.dumps(msgspec.to_builtins(before))}}}'.encode()

    def _keep(self, words: bytes) -> None:
        if self._folder is None:
            return
        with suppress(OSError):  # a full disk stops no command
            if self._file:
                self._file.write(words)
            elif self._folder.parent.is_dir():
                self._file = take(self._folder / f"{os.urandom(8).hex()}.json", words)

    def _left(self) -> Iterator[Record]:
        for path in self._folder.glob("*.json") if self._folder else ():
            if holder(path) is not None:
                continue
            with suppress(OSError):
                words = path.read_bytes()
                if held := take(path, words):
                    with suppress(ValueError):  # none was running, or it had not begun
                        yield msgspec.convert(json.loads(words), Record)
                    held.close()
