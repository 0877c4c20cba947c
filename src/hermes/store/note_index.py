"""The index of notes: a file of facts that may be lost or damaged, for it is made again from the notes."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from hermes.store.search import is_damage, remove
from hermes.store.sqlite_facts import SqliteFacts
from hermes.types.error import StoreError

T = TypeVar("T")


class NoteIndex:
    """Has a file of facts that can be used; `half_life` as in `SqliteFacts`."""

    def __init__(self, path: Path, *, half_life: float) -> None:
        self._path, self._half_life = path, half_life
        self._facts = self._opened()

    def use(self, work: Callable[[SqliteFacts], T]) -> T:
        """What the work gives; where the file turns out to be damaged it is done with a new one, which begins
        empty.
        """
        try:
            return work(self._facts)
        except StoreError as error:
            if not is_damage(error):
                raise
        is_ours = not self._facts.is_replaced
        with suppress(StoreError):
            self._facts.close()
        if is_ours:  # otherwise another process was first
            remove(self._path)
        self._facts = self._opened()
        return work(self._facts)

    def close(self) -> None:
        """Let go of the file."""
        self._facts.close()

    def _opened(self) -> SqliteFacts:
        try:
            return SqliteFacts(self._path, half_life=self._half_life)
        except StoreError as error:
            if not is_damage(error):
                raise
        remove(self._path)
        return SqliteFacts(self._path, half_life=self._half_life)
