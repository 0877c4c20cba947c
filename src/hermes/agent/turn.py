"""The turn: the page that everybody reads first."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from hermes.agent.budget import Step
from hermes.types.event import Outcome
from hermes.types.message import Assistant, Message, ToolCall

FAULTY_LIMIT = 3
EMPTY = "(The model gave an empty reply.)"


class Conversation(Protocol):
    """What a turn needs of a session."""

    @property
    def budget(self) -> Iterable[Step]:
        """The steps the turn may take; the last one is the grace step."""

    def append(self, message: Message) -> None:
        """Store a message, then let it be seen."""

    def say(self, text: str) -> None:
        """Append words of the assistant that no model wrote."""

    def summary(self) -> str:
        """Words for a turn whose steps are used up."""

    async def reply(self, step: Step) -> Assistant:
        """One reply of the model."""

    async def run_calls(self, calls: tuple[ToolCall, ...]) -> None:
        """Run calls and append an answer to each."""


async def run_turn(session: Conversation) -> Outcome:
    """From the user's words, which are in the log, to a stored answer. Every way out but an exception ends in words."""
    faulty = 0
    for step in session.budget:
        reply = await _reply(session, step)
        session.append(reply)
        if not reply.calls:
            return "budget" if step.grace else "done"
        await session.run_calls(reply.calls)
        faulty = faulty + 1 if all(call.fault for call in reply.calls) else 0
        if faulty == FAULTY_LIMIT:
            session.say(f"(Stopped: the model wrote {FAULTY_LIMIT} replies in a row whose calls could not be read.)")
            return "failed"
    raise AssertionError("the grace step has no calls")


async def _reply(session: Conversation, step: Step) -> Assistant:
    """One reply; an empty one is asked for once more, and in the grace step calls are left out for words."""
    reply = await session.reply(step)
    if not reply.text.strip() and not reply.calls:
        reply = await session.reply(step)
    if step.grace:
        reply = replace(reply, calls=(), text=reply.text.strip() or session.summary(), stop="end")
    if not reply.text.strip() and not reply.calls:
        reply = replace(reply, text=EMPTY)
    return reply
