"""A request to a model, and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hermes.types.message import Assistant, Message

CallStyle = Literal["native", "text", "constrained"]
"""How a model calls tools: by the wire's own field, as text that is read back, or as decoding constrained to a schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One place to send requests to: provider, address, model, and what that model can do.

    `context_window` and `max_output` are in tokens. `credential` never appears in a representation.
    """

    provider: str
    base_url: str
    model: str
    protocol: Literal["chat_completions"] = "chat_completions"
    family: str = ""
    credential: str = field(default="", repr=False)
    context_window: int = 128_000
    max_output: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    calls: CallStyle = "native"
    local: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Sampling and limits of one request; None leaves a parameter out."""

    temperature: float | None = None
    max_output: int | None = None
    effort: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the model sees. `tools` are definitions in the OpenAI function form, already sorted; empty means no tools."""

    endpoint: Endpoint
    system: str
    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A piece of answer text."""

    text: str
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingText:
    """A piece of reasoning text."""

    text: str
    kind: Literal["thinking"] = "thinking"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """The model began to write a call."""

    name: str
    kind: Literal["call_started"] = "call_started"


Delta = Text | ThinkingText | CallStarted | Assistant
"""What a stream yields; the last delta is always the whole reply."""
