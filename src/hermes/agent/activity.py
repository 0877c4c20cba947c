"""What a session does now: one record, made from its events and from nothing else."""

from collections.abc import Callable, Mapping
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.lib.text import clip, duration
from hermes.types.event import (
    Added,
    Answered,
    Asked,
    Attempted,
    CompactionStarted,
    Event,
    Notice,
    StepStarted,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from hermes.types.message import Assistant, Compaction, ToolCall

Phase = Literal["idle", "starting", "waiting", "thinking", "writing", "working", "summing_up"]
PHASES: Final[Mapping[Phase, str]] = {
    "idle": "idle",
    "starting": "starting",
    "waiting": "waiting for the model",
    "thinking": "thinking",
    "writing": "writing",
    "working": "working",
    "summing_up": "summing up older messages",
}
"""A phase in words."""
PAUSING: Final = "waiting to try the model again"
"""What a session does between a request that failed and the next one."""
CALL_WORDS: Final = 80
"""Characters that tell of a call."""


class RunningCall(Struct, frozen=True, kw_only=True):
    """A call that runs since `since`; its last output came at `output`, if it had any."""

    call: ToolCall
    since: float
    output: float | None = None


class Activity(Struct, frozen=True, kw_only=True):
    """What a session does, and how far its turn has come. Times are seconds of one clock.

    `phase` is what the model does, since `phase_since`; a request that failed is made again at `again`.
    `running` are the calls under way, `asked` the questions that wait, with since when. `heard` is when
    anything last happened, other than a notice. `began` is when the turn did; `step`, `requests` (those that
    ended) and `calls` are counted in it.
    """

    phase: Phase = "idle"
    phase_since: float = 0.0
    again: float = 0.0
    heard: float = 0.0
    began: float = 0.0
    step: int = 0
    requests: int = 0
    calls: int = 0
    running: tuple[RunningCall, ...] = ()
    asked: tuple[tuple[str, float], ...] = ()

    @property
    def since(self) -> float:
        """Since when it does what it does: a question comes before calls, and these before the model."""
        if self.asked:
            return self.asked[0][1]
        return self.running[0].since if self.running else self.phase_since

    @property
    def words(self) -> str:
        """What it does, in a few words."""
        if self.asked:
            return "waiting for an answer"
        if not self.running:
            return PHASES[self.phase]
        more = f" and {len(self.running) - 1} more" if len(self.running) > 1 else ""
        return f"running {call_in_words(self.running[0].call)}{more}"


def call_in_words(call: ToolCall) -> str:
    """A call with the first text of its arguments, in one line."""
    first = next((one for one in call.arguments.values() if isinstance(one, str)), "")
    return clip(" ".join(f"{call.name} {first}".split()), CALL_WORDS, notice="…")


def progress(activity: Activity, now: float) -> str:
    """What is done, for how long, and when anything was last heard: "running terminal make, 3m 00s, last
    output 20.0s ago".
    """
    told = [PAUSING if _pauses(activity, now) else activity.words, duration(now - activity.since)]
    if activity.asked:
        return ", ".join(told)
    if not activity.running:
        quiet = activity.phase in {"thinking", "writing"}
        return ", ".join([*told, f"last piece {duration(now - activity.heard)} ago"] if quiet else told)
    outputs = [one.output for one in activity.running if one.output is not None]
    last = f"last output {duration(now - max(outputs))} ago" if outputs else "no output yet"
    return ", ".join([*told, last])


def _pauses(activity: Activity, now: float) -> bool:
    return activity.phase == "waiting" and now < activity.again and not (activity.asked or activity.running)


def after(activity: Activity, event: Event, now: float) -> Activity:
    """The activity once the session's own `event` has happened, at `now`."""
    match event:
        case TextDelta():
            return _in_phase(activity, "writing", now)
        case ThinkingDelta():
            return _in_phase(activity, "thinking", now)
        case ToolStarted() | ToolProgress() | ToolFinished():
            return _with_call(activity, event, now)
        case Asked() | Answered():
            return _with_question(activity, event, now)
        case Attempted():
            follows = _in_phase(activity, "waiting", now) if event.goes_on else replace(activity, heard=now)
            made = activity.requests + event.usage.requests
            return replace(follows, requests=made, again=now + event.delay if event.delay else 0.0)
        case Added(message=Assistant() | Compaction()) if activity.phase != "idle":
            return _in_phase(activity, "working", now)
        case TurnStarted() | StepStarted() | CompactionStarted() | TurnFinished():
            return _gone_on(activity, event, now)
        case _:
            return replace(activity, heard=activity.heard if _says_nothing(activity, event) else now)


def _says_nothing(activity: Activity, event: Event) -> bool:
    """Whether an event is the program's own words; before the first step they tell of a model made ready."""
    return isinstance(event, Notice) and activity.phase != "starting"


def _gone_on(
    activity: Activity, event: TurnStarted | StepStarted | CompactionStarted | TurnFinished, now: float
) -> Activity:
    match event:
        case TurnStarted():
            return Activity(phase="starting", phase_since=now, heard=now, began=now)
        case StepStarted(step=step):
            return replace(activity, step=step, phase="waiting", phase_since=now, heard=now)
        case CompactionStarted():
            return _in_phase(activity, "summing_up", now)
        case TurnFinished():
            return at_rest(activity, now)


def _with_question(activity: Activity, event: Asked | Answered, now: float) -> Activity:
    if isinstance(event, Answered):
        asked = tuple(one for one in activity.asked if one[0] != event.id)
    else:
        asked = activity.asked if event.decided else (*activity.asked, (event.id, now))
    return replace(activity, asked=asked, heard=now)


def at_rest(activity: Activity, now: float) -> Activity:
    """The activity once nothing runs; what the last turn took stays."""
    return replace(activity, phase="idle", phase_since=now, heard=now, running=(), asked=())


def _in_phase(activity: Activity, phase: Phase, now: float) -> Activity:
    if activity.phase == phase:
        return replace(activity, heard=now)
    return replace(activity, phase=phase, phase_since=now, heard=now)


def _with_call(activity: Activity, event: ToolStarted | ToolProgress | ToolFinished, now: float) -> Activity:
    """With a call that began, said something or ended; the first of several is the one that began first."""
    if isinstance(event, ToolStarted):
        running = (*activity.running, RunningCall(call=event.call, since=now))
        return replace(activity, running=running, calls=activity.calls + 1, heard=now)
    if isinstance(event, ToolFinished):
        running = tuple(one for one in activity.running if one.call.id != event.call_id)
        return _in_phase(replace(activity, running=running), "working", now)
    running = tuple(
        replace(one, output=now) if one.call.id == event.call_id else one for one in activity.running
    )
    return replace(activity, running=running, heard=now)


class ActivityRecord:
    """The activity of a session, kept up to date by its events; those of its children are signs of life.

    `now` is the activity as it is; its times are seconds of `monotonic`.
    """

    def __init__(self, monotonic: Callable[[], float], session: str) -> None:
        self._monotonic, self._session = monotonic, session
        self.now = Activity(phase_since=monotonic(), heard=monotonic())

    def put(self, event: Event) -> None:
        """Hear an event."""
        now = self._monotonic()
        own = event.stamp.session == self._session
        self.now = after(self.now, event, now) if own else replace(self.now, heard=now)

    def rest(self) -> None:
        """Nothing runs from now on."""
        if self.now.phase != "idle":
            self.now = at_rest(self.now, self._monotonic())
