"""What is under way in a turn: its calls as they run and when they are done, and what the working line
tells.
"""

from msgspec import Struct, field

from hermes.present.children import child_line
from hermes.present.lines import running_lines
from hermes.present.spans import Line, Span
from hermes.types.event import (
    Asked,
    Attempted,
    ChildChanged,
    CompactionStarted,
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


class Running(Struct, kw_only=True):
    """A call between its start and its result; its children with when they were last heard of."""

    call: ToolCall
    emoji: str
    started: float
    output: str = ""
    children: dict[str, tuple[ChildChanged, float]] = field(default_factory=dict)
    seconds: float | None = None


class FinishedCall(Struct, frozen=True, kw_only=True):
    """A call whose line is in the scrollback; it can be shown whole."""

    call: ToolCall
    result: ToolResult
    seconds: float
    emoji: str


class TurnProgress(Struct, kw_only=True):
    """What the running turn has done so far, for the working line."""

    started: float
    heard: float
    doing: str = "starting"
    stepped: bool = False
    usage: Usage = field(default_factory=Usage)
    streamed: int = 0
    finished: list[FinishedCall] = field(default_factory=list)


def children_lines(run: Running, now: float, width: int, spinner: str) -> list[Line]:
    """A call that waits for children: its line, and one for each of them."""
    head = running_lines(run.call, "", now - run.started, width, emoji=run.emoji, spinner=spinner)
    return [*head, *child_rows(run, now, width)]


def child_rows(run: Running | None, now: float, width: int) -> list[Line]:
    """The children of a call, in a line each."""
    children = run.children.values() if run else ()
    lines = (
        child_line(one, now - began if one.state == "running" else one.seconds, width - 6)
        for one, began in children
    )
    return [(Span("      "), *row) for row in lines]
