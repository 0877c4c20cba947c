"""Find skills in their folders, and read them: a skill is a folder with a SKILL.md, below any categories."""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.lib.nearest import nearest
from hermes.lib.small_files import read_resolved
from hermes.lib.walk import walk
from hermes.skills.skill_cache import SkillCache, Stamp
from hermes.skills.skill_file import FILE, Skill
from hermes.types.error import SkillError

LARGEST: Final = 1_048_576
"""Bytes of one file of a skill."""
_DEEPEST: Final = 4
_MOST_FILES: Final = 200


class FaultySkill(Struct, frozen=True, kw_only=True):
    """A folder that holds no skill that can be used, and why."""

    folder: str
    why: str


class SkillLibrary:
    """The skills of some folders. Of two with one name that of the earlier folder counts.

    What front matters say is kept in `cache_file`, by the time and size of each SKILL.md; each look goes
    through the folders again, so that a skill that is added or changed counts at once.
    """

    def __init__(self, folders: Iterable[Path], cache_file: Path, disabled: Iterable[str] = ()) -> None:
        self.folders = tuple(folders)
        self._cache = SkillCache(cache_file)
        self._disabled = frozenset(disabled)
        self._included: dict[str, Skill] = {}

    @property
    def own(self) -> Path:
        """The first folder: that of the home, which changes are made in."""
        return self.folders[0]

    def skills(self) -> list[Skill]:
        """Every skill, by category and name."""
        return self._look()[0]

    def include(self, name: str, skill: Skill, description: str = "") -> Callable[[], object]:
        """Have a skill from elsewhere under this name, and give what removes it; SkillError when there is one
        included by that name.
        """
        if name in self._included:
            raise SkillError(f"There is a skill {name} already.")
        self._included[name] = replace(skill, name=name, description=description or skill.description)
        return partial(self._included.pop, name, None)

    def faults(self) -> list[FaultySkill]:
        """Folders with a SKILL.md that cannot be used, and skills that another of the same name hides."""
        return self._look()[1]

    def find(self, name: str) -> Skill:
        """The skill of this name, also written `category/name`; SkillError where there is none."""
        found = self.skills()
        for one in found:
            if name in (one.name, f"{one.category}/{one.name}"):
                return one
        near = nearest(name, [one.name for one in found])
        hint = f"did you mean {near[0]}?" if near else "the list of skills has those that are there."
        raise SkillError(f"There is no skill {name[:80]!r}; {hint}")

    def _look(self) -> tuple[list[Skill], list[FaultySkill]]:
        found: dict[str, Skill] = {}
        faults: list[FaultySkill] = []
        stamps = {path: stamp for folder in self.folders for path, stamp in skill_files(folder)}
        for path, (skill, why) in self._cache.read(stamps, self._category).items():
            folder = str(Path(path).parent)
            if skill is None:
                faults.append(FaultySkill(folder=folder, why=why))
            elif (other := found.get(skill.name)) is not None:
                faults.append(FaultySkill(folder=folder, why=f"{other.folder} has the name {skill.name} too"))
            elif skill.name not in self._disabled:
                found[skill.name] = skill
        found |= {name: one for name, one in self._included.items() if name not in self._disabled}
        return sorted(found.values(), key=lambda one: (one.category, one.name)), faults

    def _category(self, path: Path) -> str:
        top = next(one for one in self.folders if path.is_relative_to(one))
        return "/".join(path.relative_to(top).parts[:-2])


def skill_files(folder: Path) -> Iterator[tuple[str, Stamp]]:
    """Each SKILL.md below a folder with its time and size, in the order of their paths. Hidden folders are
    left out; links to folders are followed, down to a depth.
    """
    yield from _below(str(folder), _DEEPEST)


def _below(folder: str, deepest: int) -> Iterator[tuple[str, Stamp]]:
    path = f"{folder}/{FILE}"
    with suppress(OSError):
        info = os.stat(path)  # noqa: PTH116  # words, many
        if stat.S_ISREG(info.st_mode):
            yield path, (info.st_mtime_ns, info.st_size)
            return
    if deepest:
        for name in _folders(folder):
            yield from _below(f"{folder}/{name}", deepest - 1)


def _folders(folder: str) -> list[str]:
    with suppress(OSError), os.scandir(folder) as found:
        return sorted(one.name for one in found if _is_entered(one.name) and one.is_dir())
    return []


def _is_entered(name: str) -> bool:
    """Whether skills are looked for in a folder: no hidden one, and none whose name is no text."""
    return name[0] != "." and name.isprintable()


def files_of(skill: Skill) -> list[str]:
    """The other files of a skill, by their paths in its folder, at most 200."""
    found: list[str] = []
    for folder, folders, names in walk(skill.folder):
        folders[:] = sorted(one for one in folders if _is_entered(one) and not one.startswith("__"))
        below = Path(folder).relative_to(skill.folder)
        found += [str(below / name) for name in sorted(names) if _is_entered(name) and name != FILE]
        if len(found) > _MOST_FILES:
            break
    return found[:_MOST_FILES]


def read_skill_file(skill: Skill, path: str = FILE) -> str:
    """The text of a file of a skill; SkillError where there is none, or where it lies outside the skill."""
    folder = Path(skill.folder).resolve()
    real = (folder / path).resolve() if "\0" not in path else None
    if real is None or not real.is_relative_to(folder):
        raise SkillError(f"{path[:200]} lies outside the skill {skill.name}.")
    try:
        return read_resolved(real, LARGEST).decode("utf-8")
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise SkillError(
                f"{path[:200]} of the skill {skill.name} is larger than {LARGEST} bytes."
            ) from error
        near = nearest(path, files_of(skill))
        hint = f"did you mean {near[0]}?" if near else "skill_view without file_path lists its files."
        raise SkillError(f"The skill {skill.name} has no file {path[:200]!r}; {hint}") from error
    except UnicodeDecodeError as error:
        raise SkillError(
            f"{path[:200]} of the skill {skill.name} is no text; it lies at {real} for programs."
        ) from error
