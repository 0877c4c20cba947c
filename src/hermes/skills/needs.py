"""What a skill needs and does not find: variables, programs, files."""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from hermes.skills.skill_file import Skill, SkillVariable


class Unmet(Struct, frozen=True, kw_only=True):
    """What is not there of what a skill needs; values are nowhere in it."""

    variables: tuple[SkillVariable, ...] = ()
    programs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names alone, for a list."""
        return (*(one.name for one in self.variables), *self.programs, *self.files)

    @property
    def sentences(self) -> tuple[str, ...]:
        """A few words for each."""
        return (
            *(f"the variable {one.name} is not set" for one in self.variables),
            *(f"the program {name} is not there" for name in self.programs),
            *(f"the file {path} is not there" for path in self.files),
        )


def unmet(skill: Skill, environ: Mapping[str, str], which: Callable[[str], object], home: Path) -> Unmet:
    """What a skill does not find in an environment, with programs that `which` finds; its files lie in a
    home unless they say otherwise.
    """
    return Unmet(
        variables=tuple(one for one in skill.variables if not environ.get(one.name)),
        programs=tuple(name for name in skill.programs if not which(name)),
        files=tuple(path for path in skill.credential_files if not _is_there(home, path)),
    )


def _is_there(home: Path, path: str) -> bool:
    try:
        return (home / Path(path).expanduser()).is_file()
    except (OSError, ValueError, RuntimeError):  # no path at all, or nobody's folder
        return False
