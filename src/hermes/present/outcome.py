"""What a finished call has to say on a screen: the word for its end, the tail of its output, its change."""

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hermes.lib.text import strip_escapes
from hermes.present.plan import plan_item, plan_word
from hermes.types.message import ToolCall, ToolResult

_TIMED_OUT, _STOPPED = 124, 130
_UNIT = 1000
_SILENT = frozenset({"read_file", "search_files", "write_file", "patch", "todo", "memory"})


class Outcome(Struct, frozen=True, kw_only=True):
    """`word` is shown after the seconds, empty when there is nothing to say; `range` belongs to the argument:
    lines that were read, the item of a plan that is worked on; `diff` is unified, `plan` the items of the
    session's plan.
    """

    ok: bool
    word: str = ""
    output: str = ""
    range: str = ""
    diff: str = ""
    plan: tuple[Mapping[str, Any], ...] = ()


def outcome(call: ToolCall, result: ToolResult) -> Outcome:
    """How the call ended, read from its documented result; a result of another form is shown as text."""
    content = _parsed(result.content)
    if content is None:
        return Outcome(
            ok=not result.failed, word="✗ failed" if result.failed else "", output=_clean(result.content)
        )
    fault = _fault(content, failed=result.failed)
    if fault:
        return Outcome(ok=False, word=f"✗ {fault}", output=_failure_output(content, call))
    plan = _plan(call, content)
    return Outcome(
        ok=True,
        word=_measure(call, content),
        output="" if call.name in _SILENT else _clean(str(content.get("output", "") or "")),
        range=_range(content) if call.name == "read_file" else plan_item(plan),
        diff=_clean(str(content.get("diff", "") or "")),
        plan=plan,
    )


def exit_code(result: ToolResult) -> int | None:
    """The exit code of a command; None for what has none."""
    code = (_parsed(result.content) or {}).get("exit_code")
    return code if isinstance(code, int) else None


def printed(result: ToolResult) -> str:
    """What a call printed, its errors last, or why there is none; where it prints nothing its result as it
    is.
    """
    fields = _parsed(result.content) or {}
    output, errors = fields.get("output"), fields.get("stderr", "")
    return (
        f"{output}{errors}" or str(fields.get("error") or "") if isinstance(output, str) else result.content
    )


def changed(result: ToolResult) -> str:
    """The diff of an edit, as its result has it; "" for another one."""
    diff = (_parsed(result.content) or {}).get("diff")
    return diff if isinstance(diff, str) else ""


def _parsed(content: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(content)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _fault(content: Mapping[str, Any], *, failed: bool) -> str:
    """The name of what went wrong, empty when nothing did."""
    status, code, error = content.get("status"), content.get("exit_code"), content.get("error")
    if status in {"blocked", "denied", "refused"}:
        return "denied"
    if status in {"interrupted", "stopped", "cancelled"} or code == _STOPPED:
        return "stopped"
    if status == "not_run":
        return "not run"
    if content.get("timed_out") or status == "timeout" or code == _TIMED_OUT:
        return "timed out"
    if isinstance(code, int) and code != 0:
        return f"exit {code}"
    if failed or error or content.get("success") is False:
        return str(content.get("error_type") or "error")
    return ""


def _failure_output(content: Mapping[str, Any], call: ToolCall) -> str:
    """What a failed call has to show: its output, then its error, and of what it wrote beside its output the
    last line, if they are not said there already.
    """
    shown = "" if call.name in _SILENT else _clean(str(content.get("output") or ""))
    last = _clean(str(content.get("stderr") or "")).rpartition("\n")[2]
    for part in (_clean(str(content.get("error") or "")), last):
        if part not in shown:
            shown = f"{shown}\n{part}" if shown else part
    return shown


def _measure(call: ToolCall, content: Mapping[str, Any]) -> str:
    """The one number that tells what a call found or wrote."""
    if call.name == "search_files" and isinstance(content.get("total_count"), int):
        hits = content["total_count"]
        return "1 hit" if hits == 1 else f"{hits} hits"
    if call.name == "write_file" and isinstance(content.get("bytes_written"), int):
        return size(content["bytes_written"])
    if call.name == "execute_code" and (made := content.get("tool_calls_made")):
        return "1 call" if made == 1 else f"{made} calls"
    if call.name == "todo":
        return plan_word(_plan(call, content))
    if call.name == "terminal" and content.get("pid"):
        return "in background"
    return ""


def _plan(call: ToolCall, content: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    items = content.get("todos") if call.name == "todo" else None
    if not isinstance(items, list):
        return ()
    known = all(isinstance(one, dict) and {"status", "content"} <= one.keys() for one in items)
    return tuple(items) if known else ()


def _range(content: Mapping[str, Any]) -> str:
    """The lines a read gave, such as `:1-10`, from its `number|text` rows."""
    numbers = [
        head
        for head, bar, _ in (row.partition("|") for row in str(content.get("content", "")).splitlines())
        if bar and head.isdigit()
    ]
    return f":{numbers[0]}-{numbers[-1]}" if numbers else ""


def _clean(text: str) -> str:
    """`text` without escapes and without what a carriage return wrote over."""
    rows = strip_escapes(text).expandtabs(4).split("\n")
    return "\n".join(row.rstrip("\r").rpartition("\r")[2] for row in rows).strip("\n")


def size(count: float) -> str:
    """A count of bytes as people say it: 812 B, 3.4 kB, 1.2 MB."""
    for unit in ("B", "kB", "MB"):
        if count < _UNIT:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= _UNIT
    return f"{count:.1f} GB"
