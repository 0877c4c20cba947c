"""Hermes, an agent runtime. The public names, each loaded on first use."""

import importlib

TYPE_CHECKING = False  # of `typing` too late: nothing may be looked for before __main__ has tidied the path
if TYPE_CHECKING:
    from typing import Any

    from hermes.agent.attachments import attachment
    from hermes.agent.session import Session
    from hermes.agent.spec import SessionOptions
    from hermes.api import open_session as open  # noqa: A004  # hermes.open(...) is the documented name
    from hermes.runtime import Runtime, open_runtime
    from hermes.tools.function import tool
    from hermes.tools.schemas import get_tool_definitions
    from hermes.types.actor import Actor
    from hermes.types.capabilities import Capabilities
    from hermes.types.error import HermesError, OutputInvalid
    from hermes.types.event import Event, TurnFinished
    from hermes.types.message import Attachment
    from hermes.types.question import Approve, Clarify, Deny, Grant, Reply
    from hermes.types.tool import ToolContext

__version__ = "0.1.0"

_HOMES = {
    "Capabilities": "hermes.types.capabilities:Capabilities",
    "Actor": "hermes.types.actor:Actor",
    "Approve": "hermes.types.question:Approve",
    "Attachment": "hermes.types.message:Attachment",
    "Clarify": "hermes.types.question:Clarify",
    "Deny": "hermes.types.question:Deny",
    "Event": "hermes.types.event:Event",
    "Grant": "hermes.types.question:Grant",
    "HermesError": "hermes.types.error:HermesError",
    "OutputInvalid": "hermes.types.error:OutputInvalid",
    "Reply": "hermes.types.question:Reply",
    "TurnFinished": "hermes.types.event:TurnFinished",
    "open": "hermes.api:open_session",
    "open_runtime": "hermes.runtime:open_runtime",
    "Runtime": "hermes.runtime:Runtime",
    "Session": "hermes.agent.session:Session",
    "SessionOptions": "hermes.agent.spec:SessionOptions",
    "tool": "hermes.tools.function:tool",
    "ToolContext": "hermes.types.tool:ToolContext",
    "attachment": "hermes.agent.attachments:attachment",
    "get_tool_definitions": "hermes.tools.schemas:get_tool_definitions",
}
__all__ = [
    "Actor",
    "Approve",
    "Attachment",
    "Capabilities",
    "Clarify",
    "Deny",
    "Event",
    "Grant",
    "HermesError",
    "OutputInvalid",
    "Reply",
    "Runtime",
    "Session",
    "SessionOptions",
    "ToolContext",
    "TurnFinished",
    "attachment",
    "get_tool_definitions",
    "open",
    "open_runtime",
    "tool",
]


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module 'hermes' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
