"""After a crash: every call that was cut gets exactly one answer, and none is run again (invariants 1 and 2)."""

from collections.abc import Iterator, Mapping

from hermes.tools.registry import tool_error
from hermes.types.message import ToolCall, ToolResult
from hermes.types.ports import Ports

UNKNOWN = "Hermes stopped while this call ran; its outcome is unknown. Look at what it may have done before doing it again."
NEVER_RAN = "Hermes stopped before this call was run; it changed nothing. Make it again if it is still needed."


def answers(open_calls: tuple[ToolCall, ...], begun: Mapping[str, ToolResult | None], ports: Ports) -> Iterator[ToolResult]:
    """The missing results: the outcome that was written, or that it is unknown, or that the call never ran."""
    for call in open_calls:
        written = begun.get(call.id)
        yield written if written is not None else _missing(call, ports, began=call.id in begun)


def _missing(call: ToolCall, ports: Ports, *, began: bool) -> ToolResult:
    content = tool_error(UNKNOWN, status="outcome_unknown") if began else tool_error(NEVER_RAN, status="not_run")
    return ToolResult(id=ports.token(), at=ports.now(), call_id=call.id, name=call.name, content=content, failed=True)
