"""The chat-completions wire: any OpenAI-compatible endpoint, streaming or not."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from hermes.lib.codec import mended
from hermes.models.transports.assembly import Calls
from hermes.models.transports.base import STEER, CutShortError, WireError, WireRequest
from hermes.models.transports.sse import Events
from hermes.types.message import Assistant, Attachment, Compaction, Message, Thinking, ToolCall, ToolResult, User
from hermes.types.request import CallStarted, Delta, Request, Text, ThinkingText
from hermes.types.usage import Stop, Usage

STOPS: dict[str, Stop] = {
    "stop": "end",
    "eos": "end",
    "end_turn": "end",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
}
_encode = msgspec.json.Encoder().encode


class ChatCompletions:
    """Renders requests and hands out readers; keeps the bytes of each message of its session."""

    def __init__(self) -> None:
        self._blocks: dict[str, bytes] = {}
        self._frame: tuple[Request | None, bytes, bytes] = (None, b"", b"")

    def render(self, request: Request) -> WireRequest:
        """The request as bytes: a frame that rarely changes around blocks that never do."""
        head, tail = self._frame_of(request)
        blocks = self._blocks
        parts = [blocks.get(message.id) or self._block(message) for message in request.messages]
        return WireRequest(
            url=request.endpoint.base_url.rstrip("/") + "/chat/completions",
            headers=_headers(request),
            body=head + b",".join(parts) + tail,
        )

    def reader(self, request: Request) -> "ChatReader":
        """A fresh reader."""
        return ChatReader(request.endpoint.model)

    def _block(self, message: Message) -> bytes:
        block = self._blocks[message.id] = _bytes(wire_message(message))
        return block

    def _frame_of(self, request: Request) -> tuple[bytes, bytes]:
        """Bytes before and after the messages; rendered anew only when what they say has changed."""
        known, head, tail = self._frame
        if known is None or not _same_frame(known, request):
            head, tail = _frame(request)
            self._frame = (request, head, tail)
        return head, tail


def _same_frame(known: Request, request: Request) -> bool:
    return (
        known.tools is request.tools
        and known.system == request.system
        and known.options == request.options
        and known.endpoint == request.endpoint
    )


def _frame(request: Request) -> tuple[bytes, bytes]:
    system = _bytes({"role": "system", "content": request.system}) + b"," if request.system else b""
    before = _bytes({"model": request.endpoint.model})[:-1]
    head = before + b',"messages":[' + (system if request.messages else system[:-1])
    after: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
    if request.tools:
        after["tools"] = request.tools
    after |= sampling(request)
    return head, b"]," + _bytes(after)[1:]


def sampling(request: Request) -> dict[str, Any]:
    """The parameters that a request sets; what it leaves open is not sent."""
    options = request.options
    limit = options.max_output or request.endpoint.max_output
    named = {"temperature": options.temperature, "max_tokens": limit, "reasoning_effort": options.effort or None}
    return {name: value for name, value in named.items() if value is not None}


def _headers(request: Request) -> dict[str, str]:
    credential = request.endpoint.credential
    headers = {"content-type": "application/json", "accept": "text/event-stream, application/json", **request.endpoint.headers}
    return {**headers, "authorization": f"Bearer {credential}"} if credential else headers


def _bytes(tree: Any) -> bytes:
    try:
        return _encode(tree)
    except UnicodeEncodeError:
        return _encode(mended(tree))


def wire_message(message: Message) -> dict[str, Any]:
    """One message in the OpenAI form."""
    match message:
        case User():
            return {"role": "user", "content": _user_content(message)}
        case Compaction():
            return {"role": "user", "content": message.summary}
        case ToolResult():
            note = STEER.format(note=message.note) if message.note else ""
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.content + note}
        case Assistant(calls=()):
            return {"role": "assistant", "content": message.text}
        case Assistant():
            calls = [_wire_call(call) for call in message.calls]
            return {"role": "assistant", "content": message.text or None, "tool_calls": calls}


def _user_content(message: User) -> Any:
    text = f"{message.recalled}\n\n{message.text}" if message.recalled else message.text
    if not message.attachments:
        return text
    return [{"type": "text", "text": text}, *(_image(item) for item in message.attachments)]


def _image(item: Attachment) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{item.media_type};base64,{item.data}"}}


def _wire_call(call: ToolCall) -> dict[str, Any]:
    """A call as the model wrote it, if that was JSON; else as it was understood, for history must always be valid."""
    as_written = call.raw and not call.repaired and not call.fault
    arguments = call.raw if as_written else _bytes(call.arguments).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


class _Function(Struct):
    name: str | None = None
    arguments: Any = None


class _CallDelta(Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Content(Struct):
    content: Any = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[_CallDelta] | None = None


class _Choice(Struct):
    delta: _Content | None = None
    message: _Content | None = None
    finish_reason: str | None = None


class _Details(Struct):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    prompt_cache_hit_tokens: int | None = None


class _Chunk(Struct):
    id: str | None = None
    model: str | None = None
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Chunk).decode


class ChatReader:
    """One reply, from server-sent events or from one JSON body: both take the same road."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._events = Events()
        self._body: list[bytes] = []
        self._streams: bool | None = None
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls = Calls()
        self._stop: Stop | None = None
        self.usage = Usage(requests=1)
        self.progress = 0
        self._id = ""
        self._done = False

    def feed(self, data: bytes) -> list[Delta]:
        """What these bytes added, pieces of text that came together merged."""
        if self._streams is None and data.strip():
            self._streams = not data.lstrip().startswith(b"{")
        if not self._streams:
            self._body.append(data)
            return []
        return self._take(self._events.feed(data))

    def finish(self) -> Assistant:
        """The whole reply."""
        body = b"".join(self._body)
        if body.strip():
            self._chunk(body)
        self._take(self._events.finish())
        if self._stop is None and not (self._done and (self._text or self._calls)):
            raise CutShortError("The stream ended before the reply did.")
        stop = self._stop or "end"
        if self._calls and stop == "end":
            stop = "calls"
        thinking = (Thinking(text=mended("".join(self._thinking))),) if self._thinking else ()
        return Assistant(
            id="",
            at=0.0,
            text=mended("".join(self._text)),
            thinking=thinking,
            calls=self._calls.finish(stop, self._id),
            stop=stop,
            usage=self.usage,
            model=self._model,
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
            deltas.append(ThinkingText(text=mended("".join(self._thinking[thinking_before:]))))
        if len(self._text) > text_before:
            deltas.append(Text(text=mended("".join(self._text[text_before:]))))
        return deltas + started if started else deltas

    def _chunk(self, data: bytes, started: list[Delta] | None = None) -> None:
        chunk = _read(data)
        if chunk.error is not None:
            raise _wire_error(chunk.error)
        if chunk.usage is not None:
            self.usage = _usage(chunk.usage)
        if not self._id and chunk.id:
            self._id = chunk.id[-12:]
        for choice in chunk.choices or ():
            content = choice.delta or choice.message
            if content is not None:
                self._content(content, started)
            if choice.finish_reason:
                self._stop = STOPS.get(choice.finish_reason, "end")

    def _content(self, content: _Content, started: list[Delta] | None) -> None:
        if content.content:
            self._text.append(content.content if isinstance(content.content, str) else _joined(content.content))
        thought = content.reasoning_content or content.reasoning
        if thought:
            self._thinking.append(thought)
        if content.refusal:
            self._text.append(content.refusal)
        for call in content.tool_calls or ():
            function = call.function or _Function()
            name = self._calls.add(call.index, call.id or "", function.name or "", function.arguments)
            if name and started is not None:
                started.append(CallStarted(name=name))


def _read(data: bytes) -> _Chunk:
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _read_leniently(data)


def _read_leniently(data: bytes) -> _Chunk:
    """Lone surrogates and broken UTF-8 do not end a reply; what is no JSON does."""
    try:
        return msgspec.convert(mended(json.loads(data.decode("utf-8", "replace"), strict=False)), _Chunk)
    except (ValueError, msgspec.ValidationError) as error:
        raise WireError(f"The server sent something that is not a chat completion: {data[:200].decode('utf-8', 'replace')!r}") from error


def _joined(content: Any) -> str:
    """Text out of content parts."""
    parts = content if isinstance(content, list) else [content]
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def _usage(given: _Usage) -> Usage:
    prompt, completion = given.prompt_tokens_details or _Details(), given.completion_tokens_details or _Details()
    return Usage(
        input_tokens=given.prompt_tokens or 0,
        output_tokens=given.completion_tokens or 0,
        cache_read=prompt.cached_tokens or given.prompt_cache_hit_tokens or 0,
        reasoning=completion.reasoning_tokens or 0,
        requests=1,
    )


def _wire_error(error: Any) -> WireError:
    if isinstance(error, Mapping):
        code = error.get("code", error.get("status"))
        return WireError(str(error.get("message") or error), status=code if isinstance(code, int) else None)
    return WireError(str(error))
