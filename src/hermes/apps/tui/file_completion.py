"""The files that `@` offers, as they are now."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from hermes.apps.tui.files import Paths, list_files, size_of
from hermes.apps.tui.mentions import mention
from hermes.apps.tui.menu import Item

_PAUSES = 5
_SHORTEST_PAUSE = 0.5


class FileCompletion:
    """Knows the files of a folder; each search has it looked at again beside the screen, which hears of what
    has `changed`. Most of the time is pause, however long a look takes.
    """

    def __init__(
        self,
        root: Path,
        *,
        spawn: Callable[[Callable[[], Coroutine[Any, Any, None]]], object],
        now: Callable[[], float],
        changed: Callable[[], object],
    ) -> None:
        self._root, self._spawn, self._now, self._changed = root, spawn, now, changed
        self._paths = Paths(())
        self._looking, self._next = False, 0.0

    def items(self, typed: str) -> list[Item]:
        """The rows for what was typed after the `@`."""
        if not self._looking:
            self._looking = True
            self._spawn(self._look)
        found = self._paths.best(typed)
        return [Item(f"{mention(path)} ", path, size_of(self._root, path)) for path in found]

    async def _look(self) -> None:
        await anyio.sleep(max(0.0, self._next - self._now()))
        began = self._now()
        found = await list_files(self._root)
        if tuple(found) != self._paths.paths:
            self._paths = await anyio.to_thread.run_sync(Paths, found)
            self._changed()
        ended = self._now()
        self._next = ended + max(_SHORTEST_PAUSE, _PAUSES * (ended - began))
        self._looking = False
