"""A log as it looked when it happened: the same lines, made from stored messages."""

from collections.abc import Mapping

from hermes.agent.session import Session
from hermes.present.lines import compaction_line, tool_lines, user_lines
from hermes.present.markdown import markdown_lines
from hermes.present.spans import Line, line
from hermes.types.message import Assistant, Compaction, Message, ToolCall, ToolResult, User, begins_turn
from hermes.types.tool import ToolEntry


def replay_lines(session: Session, width: int, *, turns: int) -> list[Line]:
    """The last `turns` turns of a session, and a line that says how many came before."""
    log, tools = session.log, session.tools.tools
    starts = [number for number, message in enumerate(log) if begins_turn(message)]
    first = starts[-min(turns, len(starts))] if starts and turns else len(log)
    earlier = sum(1 for start in starts if start < first)
    rows: list[Line] = (
        [line(f"… {earlier} earlier {'turn' if earlier == 1 else 'turns'} · /history", "dim")]
        if earlier
        else []
    )
    calls: dict[str, ToolCall] = {}
    before = ""
    for message in log[first:]:
        if isinstance(message, Assistant):
            calls |= {call.id: call for call in message.calls}
        shown = _message_lines(message, calls, tools, width)
        if shown and rows and (before != message.kind or message.kind != "tool_result"):
            rows.append(())
        rows += shown
        before = message.kind if shown else before
    return rows


def _message_lines(
    message: Message, calls: Mapping[str, ToolCall], tools: Mapping[str, ToolEntry], width: int
) -> list[Line]:
    match message:
        case User():
            return user_lines(message.text, width)
        case Assistant():
            return markdown_lines(message.text, width) if message.text.strip() else []
        case ToolResult():
            call = calls.get(message.call_id) or ToolCall(id=message.call_id, name=message.name, arguments={})
            tool = tools.get(call.name)
            return tool_lines(call, message, None, width, emoji=tool.emoji if tool else "")[:1]
        case Compaction():
            return [compaction_line(message)]
