"""The Responses wire: OpenAI's own, xAI's, and the one behind a ChatGPT account."""

from collections.abc import Mapping
from typing import Any

from hermes.models.transports.base import WireRequest
from hermes.models.transports.dialects import adapt
from hermes.models.transports.encoding import address, encode, headers, merged, same_frame
from hermes.models.transports.growing import Encoded, Growing, Messages, shown_before
from hermes.models.transports.parameters import nearest
from hermes.models.transports.responses_items import items, pictures, sees
from hermes.models.transports.responses_reader import ResponsesReader
from hermes.types.message import Message, ToolResult
from hermes.types.profile import Profile
from hermes.types.request import LeftOut, Request


class CodexResponses:
    """Renders requests and hands out readers; keeps the bytes of each message of its session."""

    def __init__(self) -> None:
        self._form: tuple[Profile, frozenset[LeftOut]] | None = None
        self._grown = Growing()
        self._blocks: dict[str, bytes] = {}
        self._frame: tuple[Request | None, bytes, bytes] = (None, b"", b"")

    def render(self, request: Request) -> WireRequest:
        """The request as bytes: a frame that rarely changes around blocks that never do."""
        form = (request.endpoint.profile, request.without)
        if form != self._form:
            self._form = form
            self._blocks.clear()
        head, tail = self._frame_of(request)
        settled, rest = self._input(request)
        return WireRequest(
            url=address(request.endpoint.base_url, "/responses"),
            headers=headers(request),
            body=b"".join((head, settled, rest, tail)),
        )

    def reader(self, request: Request) -> ResponsesReader:
        """A fresh reader."""
        return ResponsesReader(request.endpoint)

    def _input(self, request: Request) -> tuple[bytearray, bytes]:
        apart = "tool_images" in request.without and sees(request.endpoint.profile, request.without)

        def take(messages: Messages, index: int) -> None:
            message = messages[index]
            if apart and not isinstance(message, ToolResult) and (results := shown_before(messages, index)):
                self._grown.add(Encoded(encode(pictures(results))))
            block = self._blocks[message.id] if message.id in self._blocks else self._block(message, request)
            if block:
                self._grown.add(Encoded(block))

        self._grown.grow(request.messages, self._form, take)
        owed = shown_before(request.messages, len(request.messages)) if apart else []
        return self._grown.parts(None, [Encoded(encode(pictures(owed)))] if owed else [])

    def _block(self, message: Message, request: Request) -> bytes:
        each = items(message, request.endpoint.profile, request.without)
        block = self._blocks[message.id] = b",".join(encode(item) for item in each)
        return block

    def _frame_of(self, request: Request) -> tuple[bytes, bytes]:
        """Bytes before and after the input; rendered anew only when what they say has changed."""
        known, head, tail = self._frame
        if known is None or not same_frame(known, request):
            head, tail = _frame(request)
            self._frame = (request, head, tail)
        return head, tail


def _frame(request: Request) -> tuple[bytes, bytes]:
    before: dict[str, Any] = {"model": request.endpoint.model}
    if request.system:
        before["instructions"] = request.system
    after: dict[str, Any] = {"stream": True, "store": False}
    if request.tools:
        after["tools"] = [_flat(tool) for tool in adapt(request.tools, request.endpoint.profile.dialect, request.without)]
    body = merged(after | _parameters(request), request.endpoint.extra_body)
    return encode(before)[:-1] + b',"input":[', b"]," + encode(body)[1:]


def _flat(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A definition in the wire's own form; strict must be denied, for here it is what silence means."""
    return {"type": "function", "strict": False, **tool["function"]}


def _parameters(request: Request) -> dict[str, Any]:
    profile, without = request.endpoint.profile, request.without
    named: dict[str, Any] = {}
    if "temperature" not in without:
        named["temperature"] = request.options.temperature
    if "limit" not in without:
        named["max_output_tokens"] = request.options.max_output
    named |= profile.fixed
    if profile.thinking and "thinking" not in without:
        named["include"] = ["reasoning.encrypted_content"]
        named["reasoning"] = None if "effort" in without else _reasoning(request)
    return {name: value for name, value in named.items() if value is not None and name not in profile.omits}


def _reasoning(request: Request) -> dict[str, Any]:
    effort = nearest(request.options.effort, request.endpoint.profile.efforts)
    return {"effort": effort, "summary": "auto"} if effort else {"summary": "auto"}
