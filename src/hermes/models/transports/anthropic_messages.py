"""The Anthropic Messages wire: Claude itself, and the servers that speak like it."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from hermes.lib.jsonfix import parse_arguments
from hermes.models.transports.arrival import Arrival
from hermes.models.transports.base import BadReplyError, CutShortError, WireError, WireRequest
from hermes.models.transports.blocks import (
    Block,
    Kept,
    described,
    functions,
    has_marks,
    legal_name,
    plain_text,
    schema_of,
)
from hermes.models.transports.drafts import Draft, Item, count, part, string, tree_of, with_origin
from hermes.models.transports.effort import room
from hermes.models.transports.encoding import encode, merged
from hermes.models.transports.growing import Mark
from hermes.models.transports.sse import Events
from hermes.types.message import Assistant, Attachment, Thinking, ToolCall, ToolResult
from hermes.types.request import Delta, Endpoint, Request
from hermes.types.usage import Stop, Usage

VERSION = "2023-06-01"  # newer ones take no sampling parameters, and other makers' servers know only this; an endpoint may name another
OAUTH_BETA = "oauth-2025-04-20"
OAUTH_TOKEN = "sk-ant-oat"  # noqa: S105  # how such a token begins, not one
STOPS: Mapping[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "pause_turn": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
STATUSES: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_CARRIERS = frozenset({"text", "tool_use", "tool_result", "image", "document"})
_SAID = frozenset({"type", "text", "thinking", "signature", "id", "name", "input"})
_LINES = (b"data", b"even", b"id:", b"retr", b":")
_A_REPLY = "a reply of the Messages wire"


class Spelling:
    """Blocks as the Messages API takes them."""

    protocol = "anthropic_messages"

    def text(self, text: str) -> Block:
        """Text."""
        return {"type": "text", "text": text}

    def thinking(self, item: Thinking) -> Block:
        """Reasoning as it came."""
        if item.redacted:
            return {"type": "redacted_thinking", "data": item.signature}
        return {"type": "thinking", "thinking": item.text, "signature": item.signature}

    def call(self, call_id: str, call: ToolCall) -> Block:
        """A call."""
        return {"type": "tool_use", "id": call_id, "name": legal_name(call.name), "input": call.arguments}

    def result(self, call_id: str, message: ToolResult, content: list[Block]) -> Block:
        """The answer to a call."""
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        return {**block, "is_error": True} if message.failed else block

    def image(self, item: Attachment) -> Block:
        """A picture."""
        return {"type": "image", "source": {"type": "base64", "media_type": item.media_type, "data": item.data}}

    def document(self, item: Attachment, name: str) -> Block:  # noqa: ARG002  # the other wire needs a name
        """A PDF, or a text as it is."""
        text = plain_text(item)
        kind, media_type, data = ("text", "text/plain", text) if text else ("base64", item.media_type, item.data)
        titled = {"title": item.name} if item.name else {}
        return {"type": "document", "source": {"type": kind, "media_type": media_type, "data": data}, **titled}

    def call_id(self, block: Block) -> str | None:
        """The id of a call."""
        return str(block.get("id", "")) if block.get("type") == "tool_use" else None

    def can_carry(self, block: Block) -> bool:
        """Whether the block takes `cache_control`."""
        return str(block.get("type")) in _CARRIERS

    def is_thinking(self, block: Block) -> bool:
        """Whether this is reasoning."""
        return str(block.get("type")) in {"thinking", "redacted_thinking"}


SPELLING = Spelling()


class AnthropicMessages:
    """Renders requests and hands out readers; keeps the bytes of each message of its session."""

    def __init__(self) -> None:
        self._kept = Kept(SPELLING, frame)

    def render(self, request: Request) -> WireRequest:
        """The request as bytes: all that rarely changes, then the messages."""
        body = self._kept.body(request, mark_of(request))
        return WireRequest(url=address(request.endpoint.base_url), headers=_headers(request.endpoint), body=body)

    def reader(self, request: Request) -> "AnthropicReader":
        """A fresh reader."""
        return AnthropicReader(request)


def frame(request: Request, called: AbstractSet[str]) -> dict[str, Any]:
    """All of a request's body but its messages."""
    endpoint, asked = request.endpoint, room(request)
    tree: dict[str, Any] = {"model": endpoint.model, "max_tokens": asked.limit, "stream": True, **asked.fields}
    temperature = request.options.temperature
    if temperature is not None and not asked.thinks and "temperature" not in request.without:
        tree["temperature"] = temperature
    tools = [_tool(function, request) for function in functions(request, called)]
    if tools:
        tree |= {"tools": tools} if request.tools else {"tools": tools, "tool_choice": {"type": "none"}}
    if request.system.strip():
        marked = {"cache_control": _control(request)} if has_marks(request) else {}
        tree["system"] = [{"type": "text", "text": request.system, **marked}]
    kept = {name: value for name, value in tree.items() if name not in endpoint.profile.omits}
    return merged({**kept, **endpoint.profile.fixed}, endpoint.extra_body)


