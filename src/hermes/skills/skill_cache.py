"""What front matters say, kept on disk: to read fifty of them takes 100 ms, to look at their times 1 ms."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hermes.lib.files import write_atomic
from hermes.lib.small_files import read_small
from hermes.skills.skill_file import Skill, load
from hermes.types.error import SkillError

Stamp = tuple[int, int]
"""Time of the last change (nanoseconds) and size (bytes)."""
_FORM: Final = 2


class _CachedSkill(Struct, frozen=True):
    stamp: Stamp
    skill: Skill | None
    why: str = ""


class _CachedSkills(Struct, frozen=True):
    form: int = _FORM
    rows: dict[str, _CachedSkill] = {}


class SkillCache:
    """Skills by the paths of their SKILL.md; a damaged or old file is made anew."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._kept: dict[str, _CachedSkill] | None = None

    def read(
        self, stamps: Mapping[str, Stamp], category: Callable[[Path], str]
    ) -> dict[str, tuple[Skill | None, str]]:
        """The skill of each path, or why there is none, in the same order."""
        kept = self._load() if self._kept is None else self._kept
        rows = {path: self._row(kept.get(path), path, stamp, category) for path, stamp in stamps.items()}
        if rows != kept:
            self._save(rows)
        self._kept = rows
        return {path: (row.skill, row.why) for path, row in rows.items()}

    def _row(
        self, kept: _CachedSkill | None, path: str, stamp: Stamp, category: Callable[[Path], str]
    ) -> _CachedSkill:
        if kept is not None and kept.stamp == stamp:
            return kept
        try:
            return _CachedSkill(stamp, load(Path(path).parent, category(Path(path))))
        except (SkillError, OSError) as error:
            return _CachedSkill(stamp, None, str(error))

    def _load(self) -> dict[str, _CachedSkill]:
        with suppress(OSError, msgspec.DecodeError, msgspec.ValidationError):
            kept = msgspec.json.decode(read_small(self._file), type=_CachedSkills)
            if kept.form == _FORM:
                return kept.rows
        return {}

    def _save(self, rows: dict[str, _CachedSkill]) -> None:
        with suppress(OSError):  # a home that cannot be written has no cache
            write_atomic(self._file, msgspec.json.encode(_CachedSkills(rows=rows)))
