"""A reply on its way to the screen and the log: known secrets that it repeats are taken out of it, also where they come in pieces."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from hermes.lib.secretvalues import SecretValues, Veil
from hermes.types.message import Assistant, Thinking


class Unseen:
    """The text and the reasoning of a running reply; what may be the beginning of a secret waits for what follows."""

    def __init__(self, known: SecretValues, show: Callable[[str], None], show_thinking: Callable[[str], None]) -> None:
        self._text, self._thinking = Veil(known, show), Veil(known, show_thinking)

    @property
    def waiting(self) -> str:
        """The end of the text that has not been shown."""
        return self._text.waiting

    def text(self, text: str) -> None:
        """More of the text."""
        self._thinking.end()
        self._text.add(text)

    def thinking(self, text: str) -> None:
        """More of the reasoning."""
        self._text.end()
        self._thinking.add(text)

    def end(self) -> None:
        """The reply is whole."""
        self._thinking.end()
        self._text.end()

    def forget(self) -> None:
        """The request failed; what waits belongs to nothing."""
        self._text.waiting = self._thinking.waiting = ""


def without_secrets(reply: Assistant, known: SecretValues) -> Assistant:
    """The reply, its words and reasoning without known secrets.

    A signature falls with the words that it signed, and the wire's own items do where one of them is not free of secrets.
    Calls stay as they are: a call with a mask in it would do something else.
    """
    text, thinking = known.hide(reply.text), tuple(_thought(one, known) for one in reply.thinking)
    if text == reply.text and thinking == reply.thinking and not _holds_any(reply.opaque, known):
        return reply
    return replace(reply, text=text, thinking=thinking, opaque=())


def _holds_any(items: tuple[Mapping[str, Any], ...], known: SecretValues) -> bool:
    carried = msgspec.json.encode(items).decode() if items else ""
    return known.hide(carried) != carried


def _thought(thought: Thinking, known: SecretValues) -> Thinking:
    text = known.hide(thought.text)
    return thought if text == thought.text else Thinking(text=text)
