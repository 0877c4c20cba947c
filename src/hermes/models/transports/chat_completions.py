"""The chat-completions wire: any OpenAI-compatible endpoint, streaming or not."""

from typing import Any

from hermes.models.transports.base import WireRequest
from hermes.models.transports.chat_messages import Form, form_of, pictures, system_message, wire_message
from hermes.models.transports.chat_reader import ChatReader
from hermes.models.transports.dialects import adapt
from hermes.models.transports.encoding import address, encode, headers, merged, same_frame
from hermes.models.transports.growing import Encoded, Growing, Mark, Messages, shown_before
from hermes.models.transports.parameters import sampling
from hermes.types.message import Message, ToolResult
from hermes.types.request import Options, Request

_MARKS = {"": b',"cache_control":{"type":"ephemeral"}', "1h": b',"cache_control":{"type":"ephemeral","ttl":"1h"}'}
_PARTS_END = b"}]}"
"""How a message ends whose content is a list of parts: a mark may stand before it."""


class ChatCompletions:
    """Renders requests and hands out readers; keeps the bytes of each message of its session."""

    def __init__(self) -> None:
        self._form: Form | None = None
        self._grown = Growing()
        self._blocks: dict[str, bytes] = {}
        self._frame: tuple[Request | None, bytes, bytes] = (None, b"", b"")

    def render(self, request: Request) -> WireRequest:
        """The request as bytes: a frame that rarely changes around blocks that never do."""
        form = form_of(request)
        if form != self._form:
            self._form = form
            self._blocks.clear()
        head, tail = self._frame_of(request, form)
        settled, rest = self._messages(request.messages, form, _mark(request.options) if form.marks else None)
        return WireRequest(
            url=address(request.endpoint.base_url, "/chat/completions"),
            headers=headers(request),
            body=b"".join((head, b"," if request.system and rest else b"", settled, rest, tail)),
        )

    def reader(self, request: Request) -> ChatReader:
        """A fresh reader."""
        return ChatReader(request.endpoint)

    def _messages(self, messages: Messages, form: Form, mark: Mark | None) -> tuple[bytearray, bytes]:
        apart = form.sees and not form.results_hold_images

        def take(messages: Messages, index: int) -> None:
            message = messages[index]
            if apart and not isinstance(message, ToolResult) and (results := shown_before(messages, index)):
                self._grown.add(self._pictures(results, form))
            self._grown.add(_encoded(self._blocks.get(message.id) or self._block(message, form)))

        self._grown.grow(messages, form, take)
        owed = shown_before(messages, len(messages)) if apart else []
        return self._grown.parts(mark, [self._pictures(owed, form)] if owed else [])

    def _block(self, message: Message, form: Form) -> bytes:
        block = self._blocks[message.id] = encode(wire_message(message, form))
        return block

    def _pictures(self, results: list[ToolResult], form: Form) -> Encoded:
        key = "\n".join(result.id for result in results) + "\n"
        if key not in self._blocks:
            self._blocks[key] = encode(pictures(results, form))
        return _encoded(self._blocks[key])

    def _frame_of(self, request: Request, form: Form) -> tuple[bytes, bytes]:
        """Bytes before and after the messages; rendered anew only when what they say has changed."""
        known, head, tail = self._frame
        if known is None or not same_frame(known, request):
            head, tail = _frame(request, form)
            self._frame = (request, head, tail)
        return head, tail


def _encoded(block: bytes) -> Encoded:
    return Encoded(block, block.endswith(_PARTS_END))


def unmarked(body: bytes) -> bytes:
    """A body without its marks; each extends the one before, byte by byte."""
    for mark in _MARKS.values():
        body = body.replace(mark, b"")
    return body


def _mark(options: Options) -> Mark:
    return Mark(_MARKS["1h" if options.cache == "1h" else ""], len(_PARTS_END))


def _frame(request: Request, form: Form) -> tuple[bytes, bytes]:
    head = encode({"model": request.endpoint.model})[:-1] + b',"messages":['
    if request.system:
        system = encode(system_message(request.system, form))
        head += _mark(request.options).on(system) if form.marks else system
    after: dict[str, Any] = {"stream": True}
    if "usage" not in request.without:
        after["stream_options"] = {"include_usage": True}
    if request.tools:
        after["tools"] = adapt(request.tools, request.endpoint.profile.dialect, request.without)
    return head, b"]," + encode(merged(after | sampling(request), request.endpoint.extra_body))[1:]
