"""A conversation in bytes that grows with it: what was joined for one request is the beginning of the next."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hermes.types.message import Message, ToolResult

MARKS = 3
"""How many blocks have a mark for the cache: the last ones that can carry one."""

Messages = tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Bytes that ask for the prompt to be cached up to here; `before` is how many bytes of a block come after them."""

    text: bytes
    before: int

    def on(self, block: bytes) -> bytes:
        """The block with the mark."""
        return block[: -self.before] + self.text + block[-self.before :]


@dataclass(frozen=True, slots=True)
class Encoded:
    """One block of a conversation; `carries` says that a mark may be put on it."""

    data: bytes
    carries: bool = False


@dataclass(slots=True)
class Growing:
    """The blocks of a conversation: those that do not change any more are joined already, the last ones are open."""

    _messages: Messages = ()
    _form: Any = None
    _settled: bytearray = field(default_factory=bytearray)
    _open: list[Encoded] = field(default_factory=list)

    @property
    def last(self) -> bytes:
        """The last block; empty when there is none."""
        return self._open[-1].data if self._open else b""

    def grow(self, messages: Messages, form: object, take: Callable[[Messages, int], None]) -> None:
        """Let `take` add what is new in `messages`: all of them, when they do not extend those before or go in another form."""
        known, self._messages = self._messages, ()  # nothing is known of a conversation that could not be taken in
        if not known or form != self._form or messages[: len(known)] != known:
            known = ()
            self._settled.clear()
            self._open.clear()
        for index in range(len(known), len(messages)):
            take(messages, index)
        self._messages, self._form = messages, form

    def add(self, block: Encoded) -> None:
        """One more block."""
        self._open.append(block)

    def replace(self, block: Encoded) -> None:
        """Another block in place of the last."""
        self._open[-1] = block

    def parts(self, mark: Mark | None = None, ending: Sequence[Encoded] = ()) -> tuple[bytearray, bytes]:
        """The blocks with commas between, in two parts, of which the first is to be read at once; `ending` is not kept."""
        blocks = [*self._open, *ending]
        marked = [number for number, block in enumerate(blocks) if block.carries][-MARKS:] if mark else []
        settled = max(0, min([*marked[:1], len(self._open) - 1]))
        for block in blocks[:settled]:
            self._settled += block.data
            self._settled += b","
        del self._open[:settled]
        rest = [mark.on(block.data) if mark and number in marked else block.data for number, block in enumerate(blocks[settled:], settled)]
        return self._settled, b",".join(rest)


def shown_before(messages: Messages, end: int) -> list[ToolResult]:
    """Those of the results just before `end` that have images."""
    found: list[ToolResult] = []
    while end and isinstance(message := messages[end - 1], ToolResult):
        found += [message] if message.images else []
        end -= 1
    return found[::-1]
