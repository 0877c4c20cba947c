"""The chat-completions wire: any OpenAI-compatible endpoint, streaming or not."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from hermes.models.transports.base import WireRequest, result_text
from hermes.models.transports.chat.reader import ChatReader
from hermes.models.transports.common.dialects import adapt, named_schema
from hermes.models.transports.common.encoding import (
    PARTS_END,
    Mark,
    MessageBuffer,
    address,
    arguments,
    call_id,
    data_address,
    encode,
    headers,
    in_words,
    is_image,
    merged,
)
from hermes.models.transports.common.parameters import output_schema, sampling
from hermes.types.message import Assistant, Attachment, Compaction, Message, ToolCall, ToolResult, User
from hermes.types.profile import Profile
from hermes.types.request import LeftOut, Options, Request

PROTOCOL = "chat_completions"
LOST_REASONING = "(The reasoning was not kept.)"
PICTURES = "The images of the results above:"


class MessageForm(Struct, frozen=True):
    """What decides how a message is written: two requests of the same form write a message in the same
    bytes.
    """

    profile: Profile
    without: frozenset[LeftOut]

    @property
    def sees(self) -> bool:
        """Whether images may be sent."""
        return self.profile.vision and "images" not in self.without

    @property
    def results_hold_images(self) -> bool:
        """Whether a tool's result may hold images."""
        return self.sees and self.profile.tool_images and "tool_images" not in self.without

    @property
    def marks(self) -> bool:
        """Whether parts of the prompt may be marked for the cache; texts are part lists then."""
        return self.profile.cache_marks and "cache_marks" not in self.without

    def replays(self, message: Assistant) -> bool:
        """Whether the wire's own items of a reply go back with it."""
        same = (message.protocol, message.family) == (PROTOCOL, self.profile.family)
        return same and bool(message.opaque) and "thinking" not in self.without


def form_of(request: Request) -> MessageForm:
    """The form of a request's messages; without a time to keep them there are no marks."""
    unmarked: frozenset[LeftOut] = frozenset() if request.options.cache else frozenset({"cache_marks"})
    return MessageForm(request.endpoint.profile, request.without | unmarked)


def wire_message(message: Message, form: MessageForm) -> dict[str, Any]:
    """One message; its content comes last, where a mark can be put."""
    match message:
        case User():
            return {
                "role": "user",
                "content": _content(
                    message.told,
                    message.attachments,
                    form,
                ),
            }
        case Compaction():
            return {"role": "user", "content": _content(message.summary, (), form)}
        case ToolResult():
            images = message.images if form.results_hold_images else ()
            answers = call_id(message.call_id, form.profile.call_ids)
            return {
                "role": "tool",
                "tool_call_id": answers,
                "content": _content(result_text(message), images, form),
            }
        case Assistant():
            return _reply(message, form)


def pictures(results: Sequence[ToolResult], form: MessageForm) -> dict[str, Any]:
    """The user message that brings the images of a batch of results, where the results themselves may hold
    none.
    """
    images = tuple(image for result in results for image in result.images)
    return {"role": "user", "content": _content(PICTURES, images, form)}


def system_message(text: str, form: MessageForm) -> dict[str, Any]:
    """The system prompt, in the role that the model reads it in."""
    return {"role": form.profile.system_role, "content": _content(text, (), form)}


def _content(text: str, files: tuple[Attachment, ...], form: MessageForm) -> Any:
    if not files and not (form.marks and text):
        return text
    return [{"type": "text", "text": text}, *(_part(item, form) for item in files)]


def _part(item: Attachment, form: MessageForm) -> dict[str, Any]:
    if is_image(item) and form.sees:
        return {"type": "image_url", "image_url": {"url": data_address(item)}}
    if item.media_type == "application/pdf" and form.profile.documents:
        return {
            "type": "file",
            "file": {"filename": item.name or "document.pdf", "file_data": data_address(item)},
        }
    return {"type": "text", "text": in_words(item)}


def _reply(message: Assistant, form: MessageForm) -> dict[str, Any]:
    own = message.opaque if form.replays(message) else ()
    reasoning = _reasoning(message, own, form)
    if not message.calls:
        return {"role": "assistant", **reasoning, "content": _content(message.text, (), form)}
    extras = {item["id"]: item["extra_content"] for item in own if "extra_content" in item}
    calls = [_wire_call(call, form, extras) for call in message.calls]
    content = _content(message.text, (), form) if message.text else None
    return {"role": "assistant", **reasoning, "tool_calls": calls, "content": content}


def _reasoning(message: Assistant, own: Sequence[Mapping[str, Any]], form: MessageForm) -> dict[str, Any]:
    for item in own:
        if "reasoning_details" in item:
            return {"reasoning_details": item["reasoning_details"]}
    if not form.profile.replays_reasoning or "thinking" in form.without:
        return {}
    plain = "\n\n".join(item.text for item in message.thinking if item.text) or (
        LOST_REASONING if message.calls else ""
    )  # some servers refuse calls without any
    return {"reasoning_content": plain} if plain else {}


def _wire_call(call: ToolCall, form: MessageForm, extras: Mapping[str, Any]) -> dict[str, Any]:
    written = {
        "id": call_id(call.id, form.profile.call_ids),
        "type": "function",
        "function": {"name": call.name, "arguments": arguments(call)},
    }
    return {**written, "extra_content": extras[call.id]} if call.id in extras else written


_MARKS = {
    "": b',"cache_control":{"type":"ephemeral"}',
    "1h": b',"cache_control":{"type":"ephemeral","ttl":"1h"}',
}


class ChatCompletions:
    """Renders requests and hands out readers; keeps the bytes of each message of its session."""

    def __init__(self) -> None:
        self._buffer = MessageBuffer()

    def render(self, request: Request) -> WireRequest:
        """The request as bytes: a frame that rarely changes around blocks that never do."""
        form = form_of(request)
        apart = form.sees and not form.results_hold_images
        head, tail = self._buffer.framed(request, lambda request: _frame(request, form))
        settled, rest = self._buffer.joined(
            request.messages,
            form,
            lambda message: encode(wire_message(message, form)),
            (lambda results: encode(pictures(results, form))) if apart else None,
            _mark(request.options) if form.marks else None,
        )
        return WireRequest(
            url=address(request.endpoint.base_url, "/chat/completions"),
            headers=headers(request),
            body=b"".join((head, b"," if request.system and rest else b"", settled, rest, tail)),
        )

    def reader(self, request: Request) -> ChatReader:
        """A fresh reader."""
        return ChatReader(request.endpoint)


def _mark(options: Options) -> Mark:
    return Mark(_MARKS["1h" if options.cache == "1h" else ""], len(PARTS_END))


def _frame(request: Request, form: MessageForm) -> tuple[bytes, bytes]:
    head = encode({"model": request.endpoint.model})[:-1] + b',"messages":['
    if request.system:
        system = encode(system_message(request.system, form))
        head += _mark(request.options).on(system) if form.marks else system
    after: dict[str, Any] = {"stream": True}
    if "usage" not in request.without:
        after["stream_options"] = {"include_usage": True}
    if request.tools:
        after["tools"] = adapt(request.tools, request.endpoint.profile.dialect, request.without)
    if (schema := output_schema(request)) is not None:
        after["response_format"] = {"type": "json_schema", "json_schema": named_schema(schema)}
    return head, b"]," + encode(merged(after | sampling(request), request.endpoint.extra_body))[1:]
