"""Questions that the screen itself asks, one after the other: whoever asks waits for the answer."""

from collections.abc import Callable
from typing import Final

import anyio

from hermes.apps.tui.question_box import Box
from hermes.apps.tui.state import TuiState
from hermes.types.question import Answer

_ID: Final = "screen"


class ScreenQuestion:
    """Asks the person at a screen."""

    def __init__(self, desk: TuiState) -> None:
        self._desk = desk
        self._answer: Answer | None = None
        self._stopped, self._settled = False, anyio.Event()
        self._asking = anyio.Lock()

    async def ask(self, box: Callable[[str, Callable[[Answer], None]], Box]) -> Answer | None:
        """The answer to a question whose box is made with an id and what takes its answer; None when the
        person leaves instead.
        """
        async with self._asking:
            if self._stopped:
                return None
            self._answer, self._settled = None, anyio.Event()
            self._desk.add_box(box(_ID, self._take))
            await self._settled.wait()
            self._desk.close_box(_ID)
            self._desk.refresh()
            return self._answer

    def stop(self) -> None:
        """Ask no longer; nothing was answered."""
        self._stopped = True
        self._settled.set()

    def _take(self, answer: Answer) -> None:
        self._answer = answer
        self._settled.set()
