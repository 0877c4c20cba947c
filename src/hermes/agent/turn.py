"""The turn: the page that everybody reads first."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from hermes.agent.step_limit import Step
from hermes.types.error import Failure, ModelError
from hermes.types.event import Outcome
from hermes.types.message import Assistant, Message, ToolCall
from hermes.types.usage import Stop

FAULTY_LIMIT = 3
NOT_WHOLE: Mapping[Stop, str] = {
    "length": (
        "The answer is not whole: it was cut by the limit of the reply's length. Ask for the rest, or raise"
        " model.max_output or model.continuations."
    ),
    "refusal": "The provider's filter ended the answer: it may not be whole, or be a refusal.",
    "repetition": (
        "The answer was stopped because it repeated itself on and on. Ask in other words, or raise"
        " model.repetition_limit if that is what you wanted."
    ),
    "error": "The answer may not be whole: the provider ended it in an unknown way.",
}
"""What the user is told of a reply that ended so; it is never passed off as a whole one (invariant 35)."""


class TurnContext(Protocol):
    """What a turn needs of a session."""

    @property
    def steps(self) -> Iterable[Step]:
        """The steps the turn may take; the last one asks for a summary."""

    async def append(self, message: Message) -> None:
        """Store a message, then let it be seen."""

    async def say(self, text: str) -> None:
        """Append words of the assistant that no model wrote."""

    def warn(self, text: str) -> None:
        """Tell the user what the answer itself does not."""

    def summary(self) -> str:
        """Words for a turn whose steps are used up."""

    async def reply(self, step: Step) -> Assistant:
        """One reply of the model; where a summary is asked for, one without calls."""

    async def goes_on(self, reply: Assistant) -> bool:
        """Whether the turn goes on after a reply without calls, as something was added that asks for more."""

    async def run_calls(self, calls: tuple[ToolCall, ...], step: Step) -> None:
        """Run calls and append an answer to each; those of a closing step are answered only."""


async def run_turn(session: TurnContext) -> Outcome:
    """From the user's words, which are in the log, to a stored answer.

    Every way out but an exception ends in words; ModelError when the model's calls cannot be read.
    """
    faulty = 0
    for step in session.steps:
        try:
            reply = await session.reply(step)
        except ModelError as error:
            if not step.closing or error.failure.reason != "empty_reply":
                raise
            await session.say(session.summary())
            return "budget"
        await session.append(reply)
        if not reply.calls:
            if not step.closing and reply.stop not in NOT_WHOLE and await session.goes_on(reply):
                continue
            if reply.stop in NOT_WHOLE:
                session.warn(NOT_WHOLE[reply.stop])
            return "budget" if step.closing else "cut" if reply.stop in NOT_WHOLE else "done"
        await session.run_calls(reply.calls, step)
        faulty = faulty + 1 if all(call.fault for call in reply.calls) else 0
        if faulty == FAULTY_LIMIT:
            unreadable = f"The model wrote {FAULTY_LIMIT} replies in a row whose calls could not be used: "
            raise ModelError(Failure(reason="bad_reply", message=unreadable + reply.calls[0].fault))
    raise AssertionError("a summary has no calls")
