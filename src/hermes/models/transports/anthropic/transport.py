"""The Anthropic Messages wire: Claude itself, and the servers that speak like it."""

from collections.abc import Set as AbstractSet
from typing import Any

from hermes.models.transports.anthropic.reader import AnthropicReader
from hermes.models.transports.base import WireRequest
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
from hermes.models.transports.common.dialects import closed_schema
from hermes.models.transports.common.encoding import Mark, encode, merged
from hermes.models.transports.common.parameters import output_limits, output_schema
from hermes.types.message import Attachment, Thinking, ToolCall, ToolResult
from hermes.types.request import Endpoint, Request

# newer ones take no sampling parameters, and other makers' servers know only this; an endpoint may name
# another
VERSION = "2023-06-01"
OAUTH_BETA = "oauth-2025-04-20"
OAUTH_TOKEN = "sk-ant-oat"  # noqa: S105  # how such a token begins, not one
_CARRIERS = frozenset({"text", "tool_use", "tool_result", "image", "document"})


class AnthropicBlocks:
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
        return {
            "type": "image",
            "source": {"type": "base64", "media_type": item.media_type, "data": item.data},
        }

    def document(self, item: Attachment, name: str) -> Block:  # noqa: ARG002  # the other wire needs a name
        """A PDF, or a text as it is."""
        text = plain_text(item)
        kind, media_type, data = (
            ("text", "text/plain", text) if text else ("base64", item.media_type, item.data)
        )
        titled = {"title": item.name} if item.name else {}
        return {
            "type": "document",
            "source": {"type": kind, "media_type": media_type, "data": data},
            **titled,
        }

    def call_id(self, block: Block) -> str | None:
        """The id of a call."""
        return str(block.get("id", "")) if block.get("type") == "tool_use" else None

    def can_carry(self, block: Block) -> bool:
        """Whether the block takes `cache_control`."""
        return str(block.get("type")) in _CARRIERS

    def is_thinking(self, block: Block) -> bool:
        """Whether this is reasoning."""
        return str(block.get("type")) in {"thinking", "redacted_thinking"}


SPELLING = AnthropicBlocks()


class AnthropicMessages:
    """Renders requests and hands out readers; keeps the bytes of each message of its session."""

    def __init__(self) -> None:
        self._kept = Kept(SPELLING, frame)

    def render(self, request: Request) -> WireRequest:
        """The request as bytes: all that rarely changes, then the messages."""
        body = self._kept.body(request, mark_of(request))
        return WireRequest(
            url=address(request.endpoint.base_url), headers=_headers(request.endpoint), body=body
        )

    def reader(self, request: Request) -> "AnthropicReader":
        """A fresh reader."""
        return AnthropicReader(request)


def frame(request: Request, called: AbstractSet[str]) -> dict[str, Any]:
    """All of a request's body but its messages."""
    endpoint, asked = request.endpoint, output_limits(request)
    tree: dict[str, Any] = {
        "model": endpoint.model,
        "max_tokens": asked.limit,
        "stream": True,
        **asked.fields,
    }
    temperature = request.options.temperature
    if temperature is not None and not asked.thinks and "temperature" not in request.without:
        tree["temperature"] = temperature
    schema = output_schema(request)
    if schema is not None and (closed := closed_schema(schema)) is not None:
        form = {"type": "json_schema", "schema": closed}
        tree["output_config"] = {**tree.get("output_config", {}), "format": form}
    tools = [
        {**described(function, request), "input_schema": schema_of(function)}
        for function in functions(request, called)
    ]
    if tools:
        tree |= {"tools": tools} if request.tools else {"tools": tools, "tool_choice": {"type": "none"}}
    if request.system.strip():
        marked = {"cache_control": _control(request)} if has_marks(request) else {}
        tree["system"] = [{"type": "text", "text": request.system, **marked}]
    kept = {name: value for name, value in tree.items() if name not in endpoint.profile.omits}
    return merged({**kept, **endpoint.profile.fixed}, endpoint.extra_body)


def _control(request: Request) -> dict[str, str]:
    return {"type": "ephemeral", "ttl": "1h"} if request.options.cache == "1h" else {"type": "ephemeral"}


def mark_of(request: Request) -> Mark | None:
    """What puts a cache mark on the bytes of a message; None when the request has no marks."""
    if not has_marks(request):
        return None
    return Mark(b',"cache_control":' + encode(_control(request)), len(b"}]}"))


def address(base_url: str) -> str:
    """Where messages go; the base address may or may not end in the version already."""
    base = base_url.rstrip("/")
    return f"{base}/messages" if base.endswith("/v1") else f"{base}/v1/messages"


def _headers(endpoint: Endpoint) -> dict[str, str]:
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream, application/json",
        "anthropic-version": VERSION,
    }
    headers.update((name.lower(), value) for name, value in endpoint.headers.items())
    if not endpoint.credential:
        return headers
    if endpoint.auth in {"x-api-key", "api-key"}:
        return {**headers, endpoint.auth: endpoint.credential}
    if endpoint.credential.startswith(OAUTH_TOKEN) and OAUTH_BETA not in headers.get("anthropic-beta", ""):
        given = headers.get("anthropic-beta", "")
        headers["anthropic-beta"] = f"{given},{OAUTH_BETA}" if given else OAUTH_BETA
    return {**headers, "authorization": f"Bearer {endpoint.credential}"}
