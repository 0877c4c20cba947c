"""Words that wait for a message to ride on: notes of people, commands they ran, news of processes, pins."""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final

from hermes.agent.compaction.summary import numbered, pinned
from hermes.types.message import ContextBlock, Message

if TYPE_CHECKING:
    from hermes.agent.session import Session

_STAYS: Final = frozenset({"pin", "unpin", "command"})


class Mailbox:
    """The mailbox of one session; `ended` gives the news of background processes that have ended since."""

    def __init__(self, ended: Callable[[], tuple[ContextBlock, ...]]) -> None:
        self._ended = ended
        self._notes: tuple[ContextBlock, ...] = ()
        self._news: tuple[ContextBlock, ...] = ()

    def add_note(self, note: ContextBlock) -> None:
        """Keep a steering note for the next tool result."""
        self._notes = (*self._notes, note)

    def take_unsent(self) -> tuple[ContextBlock, ...]:
        """The steering notes that no tool result came for; they are the caller's to send now."""
        notes, self._notes = self._notes, ()
        return notes

    @property
    def senders(self) -> frozenset[str]:
        """The origins of those whose notes wait."""
        return frozenset(note.source for note in self._notes)

    def withdraw(self, note_ids: Collection[str]) -> None:
        """Take back notes that no tool result has taken with it."""
        self._notes = tuple(note for note in self._notes if note.id not in note_ids)

    def put_back(self, blocks: Sequence[ContextBlock]) -> None:
        """Keep blocks that were taken for a message which could not be stored."""
        self._notes = (*(one for one in blocks if one.kind == "note"), *self._notes)
        self._news = (*(one for one in blocks if one.kind != "note"), *self._news)

    def take_news(self) -> tuple[ContextBlock, ...]:
        """What the model has not been told: pinned facts, and background processes that ended."""
        news, self._news = (*self._news, *self._ended()), ()
        return news

    def waiting(self, kind: str) -> int:
        """How many blocks of a kind wait for the next message."""
        return sum(one.kind == kind for one in self._news)

    def add_news(self, block: ContextBlock) -> None:
        """Keep news for the next message."""
        self._news = (*self._news, block)

    def pin(self, fact: str) -> None:
        """Have a fact stay word for word, however much room is made; the next message takes it along."""
        self._news = (*self._news, ContextBlock(kind="pin", text=fact))

    def unpin(self, fact: str) -> None:
        """Let a pinned fact go."""
        self._news = (*self._news, ContextBlock(kind="unpin", text=fact))

    def keep(self, undone: Sequence[Message]) -> None:
        """Have facts that were pinned with messages which are undone stay pinned, and commands that the user
        ran be told again.
        """
        found = (one for message in undone for one in getattr(message, "blocks", ()))
        self._news = (*(one for one in found if one.kind in _STAYS), *self._news)

    def pins(self, log: Sequence[Message]) -> tuple[str, ...]:
        """The facts that are pinned in a log, and those that wait to be told."""
        facts = dict.fromkeys(pinned(numbered(log, 0, len(log))))
        for block in self._news:
            if block.kind == "pin":
                facts[block.text] = None
            elif block.kind == "unpin":
                facts.pop(block.text, None)
        return tuple(facts)


def process_news(session: "Session") -> tuple[ContextBlock, ...]:
    """The background processes of a session that have ended since it was last asked."""
    ended = session.opened.workspace.processes.drain_finished() if session.opened else ()
    words = "(Background process {0.id} ended with exit code {0.code}: {0.command})"
    return tuple(ContextBlock(kind="process", text=words.format(one), source=one.id) for one in ended)
