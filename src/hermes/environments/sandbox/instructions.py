"""Which files of a workspace agents take as instructions, for sandboxes in which these must not change."""

import os
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Final

from hermes.config.instruction_files import at_top, below
from hermes.environments.sandbox.snapshot import on_the_way
from hermes.lib.walk import walk

_MOST: Final = 1_000


class Instructions:
    """Those in the folders `tops`: there or not at the top, and what lay deeper at the first look, since a
    walk through a workspace takes too long for each command.
    """

    def __init__(self, tops: tuple[str, ...]) -> None:
        self._tops = tops
        self._top: Final = tuple(path for top in tops for path in at_top(top))

    @cached_property
    def fixed(self) -> tuple[str, ...]:
        """What a command must find read-only, as far as it is there."""
        return (*self._top, *(path for top in self._tops for path in below(top)))

    @cached_property
    def watched(self) -> tuple[str, ...]:
        """What must be looked at afterwards: what was not there, and links, which nothing can cover."""
        links = (path for path in self.fixed if os.path.islink(path))  # noqa: PTH114  # words
        return tuple(dict.fromkeys(one for path in (*self._top, *links) for one in on_the_way(path)))

    def files(self) -> Iterator[str]:
        """All that is there now; of a folder of them its first thousand files."""
        for path in dict.fromkeys([*self.fixed, *self.watched]):
            yield path
            yield from islice((f"{at}/{name}" for at, _, names in walk(path) for name in names), _MOST)