def _tool(function: Mapping[str, Any], request: Request) -> dict[str, Any]:
    return {**described(function, request), "input_schema": schema_of(function)}


def _control(request: Request) -> dict[str, str]:
    return {"type": "ephemeral", "ttl": "1h"} if request.options.cache == "1h" else {"type": "ephemeral"}


def mark_of(request: Request) -> Mark | None:
    """What puts a cache mark on the bytes of a message; None when the request has no marks."""
    if not has_marks(request):
        return None
    return Mark(b',"cache_control":' + encode(_control(request)), len(b"}]}"))


def unmarked(body: bytes) -> bytes:
    """A body without its cache marks."""
    for mark in (b',"cache_control":{"type":"ephemeral"}', b',"cache_control":{"type":"ephemeral","ttl":"1h"}'):
        body = body.replace(mark, b"")
    return body


def address(base_url: str) -> str:
    """Where messages go; the base address may or may not end in the version already."""
    base = base_url.rstrip("/")
    return f"{base}/messages" if base.endswith("/v1") else f"{base}/v1/messages"


def _headers(endpoint: Endpoint) -> dict[str, str]:
    headers = {"content-type": "application/json", "accept": "text/event-stream, application/json", "anthropic-version": VERSION}
    headers.update((name.lower(), value) for name, value in endpoint.headers.items())
    if not endpoint.credential:
        return headers
    if endpoint.auth in {"x-api-key", "api-key"}:
        return {**headers, endpoint.auth: endpoint.credential}
    if endpoint.credential.startswith(OAUTH_TOKEN) and OAUTH_BETA not in headers.get("anthropic-beta", ""):
        given = headers.get("anthropic-beta", "")
        headers["anthropic-beta"] = f"{given},{OAUTH_BETA}" if given else OAUTH_BETA
    return {**headers, "authorization": f"Bearer {endpoint.credential}"}


