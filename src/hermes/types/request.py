"""A request to a model, and what comes back."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from msgspec import Struct, field

from hermes.lib.abridged import Abridged
from hermes.types.message import Message
from hermes.types.profile import PLAIN, Price, Profile

CallStyle = Literal["native", "text", "constrained"]
"""How a model calls tools: by the wire's own field, as text that is read back, or as decoding constrained to
a schema.
"""

Protocol = Literal["chat_completions", "anthropic_messages", "bedrock_converse", "codex_responses"]
"""The wire that an endpoint speaks."""

Auth = Literal["bearer", "x-api-key", "api-key", "aws"]
"""How a credential travels: as a bearer token, in a header of that name, or as a signature (AWS Signature
Version 4).
"""

CUSTOM = "custom"
"""The provider of an address that somebody gave; no table speaks of it."""

LeftOut = Literal[
    "thinking",
    "tool_images",
    "images",
    "large_images",
    "schema_patterns",
    "strict",
    "cache_marks",
    "effort",
    "temperature",
    "limit",
    "usage",
    "output_schema",
]
"""What an endpoint may refuse and a request can do without."""


class Endpoint(Abridged, Struct, frozen=True, kw_only=True):
    """One place to send requests to: provider, address, model, and what that model can do.

    `context_window` and `max_output` are in tokens; `price` is None where none is known. `extra_body` is
    added to each request's body. `credential` never appears in a representation. `marks` are texts that the
    model's tokenizer takes for marks of its template.
    """

    unshown: ClassVar = ("credential", "headers", "marks")

    provider: str
    base_url: str
    model: str
    protocol: Protocol = "chat_completions"
    profile: Profile = PLAIN
    price: Price | None = None
    auth: Auth = "bearer"
    credential: str = ""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    context_window: int = 128_000
    max_output: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    calls: CallStyle = "native"
    local: bool = False
    marks: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """The model as `provider/name`."""
        return f"{self.provider}/{self.model}"

    @property
    def known_window(self) -> int:
        """The window, 0 where it is not known: that of a model that runs here is as long as memory has room
        for when it is loaded.
        """
        return self.context_window if self.base_url or not self.local else 0

    @property
    def own_address(self) -> str:
        """The address of a server of the user's own; empty for a provider's, which its name tells."""
        return self.base_url if self.provider == CUSTOM else ""


class Options(Struct, frozen=True, kw_only=True):
    """Sampling and limits of one request; None or an empty text leaves a parameter out.

    `effort` is how hard to think (`none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`); the profile
    says how that is asked for. `cache` is how long marked parts of the prompt are to be kept, on wires that
    take marks. `output_schema` is the JSON Schema that the words of the reply are to fit, on wires that can
    see to it.
    """

    temperature: float | None = None
    max_output: int | None = None
    effort: str = ""
    cache: Literal["", "5m", "1h"] = ""
    output_schema: Mapping[str, Any] | None = None


class Request(Struct, frozen=True, kw_only=True):
    """What the model sees.

    `tools` are definitions in the OpenAI function form, already sorted; empty means no tools. `without` is
    what the endpoint has refused before: a transport renders the request as if it did not exist.
    """

    endpoint: Endpoint
    system: str
    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    options: Options = field(default_factory=Options)
    without: frozenset[LeftOut] = frozenset()


class Text(Struct, frozen=True, kw_only=True):
    """A piece of answer text."""

    text: str
    kind: Literal["text"] = "text"


class ThinkingText(Struct, frozen=True, kw_only=True):
    """A piece of reasoning text."""

    text: str
    kind: Literal["thinking"] = "thinking"


class CallStarted(Struct, frozen=True, kw_only=True):
    """The model began to write a call."""

    name: str
    kind: Literal["call_started"] = "call_started"


class Remark(Struct, frozen=True, kw_only=True):
    """Something that the wire brought and nothing here understands, for a person to see: `text` is one
    sentence.
    """

    text: str
    kind: Literal["remark"] = "remark"


Delta = Text | ThinkingText | CallStarted | Remark
"""What a stream brings, piece by piece."""
