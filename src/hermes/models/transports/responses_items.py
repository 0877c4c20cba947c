"""Messages of a log as items of the Responses wire, and the items of a reply as a message."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hermes.models.transports.base import result_text
from hermes.models.transports.encoding import arguments, call_id, data_address, in_words, is_image
from hermes.types.message import Assistant, Attachment, Compaction, Message, ToolCall, ToolResult, User
from hermes.types.profile import Profile
from hermes.types.request import LeftOut

PROTOCOL = "codex_responses"
UNDERSTOOD = frozenset({"message", "reasoning", "function_call"})
PICTURES = "The images of the results above:"
_CALL_IDS = r"[\s\S]{1,64}"

Item = Mapping[str, Any]


def items(message: Message, profile: Profile, without: frozenset[LeftOut]) -> list[dict[str, Any]]:
    """The items that say one message."""
    match message:
        case User():
            text = f"{message.recalled}\n\n{message.text}" if message.recalled else message.text
            return [_user([_text(text), *(_part(item, profile, without) for item in message.attachments)])]
        case Compaction():
            return [_user([_text(message.summary)])]
        case ToolResult():
            return [_output(message, profile, without)]
        case Assistant():
            same = (message.protocol, message.family) == (PROTOCOL, profile.family)
            return _replayed(message, profile, without) if same and message.opaque else _retold(message, profile)


def pictures(results: Sequence[ToolResult]) -> dict[str, Any]:
    """A user's message with the images of a batch of results, for servers that take none in results."""
    return _user([_text(PICTURES), *(_image(image) for result in results for image in result.images)])


def sees(profile: Profile, without: frozenset[LeftOut]) -> bool:
    """Whether images may be sent."""
    return profile.vision and "images" not in without


def says_all(output: Sequence[Item]) -> bool:
    """Whether text and calls of a message say all that is in the items: one message of plain text, then calls."""
    kinds = [str(item.get("type")) for item in output]
    messages = kinds.count("message")
    in_order = kinds == ["message"] * messages + ["function_call"] * (len(kinds) - messages)
    return in_order and messages <= 1 and all(_is_plain(item) for item in output)


def _is_plain(item: Item) -> bool:
    if item.get("type") == "function_call":
        return not item.get("namespace")
    parts = _parts(item, "content")
    return not item.get("phase") and parts == (item.get("content") or []) and all(part.get("type") == "output_text" for part in parts)


def _user(content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": content}


def _text(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _image(item: Attachment) -> dict[str, Any]:
    return {"type": "input_image", "image_url": data_address(item), "detail": "auto"}


def _part(item: Attachment, profile: Profile, without: frozenset[LeftOut]) -> dict[str, Any]:
    if is_image(item) and sees(profile, without):
        return _image(item)
    if item.media_type == "application/pdf" and profile.documents:
        return {"type": "input_file", "filename": item.name or "document.pdf", "file_data": data_address(item)}
    return _text(in_words(item))


def _output(message: ToolResult, profile: Profile, without: frozenset[LeftOut]) -> dict[str, Any]:
    text = result_text(message)
    shown = message.images if sees(profile, without) and "tool_images" not in without else ()
    content: Any = [_text(text), *(_image(image) for image in shown)] if shown else text
    return {"type": "function_call_output", "call_id": _id(message.call_id, profile), "output": content}


def _retold(message: Assistant, profile: Profile) -> list[dict[str, Any]]:
    """A reply of any wire, by its text and its calls."""
    said = [{"type": "message", "role": "assistant", "content": message.text}] if message.text else []
    return [*said, *(_call(call, profile) for call in message.calls)]


def _call(call: ToolCall, profile: Profile) -> dict[str, Any]:
    return {"type": "function_call", "call_id": _id(call.id, profile), "name": call.name, "arguments": arguments(call)}


def _id(given: str, profile: Profile) -> str:
    return call_id(call_id(given, profile.call_ids), _CALL_IDS)


def _replayed(message: Assistant, profile: Profile, without: frozenset[LeftOut]) -> list[dict[str, Any]]:
    """A reply of this wire by its own items: of the calls those that were kept, reasoning before what it led to."""
    calls = {call.id: call for call in message.calls}
    answered = {item.get("call_id") for item in message.opaque if str(item.get("type")).endswith("_output")}
    found: list[dict[str, Any]] = []
    for item in message.opaque:
        kind = str(item.get("type"))
        if kind == "function_call":
            call = calls.pop(str(item.get("call_id")), None)
            found += [{**item, **_call(call, profile)}] if call else []
        elif kind == "reasoning":
            found += [dict(item)] if _reasoning_may_go(item, profile, without) else []
        elif "call_id" not in item or item["call_id"] in answered:  # a call that nobody answers may not be sent
            found.append(dict(item))
    if "thinking" in without:  # an item with its id is looked up together with its reasoning
        found = [{name: value for name, value in item.items() if name != "id"} for item in found]
    return [*_followed(found), *(_call(call, profile) for call in calls.values())]


def _reasoning_may_go(item: Item, profile: Profile, without: frozenset[LeftOut]) -> bool:
    """Reasoning that the server did not keep goes back only with all of it inside."""
    return "thinking" not in without and (bool(item.get("encrypted_content")) or profile.replays_reasoning)


def _followed(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the reasoning at the end that nothing follows."""
    end = len(found)
    while end and found[end - 1].get("type") == "reasoning":
        end -= 1
    return found[:end]


def text_of(output: Iterable[Item]) -> str:
    """What was said, refusals too; messages stand apart."""
    said = (
        "".join(str(part.get("text") or part.get("refusal") or "") for part in _parts(item, "content"))
        for item in output
        if item.get("type") == "message"
    )
    return "\n\n".join(text for text in said if text)


def refuses(output: Iterable[Item]) -> bool:
    """Whether a message is a refusal."""
    return any(part.get("type") == "refusal" for item in output if item.get("type") == "message" for part in _parts(item, "content"))


def thoughts(output: Iterable[Item]) -> list[str]:
    """The text of each reasoning item, its summary or, where there is none, the reasoning itself."""
    texts = []
    for item in output:
        if item.get("type") == "reasoning":
            parts = _parts(item, "summary") or _parts(item, "content")
            texts.append("\n\n".join(str(part.get("text") or "") for part in parts))
    return [text for text in texts if text]


def _parts(item: Item, name: str) -> list[Item]:
    parts = item.get(name)
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
