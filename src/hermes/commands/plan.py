"""The command on plan mode: nothing changes until the person ends it."""

from hermes.commands.context import CommandContext, opened

BEGUN = "Plan mode: nothing may change now; the model looks and says what it would do. /plan ends it."
ENDED = "Plan mode is over: changes are allowed again, as before."


async def plan(talk: CommandContext, argument: str) -> None:
    """Begin or end plan mode; with words, begin it and send them."""
    session = opened(talk)
    session.planning = bool(argument) or not session.planning
    talk.notice(BEGUN if session.planning else ENDED)
    if argument:
        talk.send(argument)
