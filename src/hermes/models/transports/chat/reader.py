"""Reads the reply to a chat completion."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from hermes.lib.codec import mended
from hermes.lib.text import mend_surrogates
from hermes.models.transports.base import BadReplyError, CutShortError, WireError
from hermes.models.transports.common.arrival import BodyDetector, Events
from hermes.models.transports.common.drafts import Calls, tokens
from hermes.types.message import Assistant, Thinking
from hermes.types.request import CallStarted, Delta, Endpoint, Text, ThinkingText
from hermes.types.usage import Stop, Usage

_JOINED = ("text", "summary")


class Details:
    """The items of one reply: pieces of one text become one item, what is encrypted stays as it came."""

    def __init__(self) -> None:
        self._items: list[dict[str, Any]] = []

    def add(self, given: Any) -> str:
        """Take in the items of one piece of the reply; gives the text in them."""
        told = ""
        for item in given if isinstance(given, list) else ():
            if isinstance(item, Mapping):
                told += "".join(str(item[name]) for name in _JOINED if isinstance(item.get(name), str))
                self._put(item)
        return told

    def opaque(self) -> tuple[Mapping[str, Any], ...]:
        """What a message keeps of it."""
        return ({"reasoning_details": self._items},) if self._items else ()

    def _put(self, item: Mapping[str, Any]) -> None:
        last = self._items[-1] if self._items else {}
        if not any(name in item for name in _JOINED) or any(
            last.get(name) != item.get(name) for name in ("type", "index")
        ):
            self._items.append(dict(item))
            return
        for name, value in item.items():
            if name in _JOINED and isinstance(last.get(name), str) and isinstance(value, str):
                last[name] += value
            elif value is not None:
                last[name] = value


STOPS: dict[str, Stop] = {
    "stop": "end",
    "eos": "end",
    "end_turn": "end",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
}
_SHOWN_BYTES = 200


class _Function(Struct):
    name: str | None = None
    arguments: Any = None


class _CallDelta(Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    extra_content: Any = None


class _Content(Struct):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    refusal: Any = None
    tool_calls: list[_CallDelta] | None = None


class _Details(Struct):
    cached_tokens: float | None = None
    cache_write_tokens: float | None = None
    reasoning_tokens: float | None = None


class _Usage(Struct):
    prompt_tokens: float | None = None
    completion_tokens: float | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    prompt_cache_hit_tokens: float | None = None
    cached_tokens: float | None = None


class _Choice(Struct):
    delta: _Content | None = None
    message: _Content | None = None
    finish_reason: str | None = None
    usage: _Usage | None = None
    error: Any = None


class _Chunk(Struct):
    id: Any = None
    object: Any = None
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None
    base_resp: Any = None


_decode = msgspec.json.Decoder(_Chunk).decode


class ChatReader:
    """One reply, from server-sent events or from one JSON body: both take the same road."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._events = Events()
        self._arrival = BodyDetector()
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._details = Details()
        self._extras: dict[int, Any] = {}
        self._calls = Calls()
        self._stop: Stop | None = None
        self.usage = Usage(requests=1)
        self.progress = 0
        self._id = ""
        self._done = False
        self._answers = False
        self._refused = False

    def feed(self, data: bytes) -> list[Delta]:
        """What these bytes added, pieces of text that came together merged."""
        data = self._arrival.streamed(data)
        return self._take(self._events.feed(data)) if data else []

    def finish(self) -> Assistant:
        """The whole reply."""
        if self._arrival.body:
            self._chunk(self._arrival.body)
        elif self._arrival.streams is None:
            raise BadReplyError("The server sent an empty reply.")
        try:  # the event that the stream's end completes; one that was cut in the middle is no event
            self._take(self._events.finish())
        except BadReplyError as error:
            raise CutShortError("The stream ended in the middle of an event.") from error
        if self._stop is None and not (self._done and (self._text or self._calls)):
            if not self._answers and (self._arrival.body or self._done or self.progress):
                raise BadReplyError(
                    "The server sent something that is not a chat completion: there is no choice in it."
                )
            raise CutShortError("The stream ended before the reply did.")
        return self._reply()

    def _reply(self) -> Assistant:
        stop: Stop = "refusal" if self._refused and self._stop in {None, "end"} else self._stop or "end"
        if self._calls and stop == "end":
            stop = "calls"
        calls = self._calls.finish(stop, self._id)
        endpoint = self._endpoint
        return Assistant(
            id="",
            at=0.0,
            text=mended("".join(self._text)),
            thinking=(Thinking(text=mended("".join(self._thinking))),) if self._thinking else (),
            calls=calls,
            stop=stop,
            usage=self.usage,
            provider=endpoint.provider,
            model=endpoint.model,
            protocol=endpoint.protocol,
            family=endpoint.profile.family,
            opaque=(
                *self._details.opaque(),
                *({"id": calls[at].id, "extra_content": extra} for at, extra in self._extras.items()),
            ),
        )

    def _take(self, events: list[bytes]) -> list[Delta]:
        text_before, thinking_before = len(self._text), len(self._thinking)
        started: list[Delta] = []
        self.progress += len(events)
        for data in events:
            if data == b"[DONE]":
                self._done = True
            else:
                self._chunk(data, started)
        deltas: list[Delta] = []
        if len(self._thinking) > thinking_before:
            deltas.append(ThinkingText(text=mend_surrogates("".join(self._thinking[thinking_before:]))))
        if len(self._text) > text_before:
            deltas.append(Text(text=mend_surrogates("".join(self._text[text_before:]))))
        return deltas + started if started else deltas

    def _chunk(self, data: bytes, started: list[Delta] | None = None) -> None:
        chunk = _read(data)
        if chunk.error is not None or chunk.object == "error":
            raise _wire_error(chunk.error or json.loads(data))
        if chunk.base_resp and isinstance(chunk.base_resp, Mapping) and chunk.base_resp.get("status_code"):
            raise WireError(
                str(chunk.base_resp.get("status_msg") or chunk.base_resp),
                code=str(chunk.base_resp["status_code"]),
            )
        if chunk.usage is not None:
            self.usage = _usage(chunk.usage)
        if not self._id and chunk.id:
            self._id = str(chunk.id)[-12:]
        for choice in chunk.choices or ():
            self._answers = True
            self._choice(choice, started)

    def _choice(self, choice: _Choice, started: list[Delta] | None) -> None:
        if choice.error is not None or choice.finish_reason == "error":
            raise _wire_error(choice.error or "The provider ended the reply with an error.")
        if choice.usage is not None:
            self.usage = _usage(choice.usage)
        content = choice.delta or choice.message
        if content is not None:
            self._content(content, started)
        if choice.finish_reason:
            self._stop = STOPS.get(choice.finish_reason, "end")

    def _content(self, content: _Content, started: list[Delta] | None) -> None:
        if isinstance(content.content, str):
            if content.content:
                self._text.append(content.content)
        elif content.content:
            self._parts(content.content)
        thought = content.reasoning_content or content.reasoning
        if content.reasoning_details:
            told = self._details.add(content.reasoning_details)
            thought = thought or told
        if thought and isinstance(thought, str):
            self._thinking.append(thought)
        if content.refusal and isinstance(content.refusal, str):
            self._text.append(content.refusal)
            self._refused = True
        for call in content.tool_calls or ():
            function = call.function or _Function()
            name = self._calls.add(call.index, call.id or "", function.name or "", function.arguments)
            if call.extra_content:
                self._extras[self._calls.place(call.index, call.id or "")] = call.extra_content
            if name and started is not None:
                started.append(CallStarted(name=name))

    def _parts(self, content: Any) -> None:
        """A list of parts of text and of reasoning, or one of them."""
        for part in content if isinstance(content, list) else [content]:
            if not isinstance(part, Mapping):
                continue
            thought = part.get("thinking")
            if isinstance(thought, list):
                self._thinking.extend(
                    str(inner.get("text", "")) for inner in thought if isinstance(inner, Mapping)
                )
            else:
                self._text.append(str(part.get("text", "")))


