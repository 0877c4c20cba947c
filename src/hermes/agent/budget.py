"""How many model calls a turn may make, and the grace step when they are used up."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One model call of a turn, counted from 1; the grace step offers no tools."""

    number: int
    grace: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """The steps of one turn."""

    max_steps: int = 90

    def __iter__(self) -> Iterator[Step]:
        for number in range(1, self.max_steps + 1):
            yield Step(number)
        yield Step(self.max_steps + 1, grace=True)
