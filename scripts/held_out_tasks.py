"""Sixty small tasks that no prompt, example or rule was written with in view: twelve kinds of five, three of
them in English, one in German, one in French.
"""

from random import Random

from held_out_changes import CREATE, EDIT, MISSING, ORGANISE
from held_out_programs import FIX, PROGRAM, RUN, TALK
from held_out_reading import GIT, LOOKUP, MEASURE, TABLE
from task_parts import Task

SEED = 20261125
_MAKERS = (
    *MEASURE,
    *LOOKUP,
    *CREATE,
    *EDIT,
    *ORGANISE,
    *RUN,
    *TABLE,
    *GIT,
    *PROGRAM,
    *MISSING,
    *FIX,
    *TALK,
)


def held_out(seed: int) -> list[Task]:
    """The tasks with the values of that seed; those of one depend on no other."""
    return [make(Random(f"{seed} {make.__name__}")) for make in _MAKERS]  # noqa: S311


HELD_OUT = held_out(SEED)
