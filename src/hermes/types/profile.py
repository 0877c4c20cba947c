"""What a model takes and how: data that transports read, so that none of them asks which model it talks
to.
"""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

Dialect = Literal["", "strict", "llama_cpp", "gemini", "moonshot"]
"""Which JSON Schema a model's tools may be written in; empty takes any."""

ThinkingStyle = Literal["", "effort", "budget", "adaptive", "toggle"]
"""How the depth of reasoning is asked for: not at all, as a named effort, as a budget in tokens, as effort
with the model free to choose, or on and off."""


class Profile(Struct, frozen=True, kw_only=True):
    """What one family of models takes.

    `system_role` and `limit_name` are names on the chat-completions wire. `omits` are parameters that are
    never sent, `fixed` those that always are, with their value. `efforts` are accepted ones, weakest first.
    `replays_reasoning` says that plain reasoning text goes back with its message; signed reasoning always
    does. `tool_images` says that a tool result may hold images.

    `effort_field` and `toggle_field` say where chat completions take the depth of reasoning, dots meaning an
    object in an object; `toggle` are the values for on and off. `call_ids` is a regular expression for the
    ids of calls; empty takes any. `output_schema` says that a reply may be held to a schema and call
    tools all the same.
    """

    family: str = ""
    system_role: Literal["system", "developer", "user"] = "system"
    limit_name: str = "max_tokens"
    omits: frozenset[str] = frozenset()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    thinking: ThinkingStyle = ""
    efforts: tuple[str, ...] = ()
    effort_field: str = "reasoning_effort"
    toggle_field: str = "enable_thinking"
    toggle: tuple[Any, Any] = (True, False)
    dialect: Dialect = ""
    replays_reasoning: bool = False
    vision: bool = True
    tool_images: bool = False
    documents: bool = False
    cache_marks: bool = False
    call_ids: str = ""
    output_schema: bool = False


PLAIN = Profile()


class Price(Struct, frozen=True, kw_only=True):
    """US dollars for a million tokens, as the provider lists them."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
