"""The Responses wire: OpenAI's own, xAI's, and the one behind a ChatGPT account."""

from collections.abc import Mapping, Sequence
from typing import Any

from hermes.models.transports.base import WireRequest, result_text
from hermes.models.transports.common.dialects import adapt, named_schema
from hermes.models.transports.common.encoding import (
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
from hermes.models.transports.common.parameters import nearest, output_schema
from hermes.models.transports.responses.reader import PROTOCOL, ResponsesReader
from hermes.types.message import Assistant, Attachment, Compaction, Message, ToolCall, ToolResult, User
from hermes.types.profile import Profile
from hermes.types.request import LeftOut, Request

PICTURES = "The images of the results above:"
_CALL_IDS = r"[\s\S]{1,64}"

Item = Mapping[str, Any]


class CodexResponses:
    """Renders requests and hands out readers; keeps the bytes of each message of its session."""

    def __init__(self) -> None:
        self._buffer = MessageBuffer()

    def render(self, request: Request) -> WireRequest:
        """The request as bytes: a frame that rarely changes around blocks that never do."""
        form = (request.endpoint.profile, request.without)
        apart = "tool_images" in request.without and sees(*form)
        head, tail = self._buffer.framed(request, _frame)
        settled, rest = self._buffer.joined(
            request.messages,
            form,
            lambda message: b",".join(map(encode, items(message, *form))),
            (lambda results: encode(pictures(results))) if apart else None,
        )
        return WireRequest(
            url=address(request.endpoint.base_url, "/responses"),
            headers=headers(request),
            body=b"".join((head, settled, rest, tail)),
        )

    def reader(self, request: Request) -> ResponsesReader:
        """A fresh reader."""
        return ResponsesReader(request.endpoint)


def _frame(request: Request) -> tuple[bytes, bytes]:
    before: dict[str, Any] = {"model": request.endpoint.model}
    if request.system:
        before["instructions"] = request.system
    after: dict[str, Any] = {"stream": True, "store": False}
    if request.tools:
        # strict must be denied, for here it is what silence means
        after["tools"] = [
            {"type": "function", "strict": False, **tool["function"]}
            for tool in adapt(request.tools, request.endpoint.profile.dialect, request.without)
        ]
    if (schema := output_schema(request)) is not None:
        after["text"] = {"format": {"type": "json_schema", **named_schema(schema)}}
    body = merged(after | _parameters(request), request.endpoint.extra_body)
    return encode(before)[:-1] + b',"input":[', b"]," + encode(body)[1:]


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
        effort = nearest(request.options.effort, profile.efforts)
        named["reasoning"] = (
            None if "effort" in without else ({"effort": effort} if effort else {}) | {"summary": "auto"}
        )
    return {name: value for name, value in named.items() if value is not None and name not in profile.omits}


def items(message: Message, profile: Profile, without: frozenset[LeftOut]) -> list[dict[str, Any]]:
    """The items that say one message."""
    match message:
        case User():
            text = message.told
            return [_user([_text(text), *(_part(item, profile, without) for item in message.attachments)])]
        case Compaction():
            return [_user([_text(message.summary)])]
        case ToolResult():
            return [_output(message, profile, without)]
        case Assistant():
            same = (message.protocol, message.family) == (PROTOCOL, profile.family)
            if same and message.opaque:
                return _replayed(message, profile, without)
            said = {"type": "message", "role": "assistant", "content": message.text}
            return [*([said] if message.text else []), *(_call(call, profile) for call in message.calls)]


def pictures(results: Sequence[ToolResult]) -> dict[str, Any]:
    """A user's message with the images of a batch of results, for servers that take none in results."""
    return _user([_text(PICTURES), *(_image(image) for result in results for image in result.images)])


def sees(profile: Profile, without: frozenset[LeftOut]) -> bool:
    """Whether images may be sent."""
    return profile.vision and "images" not in without


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
        return {
            "type": "input_file",
            "filename": item.name or "document.pdf",
            "file_data": data_address(item),
        }
    return _text(in_words(item))


def _output(message: ToolResult, profile: Profile, without: frozenset[LeftOut]) -> dict[str, Any]:
    text = result_text(message)
    shown = message.images if sees(profile, without) and "tool_images" not in without else ()
    content: Any = [_text(text), *(_image(image) for image in shown)] if shown else text
    return {"type": "function_call_output", "call_id": _id(message.call_id, profile), "output": content}


def _call(call: ToolCall, profile: Profile) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": _id(call.id, profile),
        "name": call.name,
        "arguments": arguments(call),
    }


def _id(given: str, profile: Profile) -> str:
    return call_id(call_id(given, profile.call_ids), _CALL_IDS)


def _replayed(message: Assistant, profile: Profile, without: frozenset[LeftOut]) -> list[dict[str, Any]]:
    """A reply of this wire by its own items: of the calls those that were kept, reasoning before what it led
    to.
    """
    calls = {call.id: call for call in message.calls}
    answered = {item.get("call_id") for item in message.opaque if str(item.get("type")).endswith("_output")}
    found: list[dict[str, Any]] = []
    for item in message.opaque:
        kind = str(item.get("type"))
        if kind == "function_call":
            call = calls.pop(str(item.get("call_id")), None)
            found += [{**item, **_call(call, profile)}] if call else []
        elif kind == "reasoning":
            # what the server did not keep goes back only with all of it inside
            whole = bool(item.get("encrypted_content")) or profile.replays_reasoning
            found += [dict(item)] if whole and "thinking" not in without else []
        elif (
            "call_id" not in item or item["call_id"] in answered
        ):  # a call that nobody answers may not be sent
            found.append(dict(item))
    if "thinking" in without:  # an item with its id is looked up together with its reasoning
        found = [{name: value for name, value in item.items() if name != "id"} for item in found]
    return [*_followed(found), *(_call(call, profile) for call in calls.values())]


def _followed(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the reasoning at the end that nothing follows."""
    end = len(found)
    while end and found[end - 1].get("type") == "reasoning":
        end -= 1
    return found[:end]
