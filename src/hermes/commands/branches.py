"""Commands on branches of a session: branch, rewind, branches."""

from typing import Final

from hermes.agent.branching import branch as begin_branch
from hermes.commands.context import CommandContext, idle, opened
from hermes.present.session_tree import family, session_tree
from hermes.types.error import HermesError
from hermes.types.message import User

_MOST: Final = 1_000


async def branch(talk: CommandContext, argument: str) -> None:
    """Go on in a new session that begins with all of this one."""
    idle(talk)
    session = opened(talk)
    row = await begin_branch(session, turns=session.turns, title=argument)
    await talk.open(resume=row.id)
    talk.tell(f"This is a branch. `/resume {session.id}` goes back to where it began; `/branches` shows all.")


async def rewind(talk: CommandContext, argument: str) -> None:
    """Go back to before a turn, in a new session, and put what was said then back into the input."""
    idle(talk)
    session = opened(talk)
    said = [one.text for one in session.log if isinstance(one, User)]
    if not argument.isdecimal() or not 1 <= int(argument) <= len(said):
        raise HermesError(f"/rewind takes the number of one of the {len(said)} turns of this session.")
    turn = int(argument)
    if turn > 1:
        row = await begin_branch(session, turns=turn - 1)
        await talk.open(resume=row.id)
    else:
        await talk.open()
    talk.tell(f"This is as it was before turn {turn}; files stay. All turns are in `/resume {session.id}`.")
    talk.edit(said[turn - 1])


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
