"""A goal without a screen: turn after turn until it is reached, and an exit code that says whether it was."""

from collections.abc import Sequence

import anyio

from hermes.agent import goals
from hermes.agent.session import Session
from hermes.apps.cli.jsonlines import JsonLines
from hermes.apps.cli.oneshot import BLOCKED, CODES, interrupt_on_signal, one_turn
from hermes.apps.cli.steps import Steps
from hermes.types.event import GoalChanged, TurnFinished
from hermes.types.goal import Goal
from hermes.types.message import Attachment


async def pursue(
    session: Session, text: str, consumer: JsonLines | Steps, attachments: Sequence[Attachment] = ()
) -> tuple[TurnFinished, int]:
    """Work on this goal, or without words on the one that waits; the last turn's end, and the exit code."""
    words = await (goals.begin(session, text) if text.strip() else goals.go_on(session))
    return await work_on(session, words, consumer, attachments)


async def work_on(
    session: Session, words: str, consumer: JsonLines | Steps, attachments: Sequence[Attachment] = ()
) -> tuple[TurnFinished, int]:
    """Work on a goal that has begun, at first with these words; the last turn's end, and the exit code."""
    end = await one_turn(session, words, consumer, attachments)
    scope = anyio.CancelScope()
    while words := await _judged(session, end, scope):
        consumer.feed(GoalChanged(goal=session.goal))
        end = await one_turn(session, words, consumer)
        scope = anyio.CancelScope()
    consumer.feed(GoalChanged(goal=session.goal))
    return end, CODES["interrupted"] if scope.cancel_called else _code(end, session.goal)


async def _judged(session: Session, end: TurnFinished, scope: anyio.CancelScope) -> str:
    """The message of the next turn; a signal pauses the goal."""
    async with anyio.create_task_group() as group:
        await group.start(interrupt_on_signal, scope.cancel)
        words = await goals.after_turn(session, end, scope)
        group.cancel_scope.cancel()
    return words


def _code(end: TurnFinished, goal: Goal | None) -> int:
    """0 only for a goal that is reached; a last turn that did not go well says why it is not."""
    if goal is not None and goal.state == "done":
        return 0
    if end.outcome != "done":
        return CODES[end.outcome]
    if goal is None or goal.state == "blocked":
        return BLOCKED
    return CODES["budget"] if goal.turns >= goal.limit else CODES["failed"]
