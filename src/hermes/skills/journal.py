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
from hermes.lib.small_files import read_small
from hermes.skills.changes import SkillChange, Texts
from hermes.skills.lock import lock
from hermes.skills.skill_file import FILE, check_name
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
        """The changes that wait, the first one first; of one that was cut off while it was made, it is known
        that it does not.
        """
        made = {one.id for one in self.made()}
        return [one for one in self._read(_WAITING) if one.id not in made]

    def made(self) -> list[SkillChange]:
        """The changes that were made, the first one first."""
        return self._read(_MADE)

    def is_own(self, change: SkillChange) -> bool:
        """Whether a session has made the skill, and whatever a change is about is as a session left it."""
        made = [one for one in self.made() if one.place == change.place and one.session]
        left = {path: text for one in made for path, text in one.after.items()}
        is_known = any(one.action == "create" for one in made)
        return is_known and all(left.get(path) == text for path, text in change.before.items())

    def find(self, change_id: str) -> SkillChange:
        """A change by its id, or by the beginning of it; SkillError where there is none, or more."""
        found = [one for one in (*self.waiting(), *self.made()) if one.id.startswith(change_id)]
        if len(found) != 1 or not change_id:
            many = "Several changes begin" if found else "There is no change whose id begins"
            raise SkillError(
                f"{many} with {change_id[:80]!r}; hermes skills review lists those that wait,"
                " hermes skills changes those that were made; one that was taken back is in neither."
            )
        return found[0]

    def refuse_taken(self, change: SkillChange) -> None:
        """SkillError where the files are others than those that a change was made for, or where a new skill
        would lie in the place or in the folder of something else.
        """
        self._refuse_others(change, change.before)
        folder = self.folder / change.place
        above = [one for one in folder.parents if one != self.folder and one.is_relative_to(self.folder)]
        if change.action == "create" and any((one / FILE).exists() for one in above):
            raise SkillError(f"{folder.parent} is a skill; choose another category.")
        if change.action == "create" and folder.exists():
            raise SkillError(f"{folder} is there already; choose another name or category.")

    def make(self, change: SkillChange) -> None:
        """Make a change, which does not wait any more then; SkillError where it cannot be made any more."""
        with lock(self.folder):
            self.refuse_taken(change)
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
            now = _text(self._file(change, path))
            if now not in [texts.get(path) for texts in allowed]:
                raise SkillError(
                    f"{change.place}/{path} is not as it was when this change was made; look at it, and have"
                    " the change made anew."
                )

    def _put(self, change: SkillChange, texts: Texts) -> None:
        for path, text in sorted(texts.items()):
            file = self._file(change, path)
            if text is not None:
                runs = 0o755 if text.startswith("#!") else None
                write_atomic(file, text.encode(), mode=runs)
            else:
                file.unlink(missing_ok=True)
                _remove_empty(file.parent, self.folder)

    def _file(self, change: SkillChange, path: str) -> Path:
        """Where a file lies; SkillError where a link leads out of the skill."""
        file, skill = self.folder / change.place / path, self.folder.resolve() / change.place
        if not file.parent.resolve().is_relative_to(skill) or file.is_symlink():
            raise SkillError(f"{change.place}/{path} leads out of the skill; nothing is changed there.")
        return file

    def _drop(self, change: SkillChange) -> None:
        (self.folder / _WAITING / f"{change.id}.json").unlink(missing_ok=True)

    def _write(self, where: str, change: SkillChange) -> None:
        write_atomic(self.folder / where / f"{change.id}.json", msgspec.json.encode(change))

    def _read(self, where: str) -> list[SkillChange]:
        found = []
        for path in sorted((self.folder / where).glob("*.json")):
            with suppress(OSError, msgspec.DecodeError, msgspec.ValidationError, SkillError):
                change = msgspec.json.decode(read_small(path), type=SkillChange)
                _check(change)
                found.append(replace(change, id=path.stem))
        return sorted(found, key=lambda one: (one.at, one.id))


def _check(change: SkillChange) -> None:
    """SkillError for a record that no session has written like that."""
    check_name(change.skill)
    for part in (one for path in (change.place, *change.after, *change.before) for one in path.split("/")):
        if part.startswith(".") or not part or not part.isprintable():
            raise SkillError(f"{change.place} is no place of a skill.")


def _text(path: Path) -> str | None:
    try:
        return read_small(path).decode("utf-8", "replace")
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
