"""Commands on what the model sees of a long session: compress, expand, pin, unpin."""

from hermes.commands.context import CommandContext, opened
from hermes.tools.log_entries import entry_range, words
from hermes.types.error import HermesError


async def compress(talk: CommandContext, argument: str) -> None:
    """Sum up the older messages now, mostly about a topic if one is given."""
    entry = await opened(talk).compact(argument)
    if entry is None:
        talk.tell("There is nothing to sum up yet: the last messages stay as they are.")


async def expand(talk: CommandContext, argument: str) -> None:
    """Show entries of the log word for word."""
    found, log = entry_range(argument), opened(talk).log
    if found is None or not 1 <= found[0] <= len(log):
        raise HermesError(f"/expand takes a number or a range from 1 to {len(log)}, such as /expand 3-5.")
    first, last = found
    shown = enumerate(log[first - 1 : last], first)
    talk.tell("\n\n".join(f"**{number}** {words(one)}" for number, one in shown))


async def pin(talk: CommandContext, argument: str) -> None:
    """Keep a fact, or list those that are kept."""
    session = opened(talk)
    if argument:
        session.pin(argument)
        talk.tell("Pinned: the model is told with your next message, and keeps it.")
    elif session.pins:
        talk.tell("\n".join(f"{number}. {fact}" for number, fact in enumerate(session.pins, 1)))
    else:
        talk.tell("Nothing is pinned; /pin FACT keeps one word for word.")


async def unpin(talk: CommandContext, argument: str) -> None:
    """Let a pinned fact go, by its number in the list."""
    session = opened(talk)
    pins = session.pins
    if not argument.isdecimal() or not 1 <= int(argument) <= len(pins):
        raise HermesError(f"/unpin takes the number of one of the {len(pins)} pinned facts; /pin lists them.")
    session.mailbox.unpin(pins[int(argument) - 1])
    talk.tell("It is not pinned any more.")
