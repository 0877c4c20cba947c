"""Tool calls put together from the pieces a stream brings, by index and id."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from hermes.lib.codec import mended
from hermes.lib.jsonfix import parse_arguments
from hermes.types.message import ToolCall
from hermes.types.usage import Stop

CUT = "The reply was cut by the output limit before this call was whole, so it was not run. Make the call again, shorter."


@dataclass(slots=True)
class Piece:
    """One call as far as it has come."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Calls:
    """The calls of one reply. Servers differ: ids may be empty or repeated, names repeated, indexes missing or all zero."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self._by_index: dict[int, Piece] = {}

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, index: int | None, call_id: str, name: str, arguments: Any) -> str:
        """Take in one delta; gives the name of the call if this delta began it, else nothing."""
        piece, fresh = self._find(index, call_id)
        piece.id = piece.id or call_id
        if name and name != piece.name:
            piece.name += name
        if arguments:
            piece.arguments.append(arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode())
        return piece.name if fresh else ""

    def place(self, index: int | None, call_id: str) -> int:
        """The number of the call that a delta belongs to, in the order of `finish`; the delta has been added."""
        found = self._by_index[self._index_of(call_id) if index is None else index]
        return next(number for number, piece in enumerate(self._pieces) if piece is found)

    def finish(self, stop: Stop, reply_id: str) -> tuple[ToolCall, ...]:
        """All calls, each with an id of its own; those of a reply cut by length carry a fault."""
        seen: set[str] = set()
        return tuple(self._call(number, piece, stop, reply_id, seen) for number, piece in enumerate(self._pieces))

    def _find(self, index: int | None, call_id: str) -> tuple[Piece, bool]:
        if index is None:
            index = self._index_of(call_id)
        piece = self._by_index.get(index)
        if piece is not None and not (call_id and piece.id and call_id != piece.id):
            return piece, False
        piece = Piece()  # a known index with another id is another call: some servers number every call 0
        self._pieces.append(piece)
        self._by_index[index] = piece
        return piece, True

    def _index_of(self, call_id: str) -> int:
        """Where a delta without an index belongs: to the call of that id, to the last call, or to a new one."""
        for index, piece in self._by_index.items():
            if call_id and piece.id == call_id:
                return index
        if call_id or not self._by_index:
            return len(self._by_index)
        return max(self._by_index)

    def _call(self, number: int, piece: Piece, stop: Stop, reply_id: str, seen: set[str]) -> ToolCall:
        raw = mended("".join(piece.arguments))
        parsed = parse_arguments(raw)
        call_id = piece.id if piece.id and piece.id not in seen else f"call_{reply_id}_{number}"
        seen.add(call_id)
        return ToolCall(
            id=call_id,
            name=piece.name,
            arguments=parsed.value,
            raw=raw,
            repaired=parsed.repaired,
            fault=CUT if stop == "length" else parsed.fault,
        )
