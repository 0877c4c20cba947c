"""What a session that is opened again has lost meanwhile: its folder, such as a worktree that was removed,
and children that were at work.
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


def losses(session: "Session", terminal: TerminalSettings) -> Iterator[str]:
    """What its user is told of it."""
    if terminal.backend == "local" and not session.spec.cwd.is_dir():
        yield GONE.format(session.spec.cwd)
    if children := session.mailbox.waiting("child"):
        yield UNHEARD.format("A child" if children == 1 else f"{children} children")
