"""The files that a session's calls wrote, as its log tells."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from hermes.agent.calls import touched
from hermes.types.message import Assistant, ToolCall, ToolResult

if TYPE_CHECKING:
    from hermes.agent.session import Session


def changed_files(session: "Session") -> tuple[str, ...]:
    """The paths that went well with tools that write files, each once, in order; what a command wrote is not
    known.
    """
    calls = {call.id: call for one in session.log if isinstance(one, Assistant) for call in one.calls}
    wrote = (calls[one.call_id] for one in session.log if isinstance(one, ToolResult) and not one.failed)
    return tuple(dict.fromkeys(_written(session, wrote)))


def _written(session: "Session", calls: Iterable[ToolCall]) -> Iterator[str]:
    for call in calls:
        entry = session.tools.tools.get(call.name)
        if entry is not None and "files" in entry.manifest.effects:
            yield from touched(call, entry.manifest, str(session.spec.cwd))
