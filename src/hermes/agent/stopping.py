"""How a turn is stopped, and the words that tell so in the log."""

import re
from typing import Final

import anyio

from hermes.lib.text import for_terminal, mend_surrogates

STOPPED: Final = "(stopped by the user)"
WHY: Final = "(stopped by the user: {})"
_BRACKETS: Final = str.maketrans("()", "[]")
_LAST: Final = re.compile(r"\(stopped by the user(?:: [^\n]*)?\)\Z")


class TurnStop:
    """The way to stop one turn, and why somebody did."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.reason = ""
        self.refused = False
        """Whether what was said is not kept."""

    def now(self, reason: str = "") -> None:
        """Stop the turn; of several reasons the first counts."""
        self.reason = self.reason or _in_brackets(reason)
        self.scope.cancel()

    def refuse(self, reason: str) -> None:
        """Stop the turn, and keep nothing of what was said where that is not kept yet."""
        self.refused = True
        self.now(reason)

    @property
    def words(self) -> str:
        """What stands in the log where the reply would."""
        return WHY.format(self.reason) if self.reason else STOPPED


def _in_brackets(reason: str) -> str:
    """A reason as one line that no bracket in it ends."""
    return for_terminal(" ".join(mend_surrogates(reason).split())).translate(_BRACKETS).strip()


def without_stop(text: str) -> str:
    """The text of a reply without the words that stand for a stop."""
    return _LAST.sub("", text).strip()
