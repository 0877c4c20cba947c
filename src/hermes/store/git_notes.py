"""Facts as Markdown notes in a git repository, one file each: people and other programs may write there too.

A note is there as soon as its file is; the commit follows. What is found is what the files say now, by an
index beside the other files of the home that is brought up to date at every use.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from os import DirEntry, scandir
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from hermes.lib.beneath import READ_FILE, held, open_path
from hermes.lib.files import write_atomic
from hermes.lib.git_commits import BOUNDS, GitCommits
from hermes.lib.safe_git import GitError, SafeGit
from hermes.store.facts import Fact
from hermes.store.note_index import NoteIndex
from hermes.store.protocol import Viewer
from hermes.store.sqlite_facts import SqliteFacts
from hermes.types.capabilities import ALL, Capabilities
from hermes.types.error import ConfigError, StoreError

MOST: Final = 5_000
"""Notes of a folder that are looked at."""
LARGEST: Final = 64_000
"""Bytes of a note that are read."""
_HEAD: Final = re.compile(r"---\n(.*?)\n---\n(.*)", re.DOTALL)
_LINE: Final = re.compile(r"^(\w+): (.*)$", re.MULTILINE)


class GitNotes:
    """A `FactStore` over a folder of notes."""

    def __init__(self, folder: Path, environ: Mapping[str, str], index: NoteIndex) -> None:
        self._folder, self._index = folder, index
        try:
            self._git = GitCommits(folder, environ, author="Hermes")
        except GitError as error:
            raise _unfit(folder, error) from error

    def add(self, fact: Fact) -> str:
        """Write a note, unless there is one with the same words for the same person; its name."""
        for one in self.everything():
            if (one.text, one.origin) == (fact.text, fact.origin):
                return one.id
        name = f"{_slug(fact.text)}-{fact.id}"
        content = written(fact)
        write_atomic(self._folder / f"{name}.md", content)
        self._commit(name, content, "Note")
        return name

    def find(self, words: str, viewer: Viewer, *, limit: int, now: float) -> Sequence[Fact]:
        """The best by relevance and age."""
        return self._looked_up(lambda index: index.find(words, viewer, limit=limit, now=now))

    def fitting(self, message: str, viewer: Viewer, *, limit: int, now: float) -> Sequence[Fact]:
        """The best by what tells them from the others, and by age."""
        return self._looked_up(lambda index: index.fitting(message, viewer, limit=limit, now=now))

    def everything(self) -> Sequence[Fact]:
        """All notes."""
        return self._looked_up(lambda index: index.everything())

    def remove(self, fact_id: str, viewer: Viewer) -> bool:
        """Remove a note; what somebody has changed in it since is committed first."""
        if not any(one.id == fact_id and one.is_for(viewer) for one in self.everything()):
            return False
        path = self._folder / f"{fact_id}.md"
        with suppress(FileNotFoundError):
            self._commit(fact_id, path.read_bytes(), "Keep changes by hand of")
        path.unlink(missing_ok=True)
        self._commit(fact_id, None, "Forget")
        return True

    def close(self) -> None:
        """Let go of the index."""
        self._index.close()

    def _commit(self, name: str, content: bytes | None, what: str) -> None:
        try:
            self._git.commit(f"{name}.md", content, f"{what} {name}")
        except GitError as error:
            raise StoreError(f"{self._folder / name}.md is not committed ({error}).") from error

    def _looked_up(self, look: Callable[[SqliteFacts], Sequence[Fact]]) -> Sequence[Fact]:
        """What is found in the index once it says what the files say."""

        def found(index: SqliteFacts) -> Sequence[Fact]:
            self._refresh(index)
            return look(index)

        return self._index.use(found)

    def _refresh(self, index: SqliteFacts) -> None:
        """Have the index say what the files say."""
        known, there = index.stamps(), dict(_notes(self._folder))
        for name, entry in there.items():
            status = entry.stat(follow_symlinks=False)
            stamp = f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"
            if known.get(name) != stamp and (fact := read_note(Path(entry.path), status.st_mtime)):
                index.put(fact, stamp)
        for name in known.keys() - there.keys():
            index.drop(name)


def examine(folder: Path, environ: Mapping[str, str]) -> None:
    """ConfigError when a folder cannot keep notes; nothing is changed. One that is missing or empty can: it
    is made a repository when it is first used.
    """
    if folder.exists() and any(folder.iterdir()):
        try:
            SafeGit(folder, environ, bounds=BOUNDS).text("rev-parse", "--show-prefix")
        except GitError as error:
            raise _unfit(folder, error) from error


def _unfit(folder: Path, error: GitError) -> ConfigError:
    return ConfigError(
        f"memory.notes_folder: {folder} cannot keep notes ({error}); make it a git repository.",
        key="memory.notes_folder",
    )


def written(fact: Fact) -> bytes:
    """A fact as a note: where it comes from, then its words."""
    day = dt.datetime.fromtimestamp(fact.at, tz=dt.UTC).isoformat(timespec="seconds")
    head = {"noted": day, "session": fact.session, "user": fact.origin, "outside": "; ".join(fact.outside)}
    if fact.bounds != ALL:
        head["bounds"] = msgspec.json.encode(fact.bounds).decode()
    lines = (f"{key}: {' '.join(value.split())}" for key, value in head.items() if value)
    return "\n".join(["---", *lines, "---", "", fact.text, ""]).encode("utf-8", "replace")


def read_note(path: Path, changed: float) -> Fact | None:
    """The fact in a note: what has no head was written by hand, when it was last `changed`. None for what
    cannot be read.
    """
    try:
        with held(open_path(path, READ_FILE)) as descriptor, open(descriptor, "rb", closefd=False) as file:
            text = file.read(LARGEST).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return None
    fact = Fact(id=path.stem, text=text.strip(), at=changed)
    found = _HEAD.match(text)
    return _with_head(fact, dict(_LINE.findall(found[1])), found[2].strip()) if found else fact


def _with_head(fact: Fact, head: Mapping[str, str], text: str) -> Fact:
    """The fact with what its head says; one whose bounds cannot be read is for nobody with bounds."""
    at, bounds = fact.at, ALL
    with suppress(ValueError):
        at = dt.datetime.fromisoformat(head.get("noted", "")).timestamp()
    with suppress(msgspec.DecodeError, msgspec.ValidationError):
        bounds = msgspec.json.decode(head.get("bounds", ""), type=Capabilities)
    outside = tuple(filter(None, head.get("outside", "").split("; ")))
    return replace(
        fact,
        text=text,
        at=at,
        bounds=bounds,
        outside=outside,
        session=head.get("session", ""),
        origin=head.get("user", ""),
    )


def _notes(folder: Path) -> Iterator[tuple[str, DirEntry[str]]]:
    """The notes of a folder by their names; links are none."""
    with scandir(folder) as entries:
        found = (one for one in entries if one.name.endswith(".md") and one.is_file(follow_symlinks=False))
        for entry, _ in zip(found, range(MOST), strict=False):
            yield entry.name.removesuffix(".md"), entry


def _slug(text: str) -> str:
    words = re.findall(r"[a-z0-9]+", text.lower())[:6]
    return "-".join(words)[:48].strip("-") or "note"
