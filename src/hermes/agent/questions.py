"""Open questions of a session: asked as events, answered by a verb, or at once where nobody can be asked."""

import math
from collections.abc import Callable

import anyio

from hermes.types.event import Answered, Asked, Event
from hermes.types.ports import Ports
from hermes.types.question import Answer, Approve, Deny, Question

NOBODY = "Nobody can be asked here, so the answer is no."


class Questions:
    """At most a few at a time; each waits for `answer`, one about an action `seconds` at most (0: without a limit)."""

    def __init__(self, emit: Callable[[Event], None], ports: Ports, *, attended: bool, seconds: float = 0.0) -> None:
        self._emit, self._ports, self._attended, self._seconds = emit, ports, attended, seconds
        self._open: dict[str, tuple[anyio.Event, list[Answer]]] = {}

    async def ask(self, question: Question) -> Answer:
        """The answer; a refusal at once when the session is unattended, and when nobody answers in time."""
        number = self._ports.token()
        self._emit(Asked(id=number, question=question))
        if not self._attended:
            return self._settled(number, Deny(reason=NOBODY), "policy")
        came, answers = self._open[number] = (anyio.Event(), [])
        limit = self._seconds if isinstance(question, Approve) and self._seconds else math.inf
        try:
            with anyio.move_on_after(limit):
                await came.wait()
        finally:
            del self._open[number]
        if not answers:
            return self._settled(number, Deny(reason=f"Nobody answered within {limit:g} s, and silence is no consent."), "time limit")
        return self._settled(number, answers[0], "person")

    def record(self, question: Question, answer: Answer, by: str) -> None:
        """Tell of a question that was settled without asking."""
        number = self._ports.token()
        self._emit(Asked(id=number, question=question))
        self._settled(number, answer, by)

    def answer(self, number: str, answer: Answer) -> bool:
        """Settle a question, once; whether it was open. Call it on the loop."""
        came, answers = self._open.get(number, (None, []))
        if came is None or answers:
            return False
        answers.append(answer)
        came.set()
        return True

    def _settled(self, number: str, answer: Answer, by: str) -> Answer:
        self._emit(Answered(id=number, answer=answer, by=by))
        return answer
