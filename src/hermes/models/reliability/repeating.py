"""A reply whose model says the same on and on is stopped: it would go on to the limit of its length, be paid
for, and be sent again with each later request.
"""

from collections.abc import Callable

from hermes.lib.repetition import RepetitionDetector
from hermes.types.message import Assistant
from hermes.types.request import Delta, Endpoint, Text, ThinkingText


class RepeatedReply(Exception):
    """The reply has begun to repeat itself; `text` is what there is of its answer."""

    def __init__(self, text: str) -> None:
        super().__init__("The model repeats itself.")
        self.text = text

    def reply(self, endpoint: Endpoint) -> Assistant:
        """The reply as far as it goes, without its reasoning and calls, which are not whole."""
        return Assistant(
            id="",
            at=0.0,
            text=self.text,
            stop="repetition",
            provider=endpoint.provider,
            model=endpoint.model,
            protocol=endpoint.protocol,
            family=endpoint.profile.family,
        )


class RepetitionGuard:
    """Hands the pieces of a reply on to `emit`; RepeatedReply once its answer or its reasoning ends in
    `limit` characters of the same (0: never).
    """

    def __init__(self, emit: Callable[[Delta], None], limit: int) -> None:
        self._emit, self._text = emit, list[str]()
        self._answer, self._reasoning = RepetitionDetector(limit), RepetitionDetector(limit)

    def feed(self, delta: Delta) -> None:
        """The next piece."""
        self._emit(delta)
        if isinstance(delta, Text):
            self._text.append(delta.text)
            repeated = self._answer.add(delta.text)
        else:
            repeated = isinstance(delta, ThinkingText) and self._reasoning.add(delta.text)
        if repeated:
            raise RepeatedReply("".join(self._text))
