"""MEMORY.md and USER.md: what later sessions are told, kept as files that people may edit as well.

Every change reads the file, changes it and replaces it under a lock, so that nothing another process or the
user wrote in between is lost. Where a fact comes from is kept beside the files, by its words.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct, field

from hermes.lib.files import write_atomic
from hermes.lib.small_files import read_small
from hermes.lib.text import tokens
from hermes.types.error import StoreError

Target = Literal["memory", "user"]
FILES: Final[Mapping[Target, str]] = {"memory": "MEMORY.md", "user": "USER.md"}
SEPARATOR: Final = "\n§\n"
LOCK_SECONDS: Final = 10.0
_ORIGINS: Final = ".origins.json"


class NoteOrigin(Struct, frozen=True, kw_only=True):
    """When a fact was noted (epoch seconds), in which session, and what that had read from outside then."""

    at: float = 0.0
    session: str = ""
    outside: tuple[str, ...] = ()


UNKNOWN: Final = NoteOrigin()


class Note(Struct, frozen=True, kw_only=True):
    """One fact; one of unknown origin was written by hand."""

    text: str
    origin: NoteOrigin = UNKNOWN


class Edit(Struct, frozen=True, kw_only=True):
    """One change: `old_text` is a stretch that only the note to replace or to remove has."""

    action: Literal["add", "replace", "remove"]
    content: str = ""
    old_text: str = ""


class Notes(Struct, frozen=True, kw_only=True):
    """The notes of a home; `limits` are in tokens."""

    folder: Path
    limits: Mapping[Target, int] = field(default_factory=lambda: {"memory": 600, "user": 350})

    def read(self, target: Target) -> tuple[Note, ...]:
        """The notes of a file, as they are now, with U+FFFD for bytes that are no UTF-8; StoreError when it
        cannot be read.
        """
        origins = self._origins()
        return tuple(Note(text=one, origin=origins.get(_key(one), UNKNOWN)) for one in self._texts(target))

    def edit(self, target: Target, edits: Sequence[Edit], origin: NoteOrigin) -> tuple[Note, ...]:
        """The notes after all of the changes, or none of them: StoreError says in words for a model which
        cannot be made. A file with bytes that are no UTF-8 stays as it is, for those would be lost.
        """
        with self._locked():
            if undecodable := self._undecodable(target):
                raise StoreError(undecodable)
            texts = self._texts(target)
            before = dict.fromkeys(texts)
            for one in edits:
                texts = _edited(texts, one)
            if tuple(before) != texts:
                self._check_size(target, texts, tuple(before))
                self._note_origins({_key(one): origin for one in texts if one not in before})
                write_atomic(self.folder / FILES[target], (SEPARATOR.join(texts) + "\n").encode(), mode=0o600)
        return self.read(target)

    def clear(self, target: Target) -> None:
        """Forget all of a file."""
        with self._locked():
            (self.folder / FILES[target]).unlink(missing_ok=True)

    def faults(self) -> Iterator[str]:
        """A sentence for each file whose bytes are no text; StoreError when one cannot be read."""
        yield from filter(None, map(self._undecodable, FILES))

    def used(self, target: Target) -> int:
        """Tokens that the notes of a file take."""
        return tokens(SEPARATOR.join(self._texts(target)))

    def _texts(self, target: Target) -> tuple[str, ...]:
        text = self._bytes(target).decode("utf-8", "replace")
        return tuple(one for part in f"\n{text}\n".split(SEPARATOR) if (one := part.strip()))

    def _bytes(self, target: Target) -> bytes:
        path = self.folder / FILES[target]
        try:
            return read_small(path)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise StoreError(f"{path} cannot be read ({error.strerror}).") from error

    def _undecodable(self, target: Target) -> str:
        """A sentence on bytes of a file that are no text; empty where all are."""
        data = self._bytes(target)
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            return (
                f"{self.folder / FILES[target]} has bytes that are no UTF-8 (the first in line {line}): they"
                " are read as \N{REPLACEMENT CHARACTER}, and no note is written there until the file is saved"
                " as UTF-8."
            )
        return ""

    def _check_size(self, target: Target, texts: Sequence[str], before: Sequence[str]) -> None:
        used, limit = tokens(SEPARATOR.join(texts)), self.limits[target]
        if used > limit and used > tokens(SEPARATOR.join(before)):
            raise StoreError(
                f"{FILES[target]} would take {used} of {limit} tokens; replace or remove notes in the same"
                " call to make room."
            )

    def _origins(self) -> dict[str, NoteOrigin]:
        try:
            return msgspec.json.decode(read_small(self.folder / _ORIGINS), type=dict[str, NoteOrigin])
        except (OSError, msgspec.DecodeError, msgspec.ValidationError):
            return {}

    def _note_origins(self, fresh: Mapping[str, NoteOrigin]) -> None:
        """Keep where facts come from, of those that are there still."""
        there = {_key(one) for target in FILES for one in self._texts(target)}
        kept = {key: one for key, one in self._origins().items() if key in there}
        write_atomic(self.folder / _ORIGINS, msgspec.json.encode({**kept, **fresh}), mode=0o600)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        from filelock import FileLock  # noqa: PLC0415  # most sessions note nothing

        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            with FileLock(self.folder / ".lock").acquire(timeout=LOCK_SECONDS):
                yield
        except TimeoutError as error:
            raise StoreError(
                f"{self.folder} has been locked by another process for {LOCK_SECONDS:.0f} s."
            ) from error


def _edited(texts: tuple[str, ...], edit: Edit) -> tuple[str, ...]:
    words = edit.content.strip()
    if edit.action != "remove" and (not words or SEPARATOR.strip() in words.splitlines()):
        raise StoreError(f"{edit.action} needs content: one fact, without a line that is § alone.")
    if edit.action == "add":
        return texts if words in texts else (*texts, words)
    at = _found(texts, edit.old_text)
    if edit.action == "remove":
        return texts[:at] + texts[at + 1 :]
    return tuple(dict.fromkeys((*texts[:at], words, *texts[at + 1 :])))


def _found(texts: Sequence[str], wanted: str) -> int:
    places = [at for at, text in enumerate(texts) if wanted.strip() and wanted.strip() in text]
    if len(places) != 1:
        held = "; ".join(text.splitlines()[0][:60] for text in texts) or "none"
        count = f"{len(places)} notes have" if places else "No note has"
        raise StoreError(
            f"{count} the text {wanted!r}; old_text is a stretch that one note alone has. Notes: {held}"
        )
    return places[0]


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:20]
