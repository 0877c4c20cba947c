"""The log: append-only, and valid by construction; an unpaired or misplaced message cannot be added
(invariant 3).
"""

from dataclasses import dataclass

from hermes.types.error import HermesError
from hermes.types.message import Assistant, Compaction, Message, ToolCall, ToolResult, User


class PairingError(HermesError):
    """A message that may not follow what is in the log; a fault of ours, never of a model."""


@dataclass(frozen=True, slots=True)
class Log:
    """Messages in order; `open` are the calls that wait for their answer, in call order; `awaits` says that a
    reply is due.

    `turns` counts what users said; `compacted` is where the last compaction stands, -1 without one.
    """

    messages: tuple[Message, ...] = ()
    open: tuple[ToolCall, ...] = ()
    awaits: bool = False
    turns: int = 0
    compacted: int = -1

    def add(self, message: Message) -> "Log":
        """The log with one more message; PairingError when it may not follow."""
        open_calls, awaits = _after(self.open, self.awaits, message)
        turns = self.turns + isinstance(message, User)
        compacted = len(self.messages) if isinstance(message, Compaction) else self.compacted
        return Log((*self.messages, message), open_calls, awaits, turns, compacted)

    @property
    def waits_for_reply(self) -> bool:
        """Whether the last word is the user's, or a tool's."""
        return not self.open and self.awaits


def replay(messages: tuple[Message, ...]) -> Log:
    """A log with these messages; PairingError when they are not a log."""
    open_calls: tuple[ToolCall, ...] = ()
    awaits, turns, compacted = False, 0, -1
    for number, message in enumerate(messages):
        open_calls, awaits = _after(open_calls, awaits, message)
        turns += isinstance(message, User)
        compacted = number if isinstance(message, Compaction) else compacted
    return Log(messages, open_calls, awaits, turns, compacted)


def _after(
    open_calls: tuple[ToolCall, ...],
    awaits: bool,  # noqa: FBT001  # a state
    message: Message,
) -> tuple[tuple[ToolCall, ...], bool]:
    """The open calls and whether a reply is due, once `message` is there."""
    match message:
        case ToolResult() if open_calls and open_calls[0].id == message.call_id:
            return open_calls[1:], True
        case Assistant() if awaits and not open_calls:
            return message.calls, False
        case User() if not awaits and not open_calls:
            return (), True
        case Compaction() if not open_calls:
            return (), awaits
    raise PairingError(
        f"a {message.kind} may not follow here: {len(open_calls)} calls are open, a reply is"
        f" {'' if awaits else 'not '}due"
    )
