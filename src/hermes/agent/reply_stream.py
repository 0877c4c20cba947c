"""A reply on its way to the screen: known secrets and recalled memory are taken out of it, and no text is
shown twice, whatever number of requests the reply takes (invariants 16 and 21).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from hermes.agent.services import Redactor
from hermes.lib.secretvalues import SecretValues
from hermes.lib.text_stream import TagFilter, TextStream
from hermes.models.reliability.continuation import may_repeat, repeated
from hermes.types.event import Event, Notice, ReplyRestarted, TextDelta, ThinkingDelta
from hermes.types.message import MEMORY_TAG, Assistant, Thinking
from hermes.types.request import Delta, Remark, Text, ThinkingText

RECALLED: Final = TagFilter(MEMORY_TAG)
NOTHING_ELSE: Final = "(The reply was a copy of recalled memory and nothing else.)"


class ReplyStream:
    """Emits text and reasoning as they come; what may be the beginning of a secret waits for what follows.

    After a failed request the next one begins anew: what it repeats is not shown again. When it says
    something else, the text shown so far is declared void and the new text is shown from its beginning.
    """

    def __init__(self, redactor: Redactor, emit: Callable[[Event], object]) -> None:
        self._redactor, self._emit = redactor, emit
        self._text = _CleanText(redactor.known, self._show)
        self._thinking = _CleanText(redactor.known, lambda text: emit(ThinkingDelta(text=text)))
        self._seen: list[str] = []
        self._repeated: str | None = None
        self._settled = ""
        self._joint: str | None = None

    @property
    def partial(self) -> str:
        """What of the running reply has been shown, or was about to be."""
        shown = "".join(self._seen) + (self._text.waiting if self._repeated is None else "")
        return max(shown, self._settled, key=len)

    def feed(self, delta: Delta) -> None:
        """Take in a piece of the reply: text, reasoning, or a remark of the client's."""
        if isinstance(delta, Text):
            self._thinking.end()
            self._text.add(delta.text if self._joint is None else self._joined(delta.text))
        elif isinstance(delta, ThinkingText):
            self._text.end()
            self._thinking.add(delta.text)
        elif isinstance(delta, Remark):
            self._emit(Notice(level="info", text=self._redactor.redact(delta.text)))

    def go_on(self, text: str) -> None:
        """This is the text of the reply so far, and what comes next continues it: what that repeats is not
        shown.
        """
        self._thinking.end()
        if self._joint:  # all of the last part might have been a repetition, and was not
            self._text.add(text[len(self._settled) :])
        self._settled, self._joint = text, ""

    def restart(self) -> None:
        """The request failed; what comes now is another one's reply, and what waited belongs to nothing."""
        self._text.forget()
        self._thinking.forget()
        if self._seen or self._repeated is not None:
            self._repeated = ""
        if self._settled:
            self._joint = ""
            self._text.add(self._settled)

    def finish(self, text: str) -> None:
        """The reply is whole, and this is its text: what was held back is shown now."""
        self._thinking.end()
        self._text.end()
        seen = "".join(self._seen)
        if text != seen:
            self._catch_up(seen, text)
        self._seen.clear()
        self._repeated = self._joint = None
        self._settled = ""

    def _joined(self, text: str) -> str:
        """What is new of the beginning of a continuation, once that can be told."""
        self._joint = begun = (self._joint or "") + text
        if may_repeat(self._settled, begun):
            return ""
        self._joint = None
        return begun[repeated(self._settled, begun) :]

    def _show(self, text: str) -> None:
        if self._repeated is None:
            self._seen.append(text)
            self._emit(TextDelta(text=text))
            return
        self._repeated += text
        seen = "".join(self._seen)
        if not seen.startswith(self._repeated):
            self._catch_up(seen, self._repeated)

    def _catch_up(self, seen: str, text: str) -> None:
        self._repeated = None
        self._seen = [text]
        if text.startswith(seen):
            self._emit(TextDelta(text=text[len(seen) :]))
            return
        if seen:
            self._emit(ReplyRestarted(void=seen))
        if text:
            self._emit(TextDelta(text=text))


class _CleanText:
    """A text on its way to the screen, first without what the model repeats of recalled memory, then without
    secrets.
    """

    def __init__(self, known: SecretValues, show: Callable[[str], object]) -> None:
        self._last = TextStream(known, show)
        self._first = TextStream(RECALLED, self._last.add)
        self.add = self._first.add

    @property
    def waiting(self) -> str:
        """What would be shown if nothing followed."""
        return self._last.waiting + self._first.waiting

    def end(self) -> None:
        """Nothing follows."""
        self._first.end()
        self._last.end()

    def forget(self) -> None:
        """Show nothing of what waits."""
        self._first.forget()
        self._last.forget()


def without_secrets(reply: Assistant, known: SecretValues) -> Assistant:
    """The reply, its words and reasoning without known secrets and without recalled memory.

    A signature falls with the words that it signed, and the wire's own items do where one of them is not free
    of secrets. Calls stay as they are: a call with a mask in it would do something else. A reply whose text
    changes is one piece from then on: its cuts were places in the other text.
    """
    text = known.redact(RECALLED.clean(reply.text))
    if reply.text and not text and not reply.calls:
        text = NOTHING_ELSE
    thinking = tuple(_thought(one, known) for one in reply.thinking)
    if text == reply.text and thinking == reply.thinking and not _holds_any(reply.opaque, known):
        return reply
    return replace(reply, text=text, thinking=thinking, opaque=(), cuts=())


def _holds_any(items: tuple[Mapping[str, Any], ...], known: SecretValues) -> bool:
    carried = msgspec.json.encode(items).decode() if items else ""
    return known.redact(carried) != carried


def _thought(thought: Thinking, known: SecretValues) -> Thinking:
    text = known.redact(RECALLED.clean(thought.text))
    return thought if text == thought.text else Thinking(text=text)
