"""Messages of a log as messages of a chat completion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes.models.transports.base import result_text
from hermes.models.transports.encoding import arguments, call_id, data_address, in_words, is_image
from hermes.types.message import Assistant, Attachment, Compaction, Message, Thinking, ToolCall, ToolResult, User
from hermes.types.profile import Profile
from hermes.types.request import LeftOut, Request

PROTOCOL = "chat_completions"
LOST_REASONING = "(The reasoning was not kept.)"
PICTURES = "The images of the results above:"


@dataclass(frozen=True, slots=True)
class Form:
    """What decides how a message is written: two requests of the same form write a message in the same bytes."""

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


def form_of(request: Request) -> Form:
    """The form of a request's messages."""
    return Form(request.endpoint.profile, request.without)


def wire_message(message: Message, form: Form) -> dict[str, Any]:
    """One message; its content comes last, where a mark can be put."""
    match message:
        case User():
            return {"role": "user", "content": _content(_said(message), message.attachments, form)}
        case Compaction():
            return {"role": "user", "content": _content(message.summary, (), form)}
        case ToolResult():
            images = message.images if form.results_hold_images else ()
            answers = call_id(message.call_id, form.profile.call_ids)
            return {"role": "tool", "tool_call_id": answers, "content": _content(result_text(message), images, form)}
        case Assistant():
            return _reply(message, form)


def pictures(results: Sequence[ToolResult], form: Form) -> dict[str, Any]:
    """The user message that brings the images of a batch of results, where the results themselves may hold none."""
    images = tuple(image for result in results for image in result.images)
    return {"role": "user", "content": _content(PICTURES, images, form)}


def system_message(text: str, form: Form) -> dict[str, Any]:
    """The system prompt, in the role that the model reads it in."""
    return {"role": form.profile.system_role, "content": _content(text, (), form)}


def _said(message: User) -> str:
    return f"{message.recalled}\n\n{message.text}" if message.recalled else message.text


def _content(text: str, files: tuple[Attachment, ...], form: Form) -> Any:
    if not files and not (form.marks and text):
        return text
    return [{"type": "text", "text": text}, *(_part(item, form) for item in files)]


def _part(item: Attachment, form: Form) -> dict[str, Any]:
    if is_image(item) and form.sees:
        return {"type": "image_url", "image_url": {"url": data_address(item)}}
    if item.media_type == "application/pdf" and form.profile.documents:
        return {"type": "file", "file": {"filename": item.name or "document.pdf", "file_data": data_address(item)}}
    return {"type": "text", "text": in_words(item)}


def _reply(message: Assistant, form: Form) -> dict[str, Any]:
    own = message.opaque if form.replays(message) else ()
    reasoning = _reasoning(message, own, form)
    if not message.calls:
        return {"role": "assistant", **reasoning, "content": _content(message.text, (), form)}
    extras = {item["id"]: item["extra_content"] for item in own if "extra_content" in item}
    calls = [_wire_call(call, form, extras) for call in message.calls]
    content = _content(message.text, (), form) if message.text else None
    return {"role": "assistant", **reasoning, "tool_calls": calls, "content": content}


def _reasoning(message: Assistant, own: Sequence[Mapping[str, Any]], form: Form) -> dict[str, Any]:
    for item in own:
        if "reasoning_details" in item:
            return {"reasoning_details": item["reasoning_details"]}
    if not form.profile.replays_reasoning or "thinking" in form.without:
        return {}
    plain = _plain(message.thinking) or (LOST_REASONING if message.calls else "")  # some servers refuse calls without any
    return {"reasoning_content": plain} if plain else {}


def _plain(thinking: Sequence[Thinking]) -> str:
    return "\n\n".join(item.text for item in thinking if item.text)


def _wire_call(call: ToolCall, form: Form, extras: Mapping[str, Any]) -> dict[str, Any]:
    written = {
        "id": call_id(call.id, form.profile.call_ids),
        "type": "function",
        "function": {"name": call.name, "arguments": arguments(call)},
    }
    return {**written, "extra_content": extras[call.id]} if call.id in extras else written
