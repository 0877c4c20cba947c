"""The event union: everything that happens in a session, in order, on one stream."""

from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from hermes.types.error import Failure
from hermes.types.message import ContextBlock, Message, ToolCall
from hermes.types.question import Answer, Question
from hermes.types.usage import Usage

Outcome = Literal["done", "cut", "budget", "interrupted", "refused", "failed"]
"""How a turn ended. `cut`: its answer is not whole, or the provider's filter ended it. `refused`: it
answered, but an approval it needed was refused because nobody could be asked.
"""


class EventStamp(NamedTuple):
    """Where an event belongs: its session and turn, its number there, and when it was (epoch seconds).

    `parent` is the id of the session that started this one; empty for one that a person started.
    """

    session: str = ""
    turn: int = 0
    sequence: int = 0
    at: float = 0.0
    parent: str = ""


UNSTAMPED: Final = EventStamp()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stamped:
    """What every event carries; it is put on when the session emits the event, and two events that say the
    same are equal whenever they were.
    """

    stamp: EventStamp = field(default=UNSTAMPED, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(_Stamped):
    """A turn began; `turn` counts from 1 in the session."""

    turn: int
    kind: Literal["turn_started"] = "turn_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted(_Stamped):
    """A model call began: `step` counts from 1 in the turn."""

    step: int
    model: str
    kind: Literal["step_started"] = "step_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(_Stamped):
    """More of the answer's text."""

    text: str
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta(_Stamped):
    """More of the model's reasoning."""

    text: str
    kind: Literal["thinking"] = "thinking"


@dataclass(frozen=True, slots=True, kw_only=True)
class Added(_Stamped):
    """A message was stored and is part of the log now."""

    message: Message
    kind: Literal["added"] = "added"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(_Stamped):
    """A call began to run."""

    call: ToolCall
    emoji: str
    kind: Literal["tool_started"] = "tool_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress(_Stamped):
    """Output of a running call, as it comes."""

    call_id: str
    text: str
    kind: Literal["tool_progress"] = "tool_progress"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished(_Stamped):
    """A call ended; its result follows as `Added`, in call order."""

    call_id: str
    seconds: float
    failed: bool
    kind: Literal["tool_finished"] = "tool_finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(_Stamped):
    """The session waits for `session.answer(id, …)` from `to` (an actor's origin), until `expires`.

    `expires` is in epoch seconds; 0 is without end.
    """

    id: str
    question: Question
    to: str = ""
    expires: float = 0.0
    kind: Literal["asked"] = "asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(_Stamped):
    """The question was answered, by a person, a policy or a rule."""

    id: str
    answer: Answer
    by: str
    kind: Literal["answered"] = "answered"


Action = Literal["done", "interrupted", "wait", "next_credential", "next_endpoint", "leave_out", "give_up"]
"""What follows a request: nothing, a pause, another key, another model, the same without what was refused, or
the end.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted(_Stamped):
    """A model request ended, well or not: every request made is one of these.

    `attempt` counts from 1 at one endpoint and key, `attempts` how many times it may be tried again.
    `failure` is None when it went well. `delay` is in seconds; `next` names the model, credential or part
    that `action` is about.
    """

    attempt: int
    attempts: int
    provider: str
    model: str
    seconds: float
    usage: Usage
    action: Action
    failure: Failure | None = None
    delay: float = 0.0
    next: str = ""
    kind: Literal["attempted"] = "attempted"

    @property
    def goes_on(self) -> bool:
        """Whether it failed and another request follows."""
        return self.failure is not None and self.action != "give_up"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyRestarted(_Stamped):
    """The reply was cut and began again in other words: the text of it that was shown so far is void."""

    void: str
    kind: Literal["reply_restarted"] = "reply_restarted"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixBroken(_Stamped):
    """The next request will not extend the one before it, for this reason.

    `cost` is what reading the prompt anew is estimated at, in US dollars; None where no price is known.
    """

    reason: str
    cost: float | None = None
    kind: Literal["prefix_broken"] = "prefix_broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(_Stamped):
    """Something a person should know."""

    level: Literal["info", "warning", "error"]
    text: str
    kind: Literal["notice"] = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Titled(_Stamped):
    """The session has a name now."""

    title: str
    kind: Literal["titled"] = "titled"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished(_Stamped):
    """The turn ended. `text` is the answer, `failure` is there when the model failed for good.

    `unsent` are the notes that came too late to reach the model: they are handed back to be sent, each with
    its source and id.
    """

    turn: int
    outcome: Outcome
    text: str
    usage: Usage
    seconds: float
    failure: Failure | None = None
    refused: tuple[str, ...] = ()
    unsent: tuple[ContextBlock, ...] = ()
    kind: Literal["turn_finished"] = "turn_finished"


Event = (
    TurnStarted
    | StepStarted
    | TextDelta
    | ThinkingDelta
    | Added
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | Asked
    | Answered
    | Attempted
    | ReplyRestarted
    | PrefixBroken
    | Notice
    | Titled
    | TurnFinished
)
