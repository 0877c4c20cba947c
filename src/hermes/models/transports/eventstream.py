"""Amazon's binary event frames, read by botocore's own decoder; it is loaded when the first bytes come."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hermes.lib.lazy import load as late
from hermes.models.transports.base import BadReplyError


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame: `kind` is event, exception or error, `name` its type, `said` the sentence of an error."""

    kind: str
    name: str
    payload: bytes
    said: str = ""


class Frames:
    """Splits a byte stream into frames; it may be cut anywhere. `what` names what should come, for BadReplyError."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._buffer: Any = None

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete."""
        framing = late("botocore.eventstream", extra="bedrock")
        self._buffer = self._buffer or framing.EventStreamBuffer()
        self._buffer.add_data(data)
        try:
            return [_frame(message.headers, message.payload) for message in self._buffer]
        except (framing.ParserError, UnicodeDecodeError, KeyError) as error:
            raise BadReplyError(f"The server sent something that is not {self._what}: {error}") from error


def _frame(headers: Mapping[str, Any], payload: bytes) -> Frame:
    kind = str(headers.get(":message-type", "event"))
    if kind == "error":
        return Frame(kind, str(headers.get(":error-code", "")), payload, str(headers.get(":error-message", "")))
    if kind == "exception":
        return Frame(kind, str(headers.get(":exception-type", "")), payload, _sentence(payload))
    return Frame("event", str(headers.get(":event-type", "")), payload)


def _sentence(payload: bytes) -> str:
    try:
        tree = json.loads(payload)
    except ValueError:
        return payload.decode("utf-8", "replace")
    return str(tree.get("message") or tree.get("Message") or "") if isinstance(tree, dict) else str(tree)
