"""The Converse wire of Amazon Bedrock: Claude and others behind one form, in Amazon's binary event frames."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any
from urllib.parse import quote

from hermes.lib.jsonfix import parse_arguments
from hermes.models.transports.base import BadReplyError, CutShortError, WireError, WireRequest
from hermes.models.transports.bedrock.eventstream import Frame, Frames
from hermes.models.transports.common.arrival import BodyDetector
from hermes.models.transports.common.blocks import (
    Block,
    Kept,
    described,
    functions,
    has_marks,
    legal_name,
    plain_text,
    schema_of,
)
from hermes.models.transports.common.drafts import Draft, DraftItem, count, part, string, tree_of, with_origin
from hermes.models.transports.common.encoding import Mark, encode, merged
from hermes.models.transports.common.parameters import output_limits
from hermes.types.message import Assistant, Attachment, Thinking, ToolCall, ToolResult
from hermes.types.request import Delta, Endpoint, Request
from hermes.types.usage import Stop, Usage

STOPS: Mapping[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
    "refusal": "refusal",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
}
STATUSES: Mapping[str, int] = {
    "validationException": 400,
    "accessDeniedException": 403,
    "resourceNotFoundException": 404,
    "modelTimeoutException": 408,
    "modelErrorException": 424,
    "modelStreamErrorException": 424,
    "throttlingException": 429,
    "modelNotReadyException": 429,
    "internalServerException": 500,
    "serviceUnavailableException": 503,
}
_TEXTS = {"text/csv": "csv", "text/html": "html", "text/markdown": "md"}
_INFERENCE = {
    "max_tokens": "maxTokens",
    "temperature": "temperature",
    "top_p": "topP",
    "stop_sequences": "stopSequences",
}
_CARRIERS = frozenset({"text", "toolUse", "toolResult", "image", "document"})
_A_REPLY = "a reply of the Converse wire"


class BedrockBlocks:
    """Blocks as Converse takes them."""

    protocol = "bedrock_converse"

    def text(self, text: str) -> Block:
        """Text."""
        return {"text": text}

    def thinking(self, item: Thinking) -> Block:
        """Reasoning as it came."""
        if item.redacted:
            return {"reasoningContent": {"redactedContent": item.signature}}
        signed = {"signature": item.signature} if item.signature else {}
        return {"reasoningContent": {"reasoningText": {"text": item.text, **signed}}}

    def call(self, call_id: str, call: ToolCall) -> Block:
        """A call."""
        return {"toolUse": {"toolUseId": call_id, "name": legal_name(call.name), "input": call.arguments}}

    def result(self, call_id: str, message: ToolResult, content: list[Block]) -> Block:
        """The answer to a call."""
        block = {"toolUseId": call_id, "content": content}
        return {"toolResult": {**block, "status": "error"} if message.failed else block}

    def image(self, item: Attachment) -> Block:
        """A picture."""
        return {"image": {"format": item.media_type.removeprefix("image/"), "source": {"bytes": item.data}}}

    def document(self, item: Attachment, name: str) -> Block:
        """A PDF or a text."""
        form = _TEXTS.get(item.media_type, "txt") if plain_text(item) else "pdf"
        return {"document": {"format": form, "name": name, "source": {"bytes": item.data}}}

    def call_id(self, block: Block) -> str | None:
        """The id of a call; what a server ran by itself is none."""
        use = block.get("toolUse")
        return str(use.get("toolUseId", "")) if isinstance(use, Mapping) and not use.get("type") else None

    def can_carry(self, block: Block) -> bool:
        """Whether a cache point may follow the block."""
        return not _CARRIERS.isdisjoint(block)

    def is_thinking(self, block: Block) -> bool:
        """Whether this is reasoning."""
        return "reasoningContent" in block


SPELLING = BedrockBlocks()


class BedrockConverse:
    """Renders requests and hands out readers; keeps the bytes of each message of its session.

    An endpoint whose `auth` is "aws" gets its signature from `hermes.models.auth.aws`: a request is rendered
    without one.
    """

    def __init__(self) -> None:
        self._kept = Kept(SPELLING, frame)

    def render(self, request: Request) -> WireRequest:
        """The request as bytes: all that rarely changes, then the messages."""
        body = self._kept.body(request, mark_of(request))
        return WireRequest(url=address(request.endpoint), headers=_headers(request.endpoint), body=body)

    def reader(self, request: Request) -> "BedrockReader":
        """A fresh reader."""
        return BedrockReader(request)


def frame(request: Request, called: AbstractSet[str]) -> dict[str, Any]:
    """All of a request's body but its messages."""
    endpoint, asked = request.endpoint, output_limits(request)
    named: dict[str, Any] = {"max_tokens": asked.limit, **asked.fields}
    temperature = request.options.temperature
    if temperature is not None and not asked.thinks and "temperature" not in request.without:
        named["temperature"] = temperature
    named = {name: value for name, value in named.items() if name not in endpoint.profile.omits} | dict(
        endpoint.profile.fixed
    )
    tree: dict[str, Any] = {
        "inferenceConfig": {_INFERENCE[name]: value for name, value in named.items() if name in _INFERENCE}
    }
    additional = {name: value for name, value in named.items() if name not in _INFERENCE}
    if additional:
        tree["additionalModelRequestFields"] = additional
    tools = [
        {"toolSpec": {**described(function, request), "inputSchema": {"json": schema_of(function)}}}
        for function in functions(request, called)
    ]
    if tools:
        tree["toolConfig"] = {"tools": tools}
    if request.system.strip():
        tree["system"] = [{"text": request.system}, *([_point(request)] if has_marks(request) else [])]
    tables = {  # a table that is there already is added to
        name: {**tree[name], **value}
        for name, value in endpoint.extra_body.items()
        if isinstance(tree.get(name), Mapping) and isinstance(value, Mapping)
    }
    return merged(tree, {**endpoint.extra_body, **tables})


