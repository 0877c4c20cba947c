"""The log: append-only, and valid by construction; an unpaired or misplaced message cannot be added
(invariant 3).
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from hermes.safety.sources import Source, sources
from hermes.types.error import HermesError
from hermes.types.message import (
    Assistant,
    Compaction,
    Message,
    ToolCall,
    ToolResult,
    User,
    begins_turn,
    speakers,
)


class PairingError(HermesError):
    """A message that may not follow what is in the log; a fault of ours, never of a model."""


class Log(Struct, frozen=True):
    """Messages in order; `open` are the calls that wait for their answer, in call order; `awaits` says that a
    reply is due.

    `turns` counts what users said; `compacted` is where the last compaction stands that saved anything, -1
    without one; `outside` is what the messages brought in from outside, and undone ones that still count;
    `speakers` are the origins of those who spoke.
    """

    messages: tuple[Message, ...] = ()
    open: tuple[ToolCall, ...] = ()
    awaits: bool = False
    turns: int = 0
    compacted: int = -1
    outside: tuple[Source, ...] = ()
    speakers: frozenset[str] = frozenset()

    def add(self, message: Message) -> "Log":
        """The log with one more message; PairingError when it may not follow."""
        open_calls, awaits = _after(self.open, self.awaits, message)
        turns = self.turns + begins_turn(message)
        compacted = len(self.messages) if _shortens(message) else self.compacted
        outside = sources((message,), self.outside)
        spoken = self.speakers.union(speakers(message))
        return Log((*self.messages, message), open_calls, awaits, turns, compacted, outside, spoken)

    @property
    def waits_for_reply(self) -> bool:
        """Whether the last word is the user's, or a tool's."""
        return not self.open and self.awaits

    @property
    def turn(self) -> tuple[Message, ...]:
        """The last turn: what a user said, and all that came after it; nothing where nobody said anything."""
        for at in range(len(self.messages) - 1, -1, -1):
            if begins_turn(self.messages[at]):
                return self.messages[at:]
        return ()


def said_in(turn: Sequence[Message]) -> str:
    """What the user said at the beginning of a turn."""
    return turn[0].text if turn and isinstance(turn[0], User) else ""


def first_turns(messages: tuple[Message, ...], turns: int) -> tuple[Message, ...]:
    """The messages up to the end of a turn; all of them where there are not so many."""
    users = [number for number, message in enumerate(messages) if begins_turn(message)]
    return messages[: users[turns]] if turns < len(users) else messages


def answered(messages: Iterable[tuple[int, Message]]) -> dict[int, ToolCall]:
    """The call that each result answers, by the result's number.

    An id alone does not tell: some servers number the calls of each reply anew.
    """
    found: dict[int, ToolCall] = {}
    waiting: list[ToolCall] = []
    for number, one in messages:
        if isinstance(one, Assistant):
            waiting = list(one.calls)
        elif isinstance(one, ToolResult) and waiting and waiting[0].id == one.call_id:
            found[number] = waiting.pop(0)
    return found


def replay(messages: tuple[Message, ...], before: Iterable[Source] = ()) -> Log:
    """A log with these messages, after what was read from outside `before`; PairingError when they are not a
    log.
    """
    open_calls: tuple[ToolCall, ...] = ()
    awaits = False
    for message in messages:
        open_calls, awaits = _after(open_calls, awaits, message)
    kinds = [message.kind for message in messages]
    entries = (at for at in range(len(kinds) - 1, -1, -1) if kinds[at] == "compaction")
    said = {message.origin for message in messages if message.kind == "user"}
    # Few of thousands: the rest bring in neither notes nor text from outside
    bearing = [
        one
        for one in messages
        if (one.kind == "tool_result" and (one.outside or one.blocks)) or (one.kind == "user" and one.blocks)
    ]
    spoken = frozenset(said.union(*map(speakers, bearing)))
    return Log(
        messages,
        open_calls,
        awaits,
        kinds.count("user"),
        next((at for at in entries if _shortens(messages[at])), -1),
        sources(bearing, before),
        spoken,
    )


def misplaced(messages: tuple[Message, ...]) -> int | None:
    """The place of the first message that may not follow those before it; None in a log."""
    open_calls: tuple[ToolCall, ...] = ()
    awaits = False
    for place, message in enumerate(messages):
        try:
            open_calls, awaits = _after(open_calls, awaits, message)
        except PairingError:
            return place
    return None


def _shortens(message: Message) -> bool:
    return isinstance(message, Compaction) and not message.saved_nothing


def _after(
    open_calls: tuple[ToolCall, ...],
    awaits: bool,  # noqa: FBT001  # a state
    message: Message,
) -> tuple[tuple[ToolCall, ...], bool]:
    """The open calls and whether a reply is due, once `message` is there."""
    # By their kinds, which is quicker than by their classes: a session that is resumed has thousands of them
    if message.kind == "tool_result":
        if open_calls and open_calls[0].id == message.call_id:
            return open_calls[1:], True
    elif not open_calls:
        if message.kind == "assistant" and awaits:
            return message.calls, False
        if message.kind == "user" and not awaits:
            return (), True
        if message.kind == "compaction":
            return (), awaits
    raise PairingError(
        f"a {message.kind} may not follow here: {len(open_calls)} calls are open, a reply is"
        f" {'' if awaits else 'not '}due"
    )
