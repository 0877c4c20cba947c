"""Facts that are recalled when they fit: what one is, and what a place that keeps them does."""

from collections.abc import Sequence
from typing import Final, Protocol

from msgspec import Struct

from hermes.store.protocol import Viewer
from hermes.types.capabilities import ALL, Capabilities

DAY: Final = 86_400.0


class Fact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something to know later: noted when (epoch seconds), in which session, for whom (the origin of a chat's
    user, "" for whoever owns the home), within which bounds, and after which text from outside.
    """

    id: str
    text: str
    at: float
    session: str = ""
    origin: str = ""
    bounds: Capabilities = ALL
    outside: tuple[str, ...] = ()

    def is_for(self, viewer: Viewer) -> bool:
        """Whether it may be told: to the one alone for whom it was noted, who could have read it himself."""
        return self.origin == viewer.alone and viewer.bounds.covers(self.bounds)


def score(relevance: float, age: float, half_life: float) -> float:
    """What a fact is worth now: its relevance, halved for every `half_life` (as `age` in seconds); one from
    the future is as good as new, and with a half-life of 0 none grows old.
    """
    return relevance * 0.5 ** (max(0.0, age) / half_life) if half_life else relevance


class FactStore(Protocol):
    """Keeps facts. Its methods block; StoreError says what cannot be done. For one thread at a time."""

    def add(self, fact: Fact) -> str:
        """Keep a fact and give its id; the same words for the same person are kept once."""

    def find(self, words: str, viewer: Viewer, *, limit: int, now: float) -> Sequence[Fact]:
        """The facts that somebody may be told and that fit a query or, if there are none, hold a word of it;
        the best first.
        """

    def fitting(self, message: str, viewer: Viewer, *, limit: int, now: float) -> Sequence[Fact]:
        """The facts that somebody may be told and that share with a message what tells them from the others,
        the best first; many messages have none.
        """

    def everything(self) -> Sequence[Fact]:
        """All facts, the oldest first."""

    def remove(self, fact_id: str, viewer: Viewer) -> bool:
        """Forget a fact; whether there was one that concerns that person."""

    def close(self) -> None:
        """Let go of what is open."""
