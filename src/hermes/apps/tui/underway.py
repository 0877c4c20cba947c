"""What is under way in a turn: its calls as they run and when they are done, and what the working line
tells.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from msgspec import Struct, field

from hermes.agent.activity import Activity
from hermes.lib.lazy import import_object
from hermes.lib.text import duration
from hermes.present.children import child_line
from hermes.present.lines import head_line, running_lines, tool_lines
from hermes.present.spans import Line, Span, line
from hermes.present.words import call_words
from hermes.types.event import (
    Added,
    Answered,
    Asked,
    Attempted,
    ChildChanged,
    CompactionStarted,
    Event,
    StepStarted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
)
from hermes.types.message import ToolCall, ToolResult
from hermes.types.usage import Usage

Movement = (
    TurnStarted
    | StepStarted
    | CompactionStarted
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | Asked
    | Attempted
)
"""What changes the working line and prints nothing by itself."""

KEPT_OUTPUT = 4000
_SHOWN_CALLS = 3
_INDENT = 6
_MINUTE = 60


class Running(Struct, kw_only=True):
    """A call between its start and its result; its children with when they were last heard of, and the calls
    that a script makes; of a command, the `program` that it runs first.
    """

    call: ToolCall
    emoji: str
    started: float
    program: str = ""
    output: str = ""
    children: dict[str, tuple[ChildChanged, float]] = field(default_factory=dict)
    calls: dict[str, "Running"] = field(default_factory=dict)
    seconds: float | None = None
    result: ToolResult | None = None
    diff: str = ""


class FinishedCall(Struct, frozen=True, kw_only=True):
    """A call whose line is in the scrollback; it can be shown whole."""

    call: ToolCall
    result: ToolResult
    seconds: float
    emoji: str
    diff: str = ""

    def lines(self, width: int, *, whole: bool = False) -> list[Line]:
        """The call as it stands in the scrollback, or `whole`."""
        return tool_lines(
            self.call, self.result, self.seconds, width, emoji=self.emoji, diff=self.diff, whole=whole
        )


class TurnProgress(Struct, kw_only=True):
    """What the running turn has done so far, for the working line.

    `readying` tells how a model is made ready before the first step.
    """

    readying: str = ""
    usage: Usage = field(default_factory=Usage)
    streamed: int = 0
    finished: list[FinishedCall] = field(default_factory=list)


def hear_call(
    running: dict[str, Running], event: ToolStarted | ToolProgress | ToolFinished, now: float
) -> None:
    """Note what became of a call; one that a script makes belongs to the script's."""
    if isinstance(event, ToolStarted):
        above = running.get(event.parent)
        calls = running if above is None else above.calls
        program = first_program(event.call)
        calls[event.call.id] = Running(call=event.call, emoji=event.emoji, started=now, program=program)
        return
    for calls in (running, *(one.calls for one in running.values())):
        if event.call_id not in calls:
            continue
        run = calls[event.call_id]
        if isinstance(event, ToolProgress):
            run.output = (run.output + event.text)[-KEPT_OUTPUT:]
        else:
            run.seconds, run.result, run.diff = event.seconds, event.result, event.diff


def pass_over_wait(running: Mapping[str, Running], activity: Activity, event: Event, now: float) -> None:
    """Put the clocks of calls forward by what a person took to answer the last open question, or has taken
    when a call is cut off that waits for it.
    """
    if not activity.asked:
        return
    for run in _let_go(running, activity, event):
        run.started += now - max(run.started, activity.asked[0][1])


def _let_go(running: Mapping[str, Running], activity: Activity, event: Event) -> list[Running]:
    """The calls that wait no longer after an event."""
    if isinstance(event, Answered) and [number for number, _ in activity.asked] == [event.id]:
        return at_work(running)
    if isinstance(event, Added) and isinstance(event.message, ToolResult):
        return [run for run in at_work(running) if run.call.id == event.message.call_id]
    return []


def held_up_by(waiting: ToolCall, calls: Iterable[str], running: Mapping[str, Running]) -> ToolCall | None:
    """The last call before one that waits, of those that run."""
    before = (running.get(name) for name in takewhile(lambda name: name != waiting.id, calls))
    return next((run.call for run in reversed(list(before)) if run is not None and run.seconds is None), None)


def at_work(running: Mapping[str, Running]) -> list[Running]:
    """The calls that have not ended."""
    return [run for run in running.values() if run.seconds is None]


def doing(calls: Sequence[Running]) -> str:
    """What calls do, for the working line; "" for none."""
    if len(calls) > 1:
        return f"running {len(calls)} calls"
    if not calls:
        return ""
    if calls[0].program:
        return f"running {calls[0].program}"
    words = call_words(calls[0].call)
    return f"{words.verb} {words.argument}".strip()


def first_program(call: ToolCall) -> str:
    """The first program of a command, whatever loop or condition it stands in; "" for other calls."""
    if call.name != "terminal":
        return ""
    grammar = import_object("hermes.safety.commands.grammar")  # loaded by now: the command was decided by it
    command = str(call.arguments.get("command") or "").strip()
    named = next(grammar.nodes(grammar.parse(command), "command_name"), None)
    return str(named.text, "utf-8", "replace") if named is not None else command.partition(" ")[0]


def printer(calls: Sequence[Running], turn: TurnProgress | None) -> str:
    """The tool that alone is at work, or was the last; "" for none."""
    if calls:
        return calls[0].call.name if len(calls) == 1 else ""
    return turn.finished[-1].call.name if turn is not None and turn.finished else ""


def ended_lines(run: Running, seconds: float, width: int) -> list[Line]:
    """A call that has ended and is not yet in the scrollback: how it ended, if that is known."""
    if run.result is None:
        return running_lines(run.call, "", seconds, width, emoji=run.emoji, spinner="ended")
    return tool_lines(run.call, run.result, seconds, width, emoji=run.emoji, diff=run.diff)


def inner_lines(run: Running, now: float, width: int, spinner: str) -> list[Line]:
    """A call with what goes on below it: its line, and one for each child or call of a script."""
    head = running_lines(run.call, "", now - run.started, width, emoji=run.emoji, spinner=spinner)
    return [*head, *inner_rows(run, now, width)]


def inner_rows(run: Running | None, now: float, width: int) -> list[Line]:
    """The children of a call, and the last calls that a script has made, in a line each."""
    if run is None:
        return []
    children = (
        child_line(one, now - began if one.state == "running" else one.seconds, width - _INDENT)
        for one, began in run.children.values()
    )
    made = list(run.calls.values())
    hidden = len(made) - _SHOWN_CALLS
    told = [line(f"… {hidden} earlier", "dim")] if hidden > 0 else []
    calls = (_call_line(one, now, width - _INDENT) for one in made[-_SHOWN_CALLS:])
    return [(Span(" " * _INDENT), *row) for row in (*children, *told, *calls)]


def _call_line(run: Running, now: float, width: int) -> Line:
    seconds = now - run.started if run.seconds is None else run.seconds
    return head_line(call_words(run.call, emoji=run.emoji), duration(seconds), Span(""), width)


def whole_seconds(value: float) -> str:
    """How long something has gone on, without parts of a second."""
    return f"{int(value)}s" if value < _MINUTE else duration(value)