def _read(data: bytes) -> _Chunk:
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # lone surrogates and broken UTF-8 do not end a reply; what is no JSON does
        try:
            return msgspec.convert(
                mended(json.loads(data.decode("utf-8", "replace"), strict=False)), _Chunk, strict=False
            )
        except (ValueError, msgspec.ValidationError, RecursionError) as error:
            shown = data[:_SHOWN_BYTES].decode("utf-8", "replace")
            raise BadReplyError(
                f"The server sent something that is not a chat completion: {shown!r}"
            ) from error


def _usage(given: _Usage) -> Usage:
    prompt, completion = (
        given.prompt_tokens_details or _Details(),
        given.completion_tokens_details or _Details(),
    )
    return Usage(
        input_tokens=tokens(given.prompt_tokens),
        output_tokens=tokens(given.completion_tokens),
        cache_read=tokens(prompt.cached_tokens or given.prompt_cache_hit_tokens or given.cached_tokens),
        cache_write=tokens(prompt.cache_write_tokens),
        reasoning=tokens(completion.reasoning_tokens),
        requests=1,
    )


def _wire_error(error: Any) -> WireError:
    if not isinstance(error, Mapping):
        return WireError(str(error))
    code = error.get("code", error.get("status"))
    status = (
        code if isinstance(code, int) else int(code) if isinstance(code, str) and code.isdigit() else None
    )
    word = code if isinstance(code, str) and not code.isdigit() else error.get("type") or ""
    return WireError(str(error.get("message") or error), status=status, code=str(word))