class AnthropicReader:
    """One reply, from server-sent events or from one JSON body: both take the same road."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._events = Events()
        self._arrival = Arrival()
        self._start = b""
        self._draft = Draft()
        self._used: dict[str, Any] = {}
        self._stop: Stop | None = None
        self._whole = False
        self._id = ""
        self.usage = Usage(requests=1)
        self.progress = 0

    def feed(self, data: bytes) -> list[Delta]:
        """What these bytes added."""
        data = self._arrival.streamed(data)
        self._start = self._start or data.lstrip()[:100]
        for event in self._events.feed(data):
            self._event(event)
        return self._draft.taken()

    def finish(self) -> Assistant:
        """The whole reply."""
        if self._arrival.body:
            self._message(tree_of(self._arrival.body, _A_REPLY))
        for event in self._events.finish():
            self._event(event)
        if not self._whole:
            raise self._unfinished()
        reply = self._draft.finish(self._stop or "end", self._id, self.usage, _raw)
        return with_origin(reply, self._request)

    def _unfinished(self) -> Exception:
        if self.progress or not self._start or self._start.startswith(_LINES):
            return CutShortError("The stream ended before the reply did.")
        return BadReplyError(f"The server sent something that is not {_A_REPLY}: {self._start.decode('utf-8', 'replace')!r}")

    def _event(self, data: bytes) -> None:
        if data == b"[DONE]":
            return
        event = tree_of(data, _A_REPLY)
        kind = event.get("type")
        self.progress += kind != "ping"
        match kind:
            case "message_start":
                self._started(part(event, "message"))
            case "content_block_start":
                self._block(count(event, "index"), part(event, "content_block"))
            case "content_block_delta":
                self._delta(count(event, "index"), part(event, "delta"))
            case "message_delta":
                self._stopped(part(event, "delta"))
                self._spent(part(event, "usage"))
            case "message_stop":
                self._whole = True
            case "error":
                raise _wire_error(event)

    def _message(self, tree: dict[str, Any]) -> None:
        """One whole body: the events that would have told it."""
        if tree.get("type") == "error" or part(tree, "error"):
            raise _wire_error(tree)
        content = tree.get("content")
        if not isinstance(content, list):
            raise BadReplyError(f"The server sent something that is not {_A_REPLY}: it has no content.")
        self._started(tree)
        for index, block in enumerate(content):
            self._block(index, block if isinstance(block, dict) else {})
        self._stopped(tree)
        self.progress += 1
        self._whole = True

    def _started(self, message: dict[str, Any]) -> None:
        self._id = string(message, "id")
        self._spent(part(message, "usage"))

    def _stopped(self, delta: dict[str, Any]) -> None:
        reason = string(delta, "stop_reason")
        if reason:
            self._stop = STOPS.get(reason, "end")

    def _spent(self, usage: dict[str, Any]) -> None:
        """Counts are totals so far, each event with those it knows."""
        self._used.update((name, value) for name, value in usage.items() if value)
        read, written = count(self._used, "cache_read_input_tokens"), count(self._used, "cache_creation_input_tokens")
        self.usage = Usage(
            input_tokens=count(self._used, "input_tokens") + read + written,
            output_tokens=count(self._used, "output_tokens"),
            cache_read=read,
            cache_write=written,
            reasoning=count(part(self._used, "output_tokens_details"), "thinking_tokens"),
            requests=1,
        )

    def _block(self, index: int, block: dict[str, Any]) -> None:
        draft, kind = self._draft, str(block.get("type"))
        match kind:
            case "text":
                _begin(draft.item(index, "text"), block)
                draft.text(index, string(block, "text"))
            case "thinking":
                _begin(draft.item(index, "thinking"), block)
                draft.thinking(index, string(block, "thinking"))
                draft.signature(index, string(block, "signature"))
            case "redacted_thinking":
                draft.redacted(index, string(block, "data"))
            case "tool_use":
                _begin(draft.call(index, string(block, "id"), string(block, "name")), block)
                draft.arguments(index, block.get("input"))
            case _:
                draft.other(index, block, _remark(block))

    def _delta(self, index: int, delta: dict[str, Any]) -> None:
        draft = self._draft
        match delta.get("type"):
            case "text_delta":
                draft.text(index, string(delta, "text"))
            case "thinking_delta":
                draft.thinking(index, string(delta, "thinking"))
            case "signature_delta":
                draft.signature(index, string(delta, "signature"))
            case "input_json_delta":
                draft.arguments(index, string(delta, "partial_json"))
            case "citations_delta":
                item = draft.item(index, "text")
                item.rich = True
                item.tree["citations"] = [*(item.tree.get("citations") or []), delta.get("citation")]
            case _:
                _grow(draft.other(index, {}, _remark(delta)), delta)


def _begin(item: Item, block: dict[str, Any]) -> None:
    """A block that says more than a message can hold makes its reply one that is kept whole."""
    more = {name: value for name, value in block.items() if value and name not in _SAID}
    item.tree, item.rich = block, bool(more) and more != {"caller": {"type": "direct"}}


def _grow(item: Item, delta: dict[str, Any]) -> None:
    """What a delta of an unknown kind says is added to its block: texts and lists get longer, all else is replaced."""
    item.rich = True
    for name, value in delta.items():
        if name != "type":
            item.tree[name] = _longer(item.tree.get(name), value)


def _longer(known: Any, value: Any) -> Any:
    grows = isinstance(known, str | list) and type(known) is type(value)
    return known + value if grows else value


def _remark(block: dict[str, Any]) -> str:
    if block.get("type") == "server_tool_use":
        return f"The provider ran its own tool {block.get('name')}."
    return f"The reply holds an item of type {block.get('type')}, which goes back to the provider as it came."


def _raw(item: Item, call: ToolCall | None) -> dict[str, Any]:
    """A block as the wire takes it back."""
    match item.kind:
        case "text":
            return {"type": "text", **item.tree, "text": item.whole_text}
        case "thinking":
            return {"type": "thinking", **item.tree, "thinking": item.whole_text, "signature": item.whole_signature}
        case "redacted":
            return {"type": "redacted_thinking", "data": item.whole_signature}
        case "call":
            return {**item.tree, "id": call.id, "input": dict(call.arguments)} if call else item.tree
        case "other":
            return {**item.tree, "input": parse_arguments("".join(item.arguments)).value} if item.arguments else item.tree


def _wire_error(tree: dict[str, Any]) -> WireError:
    error = part(tree, "error")
    code = string(error, "type")
    return WireError(string(error, "message") or code or str(tree.get("error")), status=STATUSES.get(code), code=code)
