"""What the user of a session that is opened is told: what it has lost meanwhile, such as its folder or
children that were at work, notes that it cannot read, what it may not change, and a goal that waits.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from hermes.environments.settings import TerminalSettings

if TYPE_CHECKING:
    from hermes.agent.session import Session

GONE: Final = (
    "{}, where this session worked, is gone: no command of it runs until the folder is there again. A new"
    " session works in another one."
)
UNHEARD: Final = "{} of this session ended unheard; the model is told with the next message."
TOOLS_KEPT: Final = (
    "This session goes on with the tools that it began with, for its model's cache holds them: --toolsets"
    " (-t) counts for a new session."
)
CUT: Final = "{} of this session ended unheard; the model is told when the turn that was cut off goes on."
PLANS: Final = (
    "This session is in plan mode, as it was left: nothing may change until /plan ends it on the screen."
)
ASKS: Final = "Edits ask in this session, as it was left: /edits on the screen goes on to another mode."
WAITS: Final = (
    "A goal waits here: {}. /goal resume goes on with it (hermes -c --goal </dev/null without a screen),"
    " /goal clear lets it go."
)


def _told_of_cut(session: "Session") -> int:
    """How many children the answers to calls that were cut tell of."""
    last = session.log[-1] if session.is_cut else None
    return sum(block.kind == "child" for block in getattr(last, "blocks", ()))


def losses(session: "Session", terminal: TerminalSettings) -> Iterator[str]:
    """What its user is told of it."""
    if terminal.backend == "local" and not session.spec.cwd.is_dir():
        yield GONE.format(session.spec.cwd)
    if session.spec.model_lost:
        yield session.spec.model_lost
    if session.spec.tools_kept:
        yield TOOLS_KEPT
    yield from session.services.memory.faults()
    if told := _told_of_cut(session):
        yield CUT.format("A child" if told == 1 else f"{told} children")
    if children := session.mailbox.waiting("child"):
        yield UNHEARD.format("A child" if children == 1 else f"{children} children")
    if session.mode.planning:
        yield PLANS
    elif session.mode.asks_edits:
        yield ASKS
    goal = session.goal
    if goal is not None and goal.state in {"paused", "blocked"}:
        yield WAITS.format(" ".join(goal.outcome.split()))
