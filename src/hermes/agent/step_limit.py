"""How many model calls a turn may make, and those for its closing words when they are used up."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from hermes.types.message import ToolCall

OVER_LIMIT: Final = "This call was not run: the model calls of this turn are used up."
LIMIT_WORDS: Final[Mapping[str, str]] = {
    "last": "The model calls of this turn are used up. Answer now from what you know; no call is run now.",
    "grace": (
        "Nothing more is run in this turn. Write a summary in words: what was done, what was found, what"
        " is left to do."
    ),
}
"""What the model is told with the results of such a step; the request's prefix stays as it was."""


SCRIPTS: Final = "execute_code"


def only_scripts(calls: Sequence[ToolCall]) -> bool:
    """Whether a reply calls nothing but scripts: such a step is given back."""
    return bool(calls) and all(call.name == SCRIPTS for call in calls)


class Step(Struct, frozen=True):
    """One model call of a turn, counted from 1.

    After the `last` one whose calls are run comes a `grace` step: its calls are answered and not run. If it
    had some, a `summary` is asked for, whose calls are left out.
    """

    number: int
    kind: Literal["plain", "last", "grace", "summary"] = "plain"

    @property
    def closing(self) -> bool:
        """Whether no call of its reply is run."""
        return self.kind in {"grace", "summary"}


class StepLimit(Struct):
    """The steps of one turn, after those that were `taken` before it was cut; once it is `halted` only those
    for closing words follow. As many as the limit may be given back.
    """

    max_steps: int = 90
    halted: bool = False
    taken: int = 0
    refunded: int = 0

    def refund(self) -> None:
        """Let the step that runs not count."""
        self.refunded = min(self.refunded + 1, self.max_steps)

    def __iter__(self) -> Iterator[Step]:
        number = self.taken + 1
        while number - self.refunded < self.max_steps and not self.halted:
            yield Step(number)
            number += 1
        if not self.halted and number - self.refunded <= self.max_steps:
            yield Step(number, "last")
            number += 1
        yield Step(number, "grace")
        yield Step(number + 1, "summary")