def _point(request: Request) -> dict[str, Any]:
    long = {"ttl": "1h"} if request.options.cache == "1h" else {}
    return {"cachePoint": {"type": "default", **long}}


def mark_of(request: Request) -> Mark | None:
    """What puts a cache point at the end of the bytes of a message; None when the request has no marks."""
    if not has_marks(request):
        return None
    return Mark(b"," + encode(_point(request)), len(b"]}"))


def address(endpoint: Endpoint) -> str:
    """Where a conversation with the endpoint's model goes; a model may be named by an ARN."""
    return f"{endpoint.base_url.rstrip('/')}/model/{quote(endpoint.model, safe='')}/converse-stream"


def _headers(endpoint: Endpoint) -> dict[str, str]:
    headers = {
        "content-type": "application/json",
        "accept": "application/vnd.amazon.eventstream, application/json",
        **endpoint.headers,
    }
    if endpoint.auth == "bearer" and endpoint.credential:
        headers["authorization"] = f"Bearer {endpoint.credential}"
    return headers


class BedrockReader:
    """One reply, from event frames or from one JSON body: both take the same road."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._frames = Frames(_A_REPLY)
        self._arrival = BodyDetector()
        self._draft = Draft()
        self._stop: Stop | None = None
        self.usage = Usage(requests=1)
        self.progress = 0

    def feed(self, data: bytes) -> list[Delta]:
        """What these bytes added."""
        for event in self._frames.feed(self._arrival.streamed(data)):
            self._event(event)
        return self._draft.taken()

    def finish(self) -> Assistant:
        """The whole reply."""
        if self._arrival.body:
            self._message(tree_of(self._arrival.body, _A_REPLY))
        if self._stop is None:
            raise CutShortError("The stream ended before the reply did.")
        return with_origin(self._draft.finish(self._stop, "", self.usage, _raw), self._request)

    def _event(self, event: Frame) -> None:
        if event.kind != "event":
            raise WireError(event.said or event.name, status=STATUSES.get(event.name), code=event.name)
        tree = tree_of(event.payload, _A_REPLY)
        self.progress += 1
        index = count(tree, "contentBlockIndex")
        match event.name:
            case "contentBlockStart":
                self._block(index, part(tree, "start"))
            case "contentBlockDelta":
                self._delta(index, part(tree, "delta"))
            case "messageStop":
                self._stop = STOPS.get(string(tree, "stopReason"), "end")
            case "metadata":
                self._spent(part(tree, "usage"))

    def _message(self, tree: dict[str, Any]) -> None:
        """One whole body: the blocks and counts that the events would have told."""
        content = part(part(tree, "output"), "message").get("content")
        if not isinstance(content, list):
            raise BadReplyError(
                f"The server sent something that is not {_A_REPLY}:"
                f" {string(tree, 'message') or 'it has no output.'}"
            )
        for index, block in enumerate(content):
            self._block(index, block if isinstance(block, dict) else {})
        self._stop = STOPS.get(string(tree, "stopReason"), "end")
        self._spent(part(tree, "usage"))
        self.progress += 1

    def _spent(self, usage: dict[str, Any]) -> None:
        read, written = count(usage, "cacheReadInputTokens"), count(usage, "cacheWriteInputTokens")
        self.usage = Usage(
            input_tokens=count(usage, "inputTokens") + read + written,
            output_tokens=count(usage, "outputTokens"),
            cache_read=read,
            cache_write=written,
            requests=1,
        )

    def _block(self, index: int, block: dict[str, Any]) -> None:
        """A block begins, or is there at once."""
        use = part(block, "toolUse")
        if use and not use.get("type"):
            self._draft.call(index, string(use, "toolUseId"), string(use, "name"))
            self._draft.arguments(index, use.get("input"))
        elif "text" in block:
            self._draft.text(index, string(block, "text"))
        elif "reasoningContent" in block:
            reasoning = part(block, "reasoningContent")
            self._thought(index, part(reasoning, "reasoningText") or reasoning)
        elif block:
            self._draft.other(index, block, _remark(block))

    def _delta(self, index: int, delta: dict[str, Any]) -> None:
        draft = self._draft
        match next(iter(delta), ""):
            case "text":
                draft.text(index, string(delta, "text"))
            case "reasoningContent":
                self._thought(index, part(delta, "reasoningContent"))
            case "toolUse":
                draft.arguments(index, string(part(delta, "toolUse"), "input"))
            case "citation":
                item = draft.item(index, "text")
                item.rich = True
                item.tree.setdefault("citations", []).append(delta["citation"])
            case name if name:
                item = draft.other(index, {}, _remark(delta))
                item.tree.setdefault(name, {})
                _grow(item.tree, name, delta[name])

    def _thought(self, index: int, reasoning: dict[str, Any]) -> None:
        if "redactedContent" in reasoning:
            self._draft.redacted(index, string(reasoning, "redactedContent"))
            return
        self._draft.thinking(index, string(reasoning, "text"))
        if reasoning.get("signature"):
            self._draft.signature(index, string(reasoning, "signature"))


def _grow(tree: dict[str, Any], name: str, value: Any) -> None:
    """What a delta of an unknown kind says is added to its block: lists into its content, fields beside the
    ones it has.
    """
    if isinstance(value, list):
        tree[name].setdefault("content", []).extend(value)
    elif isinstance(value, dict):
        tree[name].update(value)


def _remark(block: dict[str, Any]) -> str:
    name = next(iter(block), "")
    if name == "toolUse":
        return f"The provider ran its own tool {part(block, 'toolUse').get('name')}."
    return f"The reply holds an item of type {name}, which goes back to the provider as it came."


def _raw(item: DraftItem, call: ToolCall | None) -> dict[str, Any]:
    """A block as the wire takes it back."""
    match item.kind:
        case "text" if item.rich:
            return {"citationsContent": {"content": [{"text": item.whole_text}], **item.tree}}
        case "text":
            return {"text": item.whole_text}
        case "thinking":
            return dict(SPELLING.thinking(Thinking(text=item.whole_text, signature=item.whole_signature)))
        case "redacted":
            return dict(SPELLING.thinking(Thinking(text="", signature=item.whole_signature, redacted=True)))
        case "call" if call:
            return dict(SPELLING.call(call.id, call))
        case _ if item.arguments:
            return {
                "toolUse": {
                    **part(item.tree, "toolUse"),
                    "input": parse_arguments("".join(item.arguments)).value,
                }
            }
        case _:
            return item.tree
