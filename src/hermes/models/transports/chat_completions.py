"""The chat-completions wire: any OpenAI-compatible endpoint, streaming or not."""

from typing import Any

from hermes.models.transports.base import WireRequest
from hermes.models.transports.chat_messages import Form, form_of, pictures, system_message, wire_message
from hermes.models.transports.chat_reader import ChatReader
from hermes.models.transports.dialects import adapt
from hermes.models.transports.encoding import address, encode, headers, merged
from hermes.models.transports.parameters import sampling
from hermes.types.message import Message, ToolResult
from hermes.types.request import Options, Request

MARKED_MESSAGES = 3
_MARKS = {"": b',"cache_control":{"type":"ephemeral"}', "1h": b',"cache_control":{"type":"ephemeral","ttl":"1h"}'}
_PARTS_END = b"}]}"


class ChatCompletions:
    """Renders requests and hands out readers; keeps the bytes of each message of its session."""

    def __init__(self) -> None:
        self._form: Form | None = None
        self._blocks: dict[str, bytes] = {}
        self._frame: tuple[Request | None, bytes, bytes] = (None, b"", b"")

    def render(self, request: Request) -> WireRequest:
        """The request as bytes: a frame that rarely changes around blocks that never do."""
        form = form_of(request)
        if form != self._form:
            self._form = form
            self._blocks.clear()
        head, tail = self._frame_of(request, form)
        blocks = self._messages(request, form)
        if form.marks:
            blocks = marked(blocks, _mark(request.options))
        return WireRequest(
            url=address(request.endpoint.base_url, "/chat/completions"),
            headers=headers(request),
            body=head + b",".join(blocks) + tail,
        )

    def reader(self, request: Request) -> ChatReader:
        """A fresh reader."""
        return ChatReader(request.endpoint)

    def _messages(self, request: Request, form: Form) -> list[bytes]:
        kept = self._blocks
        blocks: list[bytes] = []
        owed: list[ToolResult] = []
        for message in request.messages:
            if owed and not isinstance(message, ToolResult):
                blocks.append(self._pictures(owed, form))
                owed = []
            blocks.append(kept.get(message.id) or self._block(message, form))
            if isinstance(message, ToolResult) and message.images and form.sees and not form.results_hold_images:
                owed.append(message)
        return [*blocks, self._pictures(owed, form)] if owed else blocks

    def _block(self, message: Message, form: Form) -> bytes:
        block = self._blocks[message.id] = encode(wire_message(message, form))
        return block

    def _pictures(self, results: list[ToolResult], form: Form) -> bytes:
        key = "\n".join(result.id for result in results) + "\n"
        if key not in self._blocks:
            self._blocks[key] = encode(pictures(results, form))
        return self._blocks[key]

    def _frame_of(self, request: Request, form: Form) -> tuple[bytes, bytes]:
        """Bytes before and after the messages; rendered anew only when what they say has changed."""
        known, head, tail = self._frame
        if known is None or not _same_frame(known, request):
            head, tail = _frame(request, form)
            self._frame = (request, head, tail)
        return head, tail


def marked(blocks: list[bytes], mark: bytes) -> list[bytes]:
    """The blocks with a mark for the cache at the end of the last three that can carry one."""
    new, left = list(blocks), MARKED_MESSAGES
    for place in range(len(new) - 1, -1, -1):
        if not left:
            break
        if new[place].endswith(_PARTS_END):
            new[place] = _with_mark(new[place], mark)
            left -= 1
    return new


def unmarked(body: bytes) -> bytes:
    """A body without its marks; each extends the one before, byte by byte."""
    for mark in _MARKS.values():
        body = body.replace(mark, b"")
    return body


def _with_mark(block: bytes, mark: bytes) -> bytes:
    return block[: -len(_PARTS_END)] + mark + _PARTS_END


def _mark(options: Options) -> bytes:
    return _MARKS["1h" if options.cache == "1h" else ""]


def _same_frame(known: Request, request: Request) -> bool:
    return (
        known.tools is request.tools
        and known.system == request.system
        and known.options == request.options
        and known.endpoint == request.endpoint
        and known.without == request.without
    )


def _frame(request: Request, form: Form) -> tuple[bytes, bytes]:
    head = encode({"model": request.endpoint.model})[:-1] + b',"messages":['
    if request.system:
        system = encode(system_message(request.system, form))
        head += _with_mark(system, _mark(request.options)) if form.marks else system
        head += b"," if request.messages else b""
    after: dict[str, Any] = {"stream": True}
    if "usage" not in request.without:
        after["stream_options"] = {"include_usage": True}
    if request.tools:
        after["tools"] = adapt(request.tools, request.endpoint.profile.dialect, request.without)
    return head, b"]," + encode(merged(after | sampling(request), request.endpoint.extra_body))[1:]
