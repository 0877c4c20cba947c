"""A goal of a session from turn to turn: set, judged, gone on with, paused, reached; kept as data of the
session.
"""

import re
from typing import Final

import anyio
import msgspec
from msgspec.structs import replace

from hermes.agent.goal_judge import judge
from hermes.agent.session import Session
from hermes.lib.text import mend_surrogates
from hermes.types.error import HermesError, ModelError, StoreError
from hermes.types.event import GoalChanged, TurnFinished
from hermes.types.goal import Goal

NONE: Final = "This session has no goal; /goal TEXT sets one."
LEFT: Final = "the session was closed meanwhile"
STOPPED: Final = "it was stopped"
PAUSED: Final = "the user paused it"
NOBODY: Final = "no model answered when the turn was to be judged (auxiliary.goal_judge)"
UNREADABLE: Final = "the judge gave no verdict that can be read (auxiliary.goal_judge names another model)"
SPENT: Final = "its {} turns are used, and it is not done: {}"
_LABEL = re.compile(
    r"(?:^|[\n;])\s*(outcome|verification|constraints|boundaries|stop[ _]when)\s*:", re.IGNORECASE
)
_FIRST: Final = """{contract}

(A standing goal, turn 1 of {limit} at most. Each turn is judged by what its calls show, and while the goal \
is not reached the next turn follows by itself. When you think it is reached, show it by calls in that same \
turn. If only the user can help, say what you need and end the turn.)"""
_NEXT: Final = """Go on with the standing goal, turn {turn} of {limit} at most:
{contract}

{reason}"""
_FOUND: Final = "Another model looked at your last turn and found (an assessment, not an order): {}"
_WAITED: Final = "It was {} ({}), and the user has it go on."


def parsed(text: str, limit: int) -> Goal:
    """The goal that a person wrote, with the parts of its contract where they are named: `verification: …`
    and the like, each on a line of its own or after a semicolon. HermesError when it says no outcome.
    """
    head, *rest = _LABEL.split(mend_surrogates(text))
    parts = {"outcome": head.strip()}
    for label, words in zip(rest[::2], rest[1::2], strict=True):
        name = label.lower().replace(" ", "_")
        parts[name] = " ".join(filter(None, (parts.get(name, ""), words.strip())))
    if not parts["outcome"]:
        raise HermesError("A goal needs words: what is there when it is reached?")
    return msgspec.convert({**parts, "limit": limit}, Goal)


def left(kept: str) -> Goal:
    """The goal of a session that is opened again: one that was pursued waits for a person."""
    try:
        goal = msgspec.json.decode(kept, type=Goal)
    except msgspec.DecodeError:
        return Goal(
            outcome="(unknown)", state="blocked", reason="what was kept of it cannot be read; set it anew"
        )
    return replace(goal, state="paused", reason=LEFT) if goal.state == "active" else goal


def contract(goal: Goal) -> str:
    """What is to be reached, part by part, in words."""
    named = {name.replace("_", " ").capitalize(): text for name, text in goal.contract.items()}
    outcome = named.pop("Outcome")
    return "\n".join([outcome, *(f"{name}: {text}" for name, text in named.items())])


def message(goal: Goal) -> str:
    """What the session is told for the next turn of its goal, after a turn that was judged."""
    return _told(goal, _FOUND.format(goal.reason or "nothing yet"))


def _told(goal: Goal, reason: str) -> str:
    form = _NEXT if goal.turns else _FIRST
    return form.format(contract=contract(goal), turn=goal.turns + 1, limit=goal.limit, reason=reason)


async def begin(session: Session, text: str) -> str:
    """Give a session this goal, and the message of its first turn; HermesError when it says nothing."""
    goal = parsed(text, session.spec.goal_turns)
    await change(session, goal)
    return message(goal)


async def go_on(session: Session) -> str:
    """Pursue the goal that waits, with as many turns again where all were used, and give the message of its
    next turn. HermesError when none waits.
    """
    goal = session.goal
    if goal is None:
        raise HermesError(NONE)
    if goal.state in {"active", "done"}:
        raise HermesError(f"The goal is {goal.state}; there is nothing to resume.")
    limit = goal.limit + session.spec.goal_turns if goal.turns >= goal.limit else goal.limit
    again = replace(goal, state="active", limit=limit)
    await change(session, again)
    return _told(again, _WAITED.format(goal.state, goal.reason))


async def change(session: Session, goal: Goal | None) -> None:
    """Keep this as the session's goal, and tell whoever listens; None takes it away. StoreError when it
    cannot be kept: then nothing has changed.
    """
    kept, before = msgspec.json.encode(goal).decode() if goal else "", session.goal
    session.goal = goal  # at once: of two changes the later one holds, here as in the store
    try:
        await session.services.store.update(session.id, goal=kept)
    except StoreError:
        session.goal = before if session.goal is goal else session.goal
        raise
    session.emit(GoalChanged(goal=goal))


async def pause(session: Session, reason: str) -> None:
    """Have the goal wait for a person, if it is pursued."""
    if session.goal is not None and session.goal.state == "active":
        await change(session, replace(session.goal, state="paused", reason=reason))


async def after_turn(session: Session, end: TurnFinished, scope: anyio.CancelScope) -> str:
    """Judge the goal once a turn has ended, and give the message of the next turn; "" where none follows:
    there is no goal, it waits, is reached, or was changed by somebody meanwhile. The judge is asked in
    `scope`: cancelling that pauses the goal.
    """
    goal = session.goal
    if goal is None or goal.state != "active":
        return ""
    with scope:
        found = await _judged(session, goal, end)
    if scope.cancel_called:  # also where the answer came in the same moment
        found = replace(goal, state="paused", reason=STOPPED)
    if session.goal is not goal:
        return ""
    await change(session, found)
    return message(found) if found.state == "active" else ""


async def _judged(session: Session, goal: Goal, end: TurnFinished) -> Goal:
    """The goal after a turn, one turn older."""
    older = replace(goal, turns=goal.turns + 1)
    if end.outcome == "interrupted":
        return replace(older, state="paused", reason=STOPPED)
    if end.outcome == "failed" or end.failure is not None:
        why = end.failure.message if end.failure else end.text
        return replace(older, state="paused", reason=f"the turn failed: {mend_surrogates(why)}")
    try:
        found = await judge(session, goal)
    except ModelError as error:
        return replace(older, state="paused", reason=str(error))
    if found is None or found == "unreadable":
        return replace(older, state="paused", reason=UNREADABLE if found else NOBODY)
    if found.verdict != "continue":
        return replace(older, state=found.verdict, reason=found.reason)
    if older.turns >= older.limit:
        return replace(older, state="paused", reason=SPENT.format(older.limit, found.reason))
    return replace(older, reason=found.reason)
