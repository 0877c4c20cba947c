"""The folder of a session that is gone when it is opened again: a worktree that was removed, say."""

from typing import TYPE_CHECKING, Final

from hermes.environments.settings import TerminalSettings

if TYPE_CHECKING:
    from hermes.agent.session import Session

GONE: Final = (
    "{}, where this session worked, is gone: no command of it runs until the folder is there again. A new"
    " session works in another one."
)


def lost_folder(session: "Session", terminal: TerminalSettings) -> str:
    """What a person is told where a session works in a folder of this machine that is gone; "" otherwise."""
    cwd = session.spec.cwd
    return "" if terminal.backend != "local" or cwd.is_dir() else GONE.format(cwd)
