"""The event union: everything that happens in a session, in order, on one stream."""

from typing import ClassVar, Final, Literal

from msgspec import Struct

from hermes.lib.abridged import Abridged
from hermes.types.delegation import ChildState
from hermes.types.error import Failure
from hermes.types.goal import Goal
from hermes.types.message import ContextBlock, Message, ToolCall, ToolResult
from hermes.types.question import Answer, Question
from hermes.types.usage import Usage

Outcome = Literal["done", "cut", "budget", "interrupted", "refused", "failed"]
"""How a turn ended. `cut`: its answer is not whole, or the provider's filter ended it. `refused`: it
answered, but something that it needed was refused: nobody could be asked, or nothing can allow it.
"""
NEVER: Final = " (never allowed)"
"""What follows a refused action that no answer and no setting allows."""
PLANNED: Final = " (plan mode)"
"""What follows a refused action that plan mode kept back."""


class EventStamp(Struct, frozen=True, array_like=True, gc=False):
    """Where an event belongs: its session and turn, its number there, and when it was (epoch seconds).

    `parent` is the id of the session that started this one; empty for one that a person started.
    """

    session: str = ""
    turn: int = 0
    sequence: int = 0
    at: float = 0.0
    parent: str = ""


UNSTAMPED: Final = EventStamp()


class _Stamped(Abridged, Struct, frozen=True, kw_only=True, gc=False):
    """What every event carries; it is put on when the session emits the event, and two events that say the
    same are equal whenever they were.
    """

    unshown: ClassVar = ("stamp",)

    stamp: EventStamp = UNSTAMPED

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._said() == other._said()

    def __hash__(self) -> int:
        return hash(self._said())

    def _said(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name != "stamp")


class TurnStarted(_Stamped, frozen=True, kw_only=True):
    """A turn began; `turn` counts from 1 in the session."""

    turn: int
    kind: Literal["turn_started"] = "turn_started"


class StepStarted(_Stamped, frozen=True, kw_only=True):
    """A model call began: `step` counts from 1 in the turn."""

    step: int
    model: str
    kind: Literal["step_started"] = "step_started"


class TextDelta(_Stamped, frozen=True, kw_only=True):
    """More of the answer's text."""

    text: str
    kind: Literal["text"] = "text"


class ThinkingDelta(_Stamped, frozen=True, kw_only=True):
    """More of the model's reasoning."""

    text: str
    kind: Literal["thinking"] = "thinking"


class Added(_Stamped, frozen=True, kw_only=True):
    """A message was stored and is part of the log now."""

    message: Message
    kind: Literal["added"] = "added"


class ToolStarted(_Stamped, frozen=True, kw_only=True):
    """A call began to run; one that a script makes has the id of the script's call as `parent`."""

    call: ToolCall
    emoji: str
    parent: str = ""
    kind: Literal["tool_started"] = "tool_started"


class ToolProgress(_Stamped, frozen=True, kw_only=True):
    """Output of a running call, as it comes."""

    call_id: str
    text: str
    kind: Literal["tool_progress"] = "tool_progress"


class ToolFinished(_Stamped, frozen=True, kw_only=True):
    """A call ended with `result`, which follows as `Added` in call order, unless a script made the call.

    It may be without what rides on a result; None where who tells of the call has none. `diff` is what the
    call changed, for people, where its result does not say that. `seconds` are the call's own, without the
    time in which it waited for an answer to a question.
    """

    call_id: str
    seconds: float
    failed: bool
    result: ToolResult | None = None
    diff: str = ""
    kind: Literal["tool_finished"] = "tool_finished"


class Asked(_Stamped, frozen=True, kw_only=True):
    """The session waits for `session.answer(id, …)` from `to` (an actor's origin), until `expires`.

    `expires` is in epoch seconds; 0 is without end. Where `decided` says who has answered already (`policy`,
    a checkpoint, a model), nobody waits: `Answered` follows, and no answer of yours counts.
    """

    id: str
    question: Question
    decided: str = ""
    to: str = ""
    expires: float = 0.0
    kind: Literal["asked"] = "asked"


class Answered(_Stamped, frozen=True, kw_only=True):
    """The question was answered, by a person, a policy or a rule."""

    id: str
    answer: Answer
    by: str
    kind: Literal["answered"] = "answered"


Action = Literal["done", "interrupted", "wait", "next_credential", "next_endpoint", "leave_out", "give_up"]
"""What follows a request: nothing, a pause, another key, another model, the same without what was refused, or
the end.
"""


class Attempted(_Stamped, frozen=True, kw_only=True):
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


class ReplyRestarted(_Stamped, frozen=True, kw_only=True):
    """The reply was cut and began again in other words: the text of it that was shown so far is void."""

    void: str
    kind: Literal["reply_restarted"] = "reply_restarted"


class PrefixBroken(_Stamped, frozen=True, kw_only=True):
    """The next request will not extend the one before it, for this reason.

    `cost` is what reading the prompt anew is estimated at, in US dollars; None where no price is known.
    """

    reason: str
    cost: float | None = None
    kind: Literal["prefix_broken"] = "prefix_broken"


class CompactionStarted(_Stamped, frozen=True, kw_only=True):
    """The older part of the conversation is being summed up, which may take as long as a reply; the entry
    follows as `Added`, unless a person or a server asked for it and nothing could be left out.

    `tokens` is what the last request and its reply took, 0 before the first.
    """

    tokens: int = 0
    kind: Literal["compaction_started"] = "compaction_started"


class Notice(_Stamped, frozen=True, kw_only=True):
    """Something a person should know."""

    level: Literal["info", "warning", "error"]
    text: str
    kind: Literal["notice"] = "notice"


class ChildChanged(_Stamped, frozen=True, kw_only=True):
    """A child that this session started waits, does something else than before, or has ended.

    `child` is its session's id, `call_id` the call that started it; `doing` is in a few words, `tokens` what
    it has used so far, `seconds` how long it has run.
    """

    call_id: str
    child: str
    goal: str
    state: ChildState
    doing: str = ""
    tokens: int = 0
    seconds: float = 0.0
    background: bool = False
    kind: Literal["child_changed"] = "child_changed"

    @property
    def has_ended(self) -> bool:
        """Whether nothing follows."""
        return self.state not in {"waiting", "running"}


class GoalChanged(_Stamped, frozen=True, kw_only=True):
    """The session's goal was set, judged, paused, resumed or reached; None when it was taken away."""

    goal: Goal | None
    kind: Literal["goal_changed"] = "goal_changed"


class Titled(_Stamped, frozen=True, kw_only=True):
    """The session has a name now."""

    title: str
    kind: Literal["titled"] = "titled"


class TurnFinished(_Stamped, frozen=True, kw_only=True):
    """The turn ended. `text` is the answer, `failure` is there when the model failed for good, `reason` where
    whoever stopped the turn said why.

    `unsent` are the notes that came too late to reach the model: they are handed back to be sent, each with
    its source and id.
    """

    turn: int
    outcome: Outcome
    text: str
    usage: Usage
    seconds: float
    failure: Failure | None = None
    reason: str = ""
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
    | CompactionStarted
    | Notice
    | ChildChanged
    | GoalChanged
    | Titled
    | TurnFinished
)
