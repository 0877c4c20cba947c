"""What servers give, as the JSON string that a tool gives; pictures and sounds become files beside it."""

import base64
import binascii
import hashlib
import json
import mimetypes
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    ReadResourceResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from hermes.lib.files import make_private, write_atomic
from hermes.lib.text import clip, mend_surrogates
from hermes.tools.registry import tool_error, tool_result

LARGEST: Final = 50_000_000
"""Bytes of one picture, sound or resource."""
LONGEST_PROMPT: Final = 64_000
"""Letters of a prompt that is sent for a person."""


class McpResults:
    """Writes results of one server down; its files go to `folder`. `hint` gives a sentence for a failure that
    the sandbox may have caused.
    """

    def __init__(self, folder: Path, hint: Callable[[str], str]) -> None:
        self._folder, self._hint = folder, hint

    def of_call(self, result: CallToolResult) -> str:
        """The result of a tool: its text, what it gave as a structure, and the files that came with it."""
        text = "\n".join(filter(None, map(self._block, result.content)))
        if result.is_error:
            said = text or "the tool failed and gave no reason"
            return tool_error(f"{said} {self._hint(said)}".rstrip())
        if result.structured_content is None:
            return tool_result(result=text)
        return tool_result(**_told(text, result.structured_content))

    def of_resource(self, result: ReadResourceResult) -> str:
        """What a resource holds."""
        return tool_result(contents=[self._contents(one) for one in result.contents])

    def of_prompt(self, result: GetPromptResult) -> str:
        """The messages of a prompt."""
        messages = [{"role": one.role, "text": self._block(one.content)} for one in result.messages]
        return tool_result(description=result.description or "", messages=messages)

    def text_of_prompt(self, result: GetPromptResult) -> str:
        """The messages of a prompt as text, those that are not the user's with who says them."""
        said = [(one.role, self._block(one.content)) for one in result.messages]
        text = "\n\n".join(text if role == "user" else f"{role}: {text}" for role, text in said)
        return clip(text, LONGEST_PROMPT)

    def _block(self, block: object) -> str:
        match block:
            case TextContent():
                return mend_surrogates(block.text)
            case ImageContent() | AudioContent():
                return f"[{block.mime_type}: {self._file(block.data, block.mime_type)}]"
            case EmbeddedResource():
                return str(
                    self._contents(block.resource).get("text") or self._contents(block.resource)["uri"]
                )
            case ResourceLink():
                return f"{block.name}: {block.uri}"
            case _:
                return f"[{type(block).__name__}]"

    def _contents(self, one: TextResourceContents | BlobResourceContents) -> dict[str, Any]:
        about = {"uri": str(one.uri), "mime_type": one.mime_type or ""}
        if isinstance(one, TextResourceContents):
            return {**about, "text": mend_surrogates(one.text)}
        return {**about, "file": self._file(one.blob, one.mime_type or "")}

    def _file(self, data: str, mime: str) -> str:
        """The path of a new file with what is in base64; a sentence in brackets where it is none."""
        try:
            content = base64.b64decode(data[: LARGEST * 2], validate=True)
        except binascii.Error:
            return f"[{mime or 'data'} that is no base64]"
        if len(content) > LARGEST:
            return f"[{mime or 'data'} of more than {LARGEST:,} bytes]"
        ending = mimetypes.guess_extension(mime.partition(";")[0].strip()) or ".bin"
        path = self._folder / f"mcp-{hashlib.blake2s(content, digest_size=8).hexdigest()}{ending}"
        make_private(self._folder)
        write_atomic(path, content)
        return str(path)


def _told(text: str, structure: Any) -> dict[str, Any]:
    """Text and structure, the text left out where it only repeats the structure."""
    try:
        repeats = json.loads(text) == structure
    except ValueError:
        repeats = False
    return {"structured": structure} if repeats or not text else {"result": text, "structured": structure}


def resources(found: Sequence[Any]) -> str:
    """A list of resources."""
    return tool_result(resources=[*map(_resource, found)])


def prompts(found: Sequence[Any]) -> str:
    """A list of prompts."""
    return tool_result(prompts=[*map(_prompt, found)])


def _resource(one: Any) -> Mapping[str, str]:
    return {
        "uri": str(one.uri),
        "name": one.name,
        "description": one.description or "",
        "mime_type": one.mime_type or "",
    }


def _prompt(one: Any) -> Mapping[str, Any]:
    return {
        "name": one.name,
        "description": one.description or "",
        "arguments": [{"name": each.name, "required": bool(each.required)} for each in one.arguments or ()],
    }
