"""The index of skills that stands in the prompt: the same skills give the same bytes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Final

from hermes.lib.text import clip
from hermes.skills.skill_file import Skill

_WIDTHS: Final = (160, 100, 70, 50, 36, 30)
"""Characters of a description: the most that all have room with."""
_ROOM: Final = 1_100
"""Characters of the whole index, some 275 tokens; where descriptions do not fit, names stand alone."""
_Form = Callable[[Sequence[Skill]], Iterable[str]]
_ELSEWHERE: Final = "other"


def index_text(skills: Sequence[Skill]) -> str:
    """A heading for each category and a line for each skill, as far as they have room; categories with the
    numbers of their skills where they have not.
    """
    forms: list[_Form] = [*(partial(_described, width) for width in _WIDTHS), _named]
    for line in forms:
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


def _lines(skills: Iterable[Skill], line: _Form) -> Iterable[str]:
    for name, found in categories(skills).items():
        yield f"{name}:"
        yield from line(found)


def _described(width: int, skills: Sequence[Skill]) -> Iterable[str]:
    for one in skills:
        yield f"- {one.name}: {clip(one.description, width, notice='…', head_share=1.0)}"


def _named(skills: Sequence[Skill]) -> Iterable[str]:
    yield f"- {', '.join(one.name for one in skills)}"
