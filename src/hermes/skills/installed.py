"""Skills that were installed from elsewhere: looked through in quarantine, kept out or put in their place,
and held in a lock file with the digest of what came.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.lib.files import make_private
from hermes.lib.removal import remove_folder, remove_older
from hermes.lib.trees import Room, TooLarge, copy_aside
from hermes.skills.digest import digest
from hermes.skills.guard import MOST_BYTES, MOST_FILES, GuardVerdict, examine, keeps_out
from hermes.skills.library import skill_files
from hermes.skills.lock import lock
from hermes.skills.lock_file import Installed, Trust, read_lock, write_lock
from hermes.skills.skill_file import FILE, Skill, check_name, load
from hermes.types.error import SkillError

_DAY: Final = 86_400


class KeptOut(SkillError):
    """The guard found something; `verdict` has it."""

    def __init__(self, message: str, verdict: GuardVerdict) -> None:
        super().__init__(message)
        self.verdict = verdict


class Candidate(Struct, frozen=True, kw_only=True):
    """A skill in quarantine: where it lies, what it says of itself, and what the guard says of it."""

    folder: Path
    skill: Skill
    source: str
    trust: Trust
    verdict: GuardVerdict


class InstalledSkills:
    """The installed skills in the folder of a home's skills; in `quarantine` others are looked through."""

    def __init__(self, folder: Path, quarantine: Path) -> None:
        self.folder, self._quarantine = folder, quarantine

    def every(self) -> dict[str, Installed]:
        """The installed skills by name."""
        return read_lock(self.folder)

    @contextmanager
    def candidate(
        self, source: Path, name: str, token: str, *, origin: str, trust: Trust
    ) -> Iterator[Candidate]:
        """A copy of the skill in a folder in quarantine, with the verdict; it is gone afterwards unless it
        was installed. `name` is what it is called where its front matter names none.
        """
        place = self._quarantine / token / name
        make_private(place.parent)
        remove_older(self._quarantine, _DAY)  # looks that were killed
        try:
            _copy(source, place)
            verdict = examine(place)
            if not (place / FILE).is_file() or (place / FILE).is_symlink():
                raise SkillError(f"There is no SKILL.md in {origin}.")
            yield Candidate(folder=place, skill=load(place), source=origin, trust=trust, verdict=verdict)
        finally:
            remove_folder(place.parent)

    def install(self, one: Candidate, *, category: str, at: float, force: bool) -> Installed:
        """Put a candidate in its place; KeptOut where the guard says no and nobody forces it, SkillError
        where another skill has the name, or the one that is there was changed.
        """
        if keeps_out(one.verdict, one.trust) and not force:
            raise KeptOut(f"{one.skill.name} from {one.source} was not installed.", one.verdict)
        if category:
            check_name(category)
        with lock(self.folder):
            known = self.every()
            place = known[one.skill.name].place if one.skill.name in known else f"{category}/{one.skill.name}"
            place, fresh = place.strip("/"), digest(one.folder)
            self._refuse_taken(one, fresh, known, self.folder / place, force=force)
            made = Installed(
                name=one.skill.name,
                place=place,
                source=one.source,
                trust=one.trust,
                digest=fresh,
                level=one.verdict.level,
                at=at,
            )
            self._put(one.folder, self.folder / place)
            write_lock(self.folder, {**known, made.name: made})
        return made

    def uninstall(self, name: str) -> Installed:
        """Remove an installed skill, its folder with it; SkillError where none of this name was installed."""
        with lock(self.folder):
            known = self.every()
            if name not in known:
                raise SkillError(f"No skill {name[:80]!r} was installed; your own you delete by yourself.")
            remove_folder(self.folder / known[name].place)
            write_lock(self.folder, {key: one for key, one in known.items() if key != name})
        return known[name]

    def is_changed(self, one: Installed) -> bool:
        """Whether its files are others than those that came."""
        return digest(self.folder / one.place) != one.digest

    def audit(self, one: Installed) -> GuardVerdict:
        """What the guard says of its files as they are now."""
        return examine(self.folder / one.place)

    def _refuse_taken(
        self, one: Candidate, fresh: str, known: Mapping[str, Installed], place: Path, *, force: bool
    ) -> None:
        mine = known.get(one.skill.name)
        others = [path for path in self._called(one.skill.name) if path != place]
        now = digest(place) if place.exists() else ""
        is_strange = now not in ("", fresh)  # what was killed when it had put it there has left the fresh one
        if others or (mine is None and is_strange):
            yours = others[0] if others else place
            raise SkillError(f"There is a skill {one.skill.name} of yours in {yours}; rename one of the two.")
        if mine is not None and mine.source != one.source and not force:
            raise SkillError(f"{mine.name} was installed from {mine.source}; uninstall that first.")
        if mine is not None and is_strange and now != mine.digest and not force:
            raise SkillError(
                f"{mine.name} was changed in {place} since it was installed; --force replaces it."
            )

    def _called(self, name: str) -> list[Path]:
        """The folders of all skills of this name."""
        folders = [Path(path).parent for path, _ in skill_files(self.folder)]
        return [one for one in folders if (skill := _skill_in(one)) is not None and skill.name == name]

    def _put(self, source: Path, target: Path) -> None:
        """Move a folder to its place; what was there goes first, so that a kill in between leaves none of it
        half there.
        """
        make_private(target.parent)
        aside = source.parent / ".before"
        if target.exists():
            target.rename(aside)
        source.rename(target)


def _skill_in(folder: Path) -> Skill | None:
    with suppress(SkillError, OSError):
        return load(folder)
    return None


def _copy(source: Path, target: Path) -> None:
    try:
        copy_aside(source.resolve(), target, Room(MOST_BYTES, MOST_FILES * 2, skips=_is_of_git))
    except TooLarge as error:
        raise SkillError(
            f"{source} has more than {MOST_FILES} files or {MOST_BYTES:,} bytes, too much for a skill."
        ) from error
    except OSError as error:
        raise SkillError(f"{source} cannot be copied: {error.strerror or error}.") from error


def _is_of_git(path: str) -> bool:
    return path.endswith("/.git")
