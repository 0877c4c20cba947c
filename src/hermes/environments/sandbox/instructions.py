"""Which files of a workspace agents take as instructions, for sandboxes in which these must not change."""

from functools import cached_property
from typing import Final

from hermes.config.instruction_files import at_top, below


class Instructions:
    """Those in the folders `tops`: `top` there or not, `fixed` also what lay deeper at the first look, since
    a walk through a workspace takes too long for each command.
    """

    def __init__(self, tops: tuple[str, ...]) -> None:
        self._tops = tops
        self.top: Final = tuple(path for top in tops for path in at_top(top))

    @cached_property
    def fixed(self) -> tuple[str, ...]:
        """What a command must find read-only, as far as it is there."""
        return (*self.top, *(path for top in self._tops for path in below(top)))
