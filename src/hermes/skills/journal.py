"""The changes of a home's skills: those that wait for a person, and those that were made.

Each is a file, written before anything else is. A change is made only where the files are still as they were
when it was thought of; one that was cut off midway can be taken back like any other.
"""

from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from hermes.lib.files import write_atomic
from hermes.skills.changes import SkillChange, Texts
from hermes.skills.lock import lock
from hermes.types.error import SkillError

_WAITING: Final = ".proposals"
_MADE: Final = ".changes"


class ChangeJournal:
    """The changes of the skills in one folder, shared by all processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def propose(self, change: SkillChange) -> None:
        """Keep a change until somebody says what becomes of it."""
        self._write(_WAITING, change)

    def waiting(self) -> list[SkillChange]:
        """The changes that wait, the first one first."""
        return self._read(_WAITING)

    def made(self) -> list[SkillChange]:
        """The changes that were made, the first one first."""
        return self._read(_MADE)

    def owned(self) -> frozenset[str]:
        """The names of the skills that a session has made."""
        return frozenset(one.skill for one in self.made() if one.action == "create" and one.session)

    def find(self, change_id: str) -> SkillChange:
        """A change by its id, or by the beginning of it; SkillError where there is none, or more."""
        found = [one for one in (*self.waiting(), *self.made()) if one.id.startswith(change_id)]
        if len(found) != 1 or not change_id:
            many = "Several changes begin" if found else "There is no change whose id begins"
            raise SkillError(f"{many} with {change_id[:80]!r}; hermes skills review lists those that wait.")
        return found[0]

    def make(self, change: SkillChange) -> None:
        """Make a change, which does not wait any more then; SkillError where the files are others by now."""
        with lock(self.folder):
            self._refuse_others(change, change.before)
            self._write(_MADE, change)
            self._put(change, change.after)
            self._drop(change)

    def discard(self, change: SkillChange) -> None:
        """Forget a change that waits."""
        self._drop(change)

    def revert(self, change: SkillChange) -> None:
        """Take back a change that was made, as far as it was; SkillError where its files are others by
        now.
        """
        with lock(self.folder):
            self._refuse_others(change, change.before, change.after)
            self._put(change, change.before)
            (self.folder / _MADE / f"{change.id}.json").unlink(missing_ok=True)

    def _refuse_others(self, change: SkillChange, *allowed: Texts) -> None:
        for path in change.after:
            now = _text(self.folder / change.place / path)
            if now not in [texts.get(path) for texts in allowed]:
                raise SkillError(
                    f"{change.place}/{path} is not as it was when this change was made; look at it, and have"
                    " the change made anew."
                )

    def _put(self, change: SkillChange, texts: Texts) -> None:
        for path, text in sorted(texts.items()):
            file = self.folder / change.place / path
            if text is not None:
                write_atomic(file, text.encode())
            else:
                file.unlink(missing_ok=True)
                _remove_empty(file.parent, self.folder)

    def _drop(self, change: SkillChange) -> None:
        (self.folder / _WAITING / f"{change.id}.json").unlink(missing_ok=True)

    def _write(self, where: str, change: SkillChange) -> None:
        write_atomic(self.folder / where / f"{change.id}.json", msgspec.json.encode(change))

    def _read(self, where: str) -> list[SkillChange]:
        found = []
        for path in sorted((self.folder / where).glob("*.json")):
            with suppress(OSError, msgspec.DecodeError, msgspec.ValidationError):
                change = msgspec.json.decode(path.read_bytes(), type=SkillChange)
                found.append(replace(change, id=path.stem))
        return sorted(found, key=lambda one: (one.at, one.id))


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None


def _remove_empty(folder: Path, top: Path) -> None:
    """Remove a folder and those it lies in, as long as they are empty, below the top."""
    while folder != top and folder.is_relative_to(top):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
