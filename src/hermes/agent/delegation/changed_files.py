"""The files that the calls of a log wrote."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from hermes.agent.call_order import touched
from hermes.types.message import Assistant, Message, ToolCall, ToolResult
from hermes.types.tool import ToolEntry


class FileCalls(Struct, frozen=True):
    """The calls of a log as far as files are concerned: by the tools they name, in the folder `cwd`."""

    log: tuple[Message, ...]
    tools: Mapping[str, ToolEntry]
    cwd: str

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths that went well with tools that write files, each once, in order; what a command wrote is
        not known.
        """
        return self._paths(self._went_well())

    def cut(self, begun: Iterable[str]) -> tuple[str, ...]:
        """The paths of calls of the last reply with these ids, whose end nobody has seen."""
        return self._paths(self._of(begun))

    def unknown_tools(self, begun: Iterable[str]) -> tuple[str, ...]:
        """The tools that are not there any more, of calls that went well or have these ids: nobody can say
        what they wrote.
        """
        ran = (call.name for call in (*self._went_well(), *self._of(begun)))
        return tuple(dict.fromkeys(name for name in ran if name not in self.tools))

    def _of(self, begun: Iterable[str]) -> Iterator[ToolCall]:
        replies = (one for one in reversed(self.log) if isinstance(one, Assistant))
        last, ids = next(replies, None), set(begun)
        return (call for call in (last.calls if last else ()) if call.id in ids)

    def _went_well(self) -> Iterator[ToolCall]:
        """Later replies may use an id again, so a result belongs to the last call before it."""
        calls: dict[str, ToolCall] = {}
        for one in self.log:
            if isinstance(one, Assistant):
                calls |= {call.id: call for call in one.calls}
            elif isinstance(one, ToolResult) and not one.failed and one.call_id in calls:
                yield calls[one.call_id]

    def _paths(self, calls: Iterable[ToolCall]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for call in calls for path in self._written(call)))

    def _written(self, call: ToolCall) -> Iterable[str]:
        entry = self.tools.get(call.name)
        if entry is None or "files" not in entry.manifest.effects:
            return ()
        return touched(call, entry.manifest, self.cwd)
