"""The command on the notes of a folder: whether they count for what a model is told."""

from typing import TYPE_CHECKING, Final

from hermes.commands.context import CommandContext, opened

if TYPE_CHECKING:
    from hermes.agent.session import Session

COUNT: Final = "Notes for agents in {} count, in each session that is begun from now on; /new begins one."
LEFT_OUT: Final = (
    "Notes for agents in {} are left out, in each session that is begun from now on; /trust yes changes that."
)
NOW: Final = (
    "The notes of this folder for agents are left out: no model is told of them. /trust yes changes that."
)


async def trust(talk: CommandContext, argument: str) -> None:
    """Keep an answer about the notes of this folder, or tell the one that holds."""
    session = opened(talk)
    found, cwd = session.services.trust, session.spec.cwd
    if argument not in {"", "yes", "no"}:
        talk.warn("/trust takes yes or no.")
        return
    if argument:
        found.keep(cwd, counts=argument == "yes")
    talk.notice((COUNT if found.counts(cwd) else LEFT_OUT).format(found.top(cwd)))


def tell_left_out(talk: CommandContext, session: "Session") -> None:
    """Say in one line that a session is not told of notes that are there."""
    if session.services.trust.has_notes(session.spec.cwd):
        talk.notice(NOW)
