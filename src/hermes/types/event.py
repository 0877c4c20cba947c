"""The event union: everything that happens in a session, in order, on one stream."""

from dataclasses import dataclass
from typing import Literal

from hermes.types.error import Failure
from hermes.types.message import Message, ToolCall
from hermes.types.question import Answer, Question
from hermes.types.usage import Usage

Outcome = Literal["done", "budget", "interrupted", "refused", "failed"]
"""How a turn ended. `refused`: it answered, but an approval it needed was refused because nobody could be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """A turn began; `turn` counts from 1 in the session."""

    turn: int
    kind: Literal["turn_started"] = "turn_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    """A model call began: `step` counts from 1 in the turn."""

    step: int
    model: str
    kind: Literal["step_started"] = "step_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """More of the answer's text."""

    text: str
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta:
    """More of the model's reasoning."""

    text: str
    kind: Literal["thinking"] = "thinking"


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """A message was stored and is part of the log now."""

    message: Message
    kind: Literal["added"] = "added"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """A call began to run."""

    call: ToolCall
    emoji: str
    kind: Literal["tool_started"] = "tool_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress:
    """Output of a running call, as it comes."""

    call_id: str
    text: str
    kind: Literal["tool_progress"] = "tool_progress"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A call ended; its result follows as `Added`, in call order."""

    call_id: str
    seconds: float
    failed: bool
    kind: Literal["tool_finished"] = "tool_finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The session waits for `session.answer(id, …)`."""

    id: str
    question: Question
    kind: Literal["asked"] = "asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The question was answered, by a person, a policy or a rule."""

    id: str
    answer: Answer
    by: str
    kind: Literal["answered"] = "answered"


Action = Literal["done", "interrupted", "wait", "next_credential", "next_endpoint", "leave_out", "give_up"]
"""What follows a request: nothing, a pause, another key, another model, the same without what was refused, or the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted:
    """A model request ended, well or not: every request made is one of these.

    `attempt` counts from 1 at one endpoint and key, `attempts` how many times it may be tried again. `failure` is None when it went well.
    `delay` is in seconds; `next` names the model, credential or part that `action` is about.
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
class ReplyRestarted:
    """The reply was cut and began again in other words: the text of it that was shown so far is void."""

    void: str
    kind: Literal["reply_restarted"] = "reply_restarted"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixBroken:
    """The next request will not extend the one before it, for this reason.

    `cost` is what reading the prompt anew is estimated at, in US dollars; None where no price is known.
    """

    reason: str
    cost: float | None = None
    kind: Literal["prefix_broken"] = "prefix_broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something a person should know."""

    level: Literal["info", "warning", "error"]
    text: str
    kind: Literal["notice"] = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Titled:
    """The session has a name now."""

    title: str
    kind: Literal["titled"] = "titled"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished:
    """The turn ended. `text` is the answer, `failure` is there when the model failed for good."""

    turn: int
    outcome: Outcome
    text: str
    usage: Usage
    seconds: float
    failure: Failure | None = None
    refused: tuple[str, ...] = ()
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
