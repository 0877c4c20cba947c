"""The messages of a session's log: frozen, written once, never changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hermes.types.usage import NO_USAGE, Stop, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that travels with a message: `data` is base64."""

    media_type: str
    data: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """Reasoning text of a model, with the provider's opaque signature when it gives one.

    `redacted` says that there is no text: the signature is all the provider gave, and it goes back as it came.
    """

    text: str
    signature: str = ""
    redacted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's wish to run a tool.

    `arguments` is what will be run; `raw` the text the model wrote; `repaired` says that the text had to be mended.
    `fault` is a sentence for the model when the arguments could not be read: such a call is answered, never run.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    raw: str = ""
    repaired: bool = False
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """What a person (or a job) said. `recalled` is fenced memory as it was sent with the text."""

    id: str
    at: float
    text: str
    attachments: tuple[Attachment, ...] = ()
    recalled: str = ""
    origin: str = "cli"
    kind: Literal["user"] = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assistant:
    """One whole reply of a model.

    `provider`, `model`, `protocol` and `family` say where it came from: signed reasoning is replayed to the same family, `opaque` to
    the same protocol and family. `opaque` holds the wire's own items, in their order, where the other fields cannot say all of it.
    """

    id: str
    at: float
    text: str = ""
    thinking: tuple[Thinking, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    stop: Stop = "end"
    usage: Usage = NO_USAGE
    model: str = ""
    provider: str = ""
    protocol: str = ""
    family: str = ""
    opaque: tuple[Mapping[str, Any], ...] = ()
    kind: Literal["assistant"] = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The answer to one call. `note` is a steering note that rides on it; `full` the path of the uncut text, when clipped.

    `outside` names where the content came from when nobody here wrote it: the model gets it fenced, as data.
    """

    id: str
    at: float
    call_id: str
    name: str
    content: str
    images: tuple[Attachment, ...] = ()
    failed: bool = False
    note: str = ""
    full: str = ""
    outside: str = ""
    kind: Literal["tool_result"] = "tool_result"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """An entry that stands for the older part of a log: `summary`, and the id of the first message kept."""

    id: str
    at: float
    summary: str
    first_kept: str
    head: int = 0
    dropped: int = 0
    focus: str = ""
    fallback: bool = False
    kind: Literal["compaction"] = "compaction"


Message = User | Assistant | ToolResult | Compaction
