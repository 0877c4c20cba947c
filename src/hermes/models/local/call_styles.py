"""Call styles that a wire does not have of itself, around the chat-completions wire: constrained decoding,
calls read from text.
"""

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import json_repair
import msgspec
from msgspec.structs import replace

from hermes.models.local import constrained
from hermes.models.transports.base import Transport, WireRequest
from hermes.models.transports.chat.reader import ChatReader
from hermes.models.transports.chat.transport import ChatCompletions
from hermes.models.transports.common.drafts import FAULTS
from hermes.models.transports.common.parameters import sampling
from hermes.types.message import Assistant, Thinking, ToolCall
from hermes.types.request import Delta, Endpoint, Request, Text
from hermes.types.usage import Usage

_MOST_STARTS = 200
_WRAPPERS = re.compile(
    r"<tool_calls?>[\s,\[\]]*(</tool_calls?>)?|</tool_calls?>|```\w*[\s,\[\]]*```|\A\s*\[[\s,]*\]\s*\Z"
)


def recover(
    text: str, tool_names: Collection[str], new_id: Callable[[], str] | None = None
) -> tuple[str, tuple[ToolCall, ...]]:
    """`text` without the calls printed in it, and those calls; only real tools with an object of arguments
    count.

    Without `new_id` the ids are call_0, call_1, … . Text without calls comes back as it was.
    """
    calls: list[ToolCall] = []
    kept, end = [], 0
    for start, stop in _objects(text):
        found = _call(text[start:stop], tool_names)
        if found is None:
            continue
        name, arguments, repaired = found
        raw = json.dumps(arguments, ensure_ascii=False, default=str)
        identity = new_id() if new_id else f"call_{len(calls)}"
        calls.append(ToolCall(id=identity, name=name, arguments=arguments, raw=raw, repaired=repaired))
        kept.append(text[end:start])
        end = stop
    if not calls:
        return text, ()
    return _WRAPPERS.sub("", "".join([*kept, text[end:]])).strip(), tuple(calls)


def _objects(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each outermost stretch in balanced braces."""
    position = 0
    for _ in range(_MOST_STARTS):
        start = text.find("{", position)
        if start < 0:
            return
        stop = _closing(text, start, "\"'") or _closing(text, start, '"')
        if stop:
            yield start, stop
        position = stop or start + 1


def _closing(text: str, start: int, quotes: str) -> int:
    """The end of the object that opens at `start`, or 0; braces in strings do not count."""
    depth, quote, skip = 0, "", False
    for index in range(start, len(text)):
        letter = text[index]
        if skip:
            skip = False
        elif quote:
            skip, quote = letter == "\\", "" if letter == quote else quote
        elif letter in quotes:
            quote = letter
        elif letter in "{}":
            depth += 1 if letter == "{" else -1
            if depth == 0:
                return index + 1
    return 0


def _call(text: str, tool_names: Collection[str]) -> tuple[str, dict[str, Any], bool] | None:
    value, repaired = _read(text)
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    form: Mapping[str, Any] = inner if isinstance(inner, dict) else value
    name = next(
        (form[key] for key in ("name", "tool", "tool_name", "function") if isinstance(form.get(key), str)), ""
    )
    arguments = next((form[key] for key in ("arguments", "parameters", "args", "input") if key in form), None)
    if isinstance(arguments, str):
        arguments, _ = _read(arguments)
    return (name, arguments, repaired) if name in tool_names and isinstance(arguments, dict) else None


def _read(text: str) -> tuple[Any, bool]:
    """The value written as `text`, and whether it had to be mended; None when it is nothing like an
    object.
    """
    plain = text.replace("{{", "{").replace("}}", "}") if text.startswith("{{") else text
    for reader in (json.loads, ast.literal_eval):
        try:
            return reader(plain), reader is not json.loads or plain is not text
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    if not any(mark in plain for mark in ('"', "'")):
        return None, False
    return json_repair.loads(plain), True


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
        return StyledReader(ChatReader(request.endpoint), constrained.ConstrainedReader(request))


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
        return (
            []
            if not self._text.strip() or self._text.lstrip().startswith(CALL_OPENINGS)
            else [Text(text=text)]
        )

    def finish(self) -> constrained.StyledReply:
        """What was said, and the calls."""
        text, calls = recover(self._text, self._names)
        return constrained.StyledReply(text=text, calls=calls)


class StyledReader:
    """The wire's reader, with its text read once more."""

    def __init__(self, wire: ChatReader, style: Any) -> None:
        self._wire = wire
        self._feed: Callable[[str], list[Delta]] = style.feed
        self._finish: Callable[[], constrained.StyledReply] = style.finish

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
        reply, styled = self._wire.finish(), self._finish()
        calls = styled.calls
        if reply.stop in FAULTS:
            calls = tuple(replace(call, fault=call.fault or FAULTS[reply.stop]) for call in calls)
        calls = (*reply.calls, *calls)
        stop = "calls" if calls and reply.stop == "end" else reply.stop
        thinking = (Thinking(text=styled.first),) if styled.first else reply.thinking
        return replace(reply, text=styled.text, calls=calls, stop=stop, thinking=thinking)
