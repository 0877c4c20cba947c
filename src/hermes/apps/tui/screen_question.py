"""Questions that the screen itself asks, one after the other: whoever asks waits for the answer."""

from typing import Final

import anyio

from hermes.apps.tui.question_box import Box
from hermes.apps.tui.state import TuiState
from hermes.present.consent import AnswerChoice
from hermes.types.question import Answer, Question

_ID: Final = "screen"


class ScreenQuestion:
    """Asks the person at a screen."""

    def __init__(self, desk: TuiState) -> None:
        self._desk = desk
        self._answer: Answer | None = None
        self._stopped, self._settled = False, anyio.Event()
        self._asking = anyio.Lock()

    async def ask(
        self,
        question: Question,
        *,
        title: str = "",
        offered: tuple[AnswerChoice, ...] = (),
        hidden: bool = False,
    ) -> Answer | None:
        """The answer to a question in a box as `Box` has it; None when the person leaves instead."""
        async with self._asking:
            if self._stopped:
                return None
            self._answer, self._settled = None, anyio.Event()
            self._desk.add_box(
                Box(
                    id=_ID,
                    question=question,
                    opened=self._desk.now(),
                    title=title,
                    offered=offered,
                    settle=self._take,
                    hidden=hidden,
                )
            )
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
