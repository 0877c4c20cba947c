"""Commands on branches of a session: branch, rewind, branches."""

from typing import TYPE_CHECKING, Final

from hermes.agent.branching import branch as begin_branch
from hermes.commands.context import CommandContext, idle, opened
from hermes.lib.visible import one_line
from hermes.present.session_tree import family, session_tree
from hermes.types.error import HermesError
from hermes.types.message import User

if TYPE_CHECKING:
    from hermes.agent.session import Session

_MOST: Final = 1_000
_ENDED: Final = (
    "Children that worked in the background for the session you left have ended with it ({}); what they had"
    " done stands."
)


async def branch(talk: CommandContext, argument: str) -> None:
    """Go on in a new session that begins with all of this one."""
    idle(talk)
    session = opened(talk)
    row = await begin_branch(session, turns=session.turns, title=argument)
    ended = await _end_children(session)
    await talk.open(resume=row.id)
    _pin_again(session.pins, opened(talk))
    talk.tell(f"This is a branch. `/resume {session.id}` goes back to where it began; `/branches` shows all.")
    _tell_ended(talk, ended)


async def rewind(talk: CommandContext, argument: str) -> None:
    """Go back to before a turn, in a new session, and put what was said then back into the input."""
    idle(talk)
    session = opened(talk)
    said = [one.text for one in session.log if isinstance(one, User) and one.begins_turn]
    if not argument.isdecimal() or not 1 <= int(argument) <= len(said):
        raise HermesError(f"/rewind takes the number of one of the {len(said)} turns of this session.")
    turn, row = int(argument), None
    if turn > 1:
        row = await begin_branch(session, turns=turn - 1)
    ended = await _end_children(session)
    await talk.open(resume=row.id if row else "")
    _pin_again(session.pins, opened(talk))
    talk.tell(f"This is as it was before turn {turn}; files stay. All turns are in `/resume {session.id}`.")
    _tell_ended(talk, ended)
    talk.edit(said[turn - 1])


def _pin_again(facts: tuple[str, ...], session: "Session") -> None:
    """Have what was pinned stay so, though the message that told of it is not in this session's log."""
    for fact in facts:
        if fact not in session.pins:
            session.pin(fact)


async def _end_children(session: "Session") -> list[str]:
    """End the children at work in a session that is left, before another one reads how they ended; their
    goals.
    """
    goals = [one.standing.goal for _, one in session.children.tree()]
    await session.children.close()
    return goals


def _tell_ended(talk: CommandContext, goals: list[str]) -> None:
    if goals:
        talk.tell(_ENDED.format(", ".join(f"`{one_line(goal)}`" for goal in goals)))


async def branches(talk: CommandContext, _argument: str) -> None:
    """The branches of this session, and those beside it."""
    session = opened(talk)
    rows = family(await talk.sessions.recent(limit=_MOST), session.id)
    if len(rows) < 2:  # itself
        talk.tell("This session has no branches; /branch makes one.")
        return
    lines = [
        f"{lines}{row.id}  {row.messages} messages  {row.title or row.first_text[:40]}"
        f"{'  ← this one' if row.id == session.id else ''}"
        for lines, row in session_tree(rows)
    ]
    talk.tell("\n".join(["```text", *(line.replace("`", "'") for line in lines), "```"]))
