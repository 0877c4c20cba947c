"""A log of ours out of the messages of another program, which may lack what a log must have.

Calls without a result get one that says so, and so does a message without an answer.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.lib.codec import mended
from hermes.lib.jsonfix import parse_arguments
from hermes.types.message import Assistant, Message, ToolCall, ToolResult, User

NOT_KEPT: Final = "[not kept]"
_PARTS: Final = "\0json:"
"""What content begins with that is a list of parts."""


class ForeignMessage(Struct, frozen=True, kw_only=True):
    """A row of the original's table of messages; `at` is in epoch seconds."""

    role: str
    at: float
    content: str = ""
    tool_calls: str = ""
    tool_call_id: str = ""
    tool_name: str = ""


def made_log(rows: Iterable[ForeignMessage]) -> tuple[Message, ...]:
    """The log that the rows tell; empty where nobody says anything in them."""
    maker = _LogMaker()
    for row in rows:
        maker.add(row)
    return maker.finish()


class _LogMaker:
    """A log as it grows; `_open` are the calls whose results are still gathered."""

    def __init__(self) -> None:
        self._log: list[Message] = []
        self._open: Sequence[ToolCall] = ()
        self._results: dict[str, ForeignMessage] = {}
        self._at = 0.0

    def add(self, row: ForeignMessage) -> None:
        """Take one row; one of another role than a log has is passed over."""
        if row.role == "tool":
            self._results.setdefault(row.tool_call_id, row)
            return
        self._answer_calls()
        self._at = row.at
        if row.role == "user":
            self._say(_told(row.content))
        elif row.role == "assistant":
            self._reply(_told(row.content), _calls(row.tool_calls, len(self._log)))

    def finish(self) -> tuple[Message, ...]:
        """The log, with an answer at its end."""
        self._answer_calls()
        if self._log and not isinstance(self._log[-1], Assistant):
            self._reply(NOT_KEPT, ())
        return tuple(self._log)

    def _say(self, text: str) -> None:
        last = self._log[-1] if self._log else None
        if isinstance(last, User):
            self._log[-1] = replace(last, text=f"{last.text}\n\n{text}")
            return
        if isinstance(last, ToolResult):
            self._reply(NOT_KEPT, ())
        self._log.append(User(id=self._id(), at=self._at, text=text))

    def _reply(self, text: str, calls: Sequence[ToolCall]) -> None:
        last = self._log[-1] if self._log else None
        if isinstance(last, Assistant):
            joined = "\n\n".join(filter(None, (last.text, text)))
            self._log[-1] = replace(last, text=joined, calls=tuple(calls))
        else:
            if last is None:
                self._say(NOT_KEPT)
            reply = Assistant(id=self._id(), at=self._at, text=text, calls=tuple(calls))
            self._log.append(reply)
        self._open = calls

    def _answer_calls(self) -> None:
        for call in self._open:
            found = self._results.get(call.id)
            content = _told(found.content) if found else NOT_KEPT
            at = found.at if found else self._at
            result = ToolResult(
                id=self._id(), at=at, call_id=call.id, name=call.name, content=content, failed=found is None
            )
            self._log.append(result)
        self._open, self._results = (), {}

    def _id(self) -> str:
        return f"imported-{len(self._log)}"


def _told(content: str) -> str:
    """The text of a message; of parts their texts, and a word for each of the others."""
    if not content.startswith(_PARTS):
        return content
    parts = _read(content.removeprefix(_PARTS))
    return "\n\n".join(map(_part, parts if isinstance(parts, list) else [parts]))


def _part(part: Any) -> str:
    if not isinstance(part, Mapping):
        return str(part)
    text = part.get("text")
    return text if isinstance(text, str) else f"[{part.get('type', 'a part')}: not taken over]"


def _calls(text: str, place: int) -> tuple[ToolCall, ...]:
    rows = _read(text or "[]")
    found: dict[str, ToolCall] = {}
    for number, row in enumerate(rows if isinstance(rows, list) else ()):
        function = row.get("function") if isinstance(row, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            continue
        key, given = str(row.get("id") or f"call-{place}-{number}"), function.get("arguments")
        raw = given if isinstance(given, str) else json.dumps(given or {})
        found.setdefault(
            key, ToolCall(id=key, name=function["name"], arguments=parse_arguments(raw).value, raw=raw)
        )
    return tuple(found.values())


def _read(text: str) -> Any:
    try:
        return mended(json.loads(text))
    except (ValueError, RecursionError):
        return None
