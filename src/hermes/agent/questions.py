"""Open questions of a session: asked as events, answered by a verb, or at once where nobody can be asked."""

from collections.abc import Callable

import anyio

from hermes.types.event import Answered, Asked, Event
from hermes.types.ports import Ports
from hermes.types.question import Answer, Deny, Question

NOBODY = "Nobody can be asked here, so the answer is no."


class Questions:
    """At most a few at a time; each waits for `answer`, without a time limit."""

    def __init__(self, emit: Callable[[Event], None], ports: Ports, *, attended: bool) -> None:
        self._emit, self._ports, self._attended = emit, ports, attended
        self._open: dict[str, tuple[anyio.Event, list[Answer]]] = {}

    async def ask(self, question: Question) -> Answer:
        """The answer; a refusal at once when the session is unattended."""
        number = self._ports.token()
        self._emit(Asked(id=number, question=question))
        if not self._attended:
            return self._settled(number, Deny(reason=NOBODY), "policy")
        came, answers = self._open[number] = (anyio.Event(), [])
        try:
            await came.wait()
        finally:
            del self._open[number]
        return self._settled(number, answers[0], "person")

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
