"""Reads the reply on the Anthropic Messages wire."""

from collections.abc import Mapping
from typing import Any

from hermes.lib.jsonfix import parse_arguments
from hermes.models.transports.base import BadReplyError, CutShortError, WireError
from hermes.models.transports.common.arrival import BodyDetector, Events
from hermes.models.transports.common.drafts import Draft, DraftItem, count, part, string, tree_of, with_origin
from hermes.types.message import Assistant, ToolCall
from hermes.types.request import Delta, Request
from hermes.types.usage import Stop, Usage

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
_SAID = frozenset({"type", "text", "thinking", "signature", "id", "name", "input"})
_LINES = (b"data", b"even", b"id:", b"retr", b":")
_A_REPLY = "a reply of the Messages wire"


class AnthropicReader:
    """One reply, from server-sent events or from one JSON body: both take the same road."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._events = Events()
        self._arrival = BodyDetector()
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
            if self.progress or not self._start or self._start.startswith(_LINES):
                raise CutShortError("The stream ended before the reply did.")
            shown = self._start.decode("utf-8", "replace")
            raise BadReplyError(f"The server sent something that is not {_A_REPLY}: {shown!r}")
        reply = self._draft.finish(self._stop or "end", self._id, self.usage, _raw)
        return with_origin(reply, self._request)

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
        read, written = (
            count(self._used, "cache_read_input_tokens"),
            count(self._used, "cache_creation_input_tokens"),
        )
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


def _begin(item: DraftItem, block: dict[str, Any]) -> None:
    """A block that says more than a message can hold makes its reply one that is kept whole."""
    more = {name: value for name, value in block.items() if value and name not in _SAID}
    item.tree, item.rich = block, bool(more) and more != {"caller": {"type": "direct"}}


def _grow(item: DraftItem, delta: dict[str, Any]) -> None:
    """What a delta of an unknown kind says is added to its block: texts and lists get longer, all else is
    replaced.
    """
    item.rich = True
    for name, value in delta.items():
        if name != "type":
            known = item.tree.get(name)
            longer = isinstance(known, str | list) and type(known) is type(value)
            item.tree[name] = known + value if longer else value


def _remark(block: dict[str, Any]) -> str:
    if block.get("type") == "server_tool_use":
        return f"The provider ran its own tool {block.get('name')}."
    return f"The reply holds an item of type {block.get('type')}, which goes back to the provider as it came."


def _raw(item: DraftItem, call: ToolCall | None) -> dict[str, Any]:
    """A block as the wire takes it back."""
    match item.kind:
        case "text":
            return {"type": "text", **item.tree, "text": item.whole_text}
        case "thinking":
            return {
                "type": "thinking",
                **item.tree,
                "thinking": item.whole_text,
                "signature": item.whole_signature,
            }
        case "redacted":
            return {"type": "redacted_thinking", "data": item.whole_signature}
        case "call":
            return {**item.tree, "id": call.id, "input": dict(call.arguments)} if call else item.tree
        case "other":
            return (
                {**item.tree, "input": parse_arguments("".join(item.arguments)).value}
                if item.arguments
                else item.tree
            )


def _wire_error(tree: dict[str, Any]) -> WireError:
    error = part(tree, "error")
    code = string(error, "type")
    return WireError(
        string(error, "message") or code or str(tree.get("error")), status=STATUSES.get(code), code=code
    )
