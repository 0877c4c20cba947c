"""The index of skills that stands in the prompt: the same skills give the same bytes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

from hermes.lib.text import clip
from hermes.skills.skill_file import Skill

_LONGEST: Final = 160
_ROOM: Final = 8_000
"""Characters of the whole index, some 2,000 tokens; where descriptions do not fit, names stand alone."""
_ELSEWHERE: Final = "other"


def index_text(skills: Sequence[Skill]) -> str:
    """A heading for each category and a line for each skill, as far as they have room; categories with the
    numbers of their skills where they have not.
    """
    for line in (_described, _named):
        text = "\n".join(_lines(skills, line))
        if len(text) <= _ROOM:
            return text
    return categories_text(skills)


def categories_text(skills: Iterable[Skill]) -> str:
    """A line for each category: its name and how many skills it has."""
    return "\n".join(f"{name}: {len(found)}" for name, found in categories(skills).items())


def categories(skills: Iterable[Skill]) -> Mapping[str, list[Skill]]:
    """The skills by category, in the order of names."""
    ordered = sorted(skills, key=lambda one: (_category(one), one.name))
    return {name: list(found) for name, found in groupby(ordered, key=_category)}


def _category(skill: Skill) -> str:
    return skill.category or _ELSEWHERE


def _lines(skills: Iterable[Skill], line: Callable[[Sequence[Skill]], Iterable[str]]) -> Iterable[str]:
    for name, found in categories(skills).items():
        yield f"{name}:"
        yield from line(found)


def _described(skills: Sequence[Skill]) -> Iterable[str]:
    return (f"- {one.name}: {clip(one.description, _LONGEST)}" for one in skills)


def _named(skills: Sequence[Skill]) -> Iterable[str]:
    yield f"- {', '.join(one.name for one in skills)}"
