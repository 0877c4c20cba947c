"""The log: append-only, and valid by construction; an unpaired or misplaced message cannot be added (invariant 3)."""

from dataclasses import dataclass

from hermes.types.error import HermesError
from hermes.types.message import Assistant, Compaction, Message, ToolCall, ToolResult, User


class PairingError(HermesError):
    """A message that may not follow what is in the log; a fault of ours, never of a model."""


@dataclass(frozen=True, slots=True)
class Log:
    """Messages in order; `open` are the calls that wait for their answer, in call order."""

    messages: tuple[Message, ...] = ()
    open: tuple[ToolCall, ...] = ()

    def add(self, message: Message) -> "Log":
        """The log with one more message; PairingError when it may not follow."""
        match message:
            case ToolResult():
                return self._answered(message)
            case Assistant():
                self._must(not self.open and self._expects_assistant(), message)
                return Log((*self.messages, message), message.calls)
            case User():
                self._must(not self.open and not self._expects_assistant(), message)
                return Log((*self.messages, message))
            case Compaction():
                self._must(not self.open, message)
                return Log((*self.messages, message))

    @property
    def waits_for_reply(self) -> bool:
        """Whether the last word is the user's, or a tool's."""
        return not self.open and self._expects_assistant()

    def _answered(self, result: ToolResult) -> "Log":
        self._must(bool(self.open) and self.open[0].id == result.call_id, result)
        return Log((*self.messages, result), self.open[1:])

    def _expects_assistant(self) -> bool:
        last = next((message for message in reversed(self.messages) if not isinstance(message, Compaction)), None)
        return isinstance(last, User | ToolResult)

    def _must(self, legal: bool, message: Message) -> None:  # noqa: FBT001  # a condition, not a flag
        if not legal:
            after = self.messages[-1].kind if self.messages else "nothing"
            raise PairingError(f"a {message.kind} may not follow {after} with {len(self.open)} calls open")
