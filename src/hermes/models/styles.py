"""Call styles that a wire does not have of itself, around the chat-completions wire: constrained decoding, calls read from text."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from hermes.models import constrained, textcalls
from hermes.models.transports.assembly import CUT
from hermes.models.transports.base import Transport, WireRequest
from hermes.models.transports.chat_completions import ChatCompletions
from hermes.models.transports.chat_reader import ChatReader
from hermes.models.transports.parameters import sampling
from hermes.types.message import Assistant, ToolCall
from hermes.types.request import Delta, Endpoint, Request, Text
from hermes.types.usage import Usage

CALL_OPENINGS = ("{", "[", "`", "<")
"""How the text of a printed call may begin; until it is read, such text is not shown."""


def transport_for(endpoint: Endpoint) -> Transport:
    """A transport for an endpoint whose calls are not native."""
    return Constrained() if endpoint.calls == "constrained" else TextCalls()


class Constrained:
    """Each reply is one JSON object: a call of a real tool with valid arguments, or an answer."""

    def render(self, request: Request) -> WireRequest:
        """A chat of plain texts, with the form of the reply in the body."""
        plain = ChatCompletions().render(replace(request, messages=(), tools=(), system=""))
        body = {
            "model": request.endpoint.model,
            "messages": constrained.render(request),
            "stream": True,
            "stream_options": {"include_usage": True},
            **sampling(request),
            **constrained.body_fields(request),
        }
        return replace(plain, body=msgspec.json.encode(body))

    def reader(self, request: Request) -> "StyledReader":
        """A reader of such a reply."""
        return StyledReader(ChatReader(request.endpoint), constrained.Reader())


class TextCalls(ChatCompletions):
    """Native requests; calls that the model prints as text are read out of it."""

    def reader(self, request: Request) -> "StyledReader":  # type: ignore[override]  # both are Readers
        """A reader that looks for calls in the text."""
        names = [tool["function"]["name"] for tool in request.tools]
        return StyledReader(ChatReader(request.endpoint), PrintedCalls(names))


class PrintedCalls:
    """Holds back text that may be a call; gives what was said and the calls in the end."""

    def __init__(self, names: list[str]) -> None:
        self._names, self._text = names, ""

    def feed(self, text: str) -> list[Delta]:
        """The text, unless the reply began like a call."""
        self._text += text
        return [] if not self._text.strip() or self._text.lstrip().startswith(CALL_OPENINGS) else [Text(text=text)]

    def finish(self) -> tuple[str, tuple[ToolCall, ...]]:
        """What was said, and the calls."""
        return textcalls.recover(self._text, self._names)


class StyledReader:
    """The wire's reader, with its text read once more."""

    def __init__(self, wire: ChatReader, style: Any) -> None:
        self._wire = wire
        self._feed: Callable[[str], list[Delta]] = style.feed
        self._finish: Callable[[], tuple[str, tuple[ToolCall, ...]]] = style.finish

    @property
    def progress(self) -> int:
        """How much of the reply has come."""
        return self._wire.progress

    @property
    def usage(self) -> Usage:
        """What the wire has told so far."""
        return self._wire.usage

    def feed(self, data: bytes) -> list[Delta]:
        """What these bytes added, in the style's terms."""
        found: list[Delta] = []
        for delta in self._wire.feed(data):
            found.extend(self._feed(delta.text) if isinstance(delta, Text) else [delta])
        return found

    def finish(self) -> Assistant:
        """The reply with the style's text and calls; calls of the wire's own come first."""
        reply = self._wire.finish()
        text, calls = self._finish()
        if reply.stop == "length":
            calls = tuple(replace(call, fault=call.fault or CUT) for call in calls)
        calls = (*reply.calls, *calls)
        stop = "calls" if calls and reply.stop == "end" else reply.stop
        return replace(reply, text=text, calls=calls, stop=stop)
