"""Old messages in a short form that a model can still work with; the log keeps the whole of them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from hermes.agent.compaction.sizes import written
from hermes.lib.text import clip
from hermes.types.message import Assistant, Message, ToolCall, ToolResult, User

SHORT: Final = 240
"""Characters of a result that are left as they are, and of one line about a longer one."""
VALUE: Final = 80
"""Characters of one value in such a line."""
LONGEST_ARGUMENT: Final = 400
"""Characters of a string among a call's arguments."""


def digest(call: ToolCall | None, result: ToolResult) -> str:
    """One line that says what a call did and what came of it, such as `[terminal] command="npm test" →
    exit_code 0, output 47 lines`.

    It is read off the arguments and the fields of the result, whatever the tool: strings and numbers that are
    short stand in it, of what is long its measure.
    """
    asked = ", ".join(_given(call.arguments)) if call else ""
    came = ", ".join(_measures(result.content)) or f"{len(result.content)} characters"
    failed = " failed:" if result.failed else ""
    line = f"[{result.name}] {asked} →{failed} {came}"
    return line if len(line) <= SHORT else f"{line[: SHORT - 1]}…"


def shortened(message: Message, call: ToolCall | None, number: int) -> Message:
    """The message in its short form; itself where that is no shorter. `number` is its place in the log, from
    1.
    """
    match message:
        case ToolResult():
            return _result(message, call, number)
        case Assistant() if message.calls and not message.opaque:
            return replace(message, calls=tuple(map(_call, message.calls)))
        case User() if message.attachments:
            names = ", ".join(one.name or one.media_type for one in message.attachments)
            text = f"{message.text}\n\n[Left out here, as it was seen before: {names}. Entry {number}.]"
            return replace(message, text=text, attachments=())
    return message


def clipped(message: Message, limit: int, number: int) -> Message:
    """The message with at most so many characters of words: its beginning, its end, and how to get the
    rest.
    """
    match message:
        case User(text=text) if len(text) > limit:
            return replace(message, text=_middle_out(text, limit, number))
        case ToolResult(content=text) if len(text) > limit:
            return replace(message, content=_middle_out(text, limit, number))
        case Assistant(text=text) if len(text) > limit and not message.opaque:
            return replace(message, text=_middle_out(text, limit, number), cuts=())
    return message


def _middle_out(text: str, limit: int, number: int) -> str:
    notice = f"\n[… {{omitted}} characters are left out here; expand with entries {number} gives them …]\n"
    return clip(text, limit, head_share=0.75, notice=notice)


def _result(result: ToolResult, call: ToolCall | None, number: int) -> ToolResult:
    pictures = f" {len(result.images)} pictures were here." if result.images else ""
    if len(result.content) <= SHORT and not pictures:
        return result
    line = digest(call, result)
    return replace(result, content=f"{line} (entry {number}, in short.{pictures})", images=(), full="")


def _call(call: ToolCall) -> ToolCall:
    if len(call.raw or written(call.arguments)) <= 2 * LONGEST_ARGUMENT or call.fault:
        return call
    return replace(call, arguments=_shrunk(call.arguments), raw="")


def _shrunk(value: Any) -> Any:
    """The value with its long strings cut; what it is made of stays, so that it is valid JSON."""
    if isinstance(value, str) and len(value) > LONGEST_ARGUMENT:
        return f"{value[: LONGEST_ARGUMENT // 2]}… ({len(value):,} characters)"
    if isinstance(value, Mapping):
        return {name: _shrunk(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_shrunk(one) for one in value]
    return value


def _given(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name, value in arguments.items():
        if isinstance(value, str):
            yield f"{name}={_quoted(value)}"
        elif isinstance(value, int | float):
            yield f"{name}={value}"


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line}"' if len(line) <= VALUE else f'"{line[: VALUE - 1]}…"'


def _measures(content: str) -> Iterator[str]:
    """The fields of a result: short ones whole, of long ones how long they are."""
    try:
        found = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeEncodeError):
        found = None
    if not isinstance(found, dict):
        yield _lines(content)
        return
    for name, value in found.items():
        if isinstance(value, str) and value:
            yield f"{name} {_quoted(value) if len(value) <= VALUE else _lines(value)}"
        elif isinstance(value, list | dict) and value:
            yield f"{name} {len(value)} items"
        elif isinstance(value, bool | int | float) and value is not False:
            yield f"{name} {value}"


def _lines(text: str) -> str:
    count = len(text.splitlines())
    return f"{count} lines" if count > 1 else f"{len(text)} characters"
