"""What is under way in a turn: its calls as they run and when they are done, and what the working line
tells.
"""

from msgspec import Struct, field

from hermes.types.event import (
    Asked,
    Attempted,
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
    """A call between its start and its result."""

    call: ToolCall
    emoji: str
    started: float
    output: str = ""
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
