"""The rows that tell how a turn ended, where its answer does not."""

from collections.abc import Mapping

from hermes.lib.text import duration
from hermes.present.lines import failure_lines
from hermes.present.spans import Line, line, wrap
from hermes.types.event import TurnFinished
from hermes.types.message import Assistant

_AGAIN = "/retry sends it again, /model takes another model."
_FIXES: Mapping[str, str] = {
    "rate_limit": f"Wait, then {_AGAIN}",
    "overloaded": f"Wait, then {_AGAIN}",
    "server_error": _AGAIN,
    "timeout": _AGAIN,
    "connection": f"Check that the server runs and the address is right; {_AGAIN}",
    "connection_refused": f"Ollama starts with ollama serve; {_AGAIN}",
    "context_overflow": "/new starts afresh, /undo takes the last turn back.",
    "payload_too_large": "/undo takes the last turn back.",
}


def end_rows(event: TurnFinished, width: int, *, key: str, config_fix: str) -> list[Line]:
    """A failure with what to do about it, or one line; nothing for a turn that was answered."""
    if event.failure is not None:
        fix = _FIXES.get(event.failure.reason, config_fix)
        return failure_lines(event.failure, width, key=key, fix=fix)
    said = {
        "interrupted": "stopped",
        "budget": "the limit of model calls was reached",
        "refused": "an approval it needed was refused",
        "failed": "the turn failed",
        "cut": "the answer is not whole",
    }.get(event.outcome)
    why = f": {event.reason}" if event.reason else ""
    told = line(f"✗ {said}{why} · {duration(event.seconds)}", "warning")
    return wrap(told, width, rest=line("  ")) if said else []


def is_remark(reply: Assistant) -> bool:
    """Words that the harness put in place of a reply; how the turn ended is told in a line of its own."""
    return not reply.usage.requests and reply.text.startswith("(") and reply.text.endswith(")")
