"""The commands on what may change: nothing in plan mode, and edits ask first where a person wants it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from hermes.agent.change_mode import ChangeMode
from hermes.commands.context import CommandContext, opened

if TYPE_CHECKING:
    from hermes.agent.session import Session

BEGUN = "Plan mode: nothing may change now; the model looks and says what it would do. /plan ends it."
ASKING = "Edits ask: each change by write_file and patch is shown first. Shift-Tab or /edits goes on."
FREE = "Edits of the workspace are free: write_file and patch ask no longer."
ENDED = "Plan mode is over: changes are allowed again, as before."
_TOLD: Final[Mapping[str, str]] = {"free": FREE, "ask": ASKING, "plan": BEGUN}


async def plan(talk: CommandContext, argument: str) -> None:
    """Begin or end plan mode; with words, begin it and send them."""
    session = opened(talk)
    planning = bool(argument) or not session.mode.planning
    await session.change_mode(replace(session.mode, planning=planning))
    talk.notice(BEGUN if planning else ENDED)
    if argument:
        talk.send(argument)


async def edits(talk: CommandContext, argument: str) -> None:
    """Go on to a mode, the next one unless it is named; after the last the first comes again."""
    session = opened(talk)
    modes = _modes(session)
    wanted = argument or modes[(modes.index(_mode(session)) + 1) % len(modes)]
    if wanted not in modes:
        talk.notice(f"There is no mode {wanted} here; there are {', '.join(modes)}.")
        return
    await session.change_mode(ChangeMode(planning=wanted == "plan", asks_edits=wanted == "ask"))
    talk.notice(_TOLD[wanted])


def _modes(session: "Session") -> tuple[str, ...]:
    """What may be chosen: where nothing asks, edits do not either."""
    policy = session.environment.gate.policy
    return ("free", "plan") if policy.yolo or policy.mode == "off" else ("free", "ask", "plan")


def _mode(session: "Session") -> str:
    if session.mode.planning:
        return "plan"
    return "ask" if session.asks_edits and "ask" in _modes(session) else "free"
