"""A reply while it comes in: its tool calls, from their pieces, and what the two wires of Claude share."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from hermes.lib.codec import mended
from hermes.lib.jsonfix import parse_arguments
from hermes.models.transports.base import BadReplyError
from hermes.types.message import Assistant, Thinking, ToolCall
from hermes.types.request import CallStarted, Delta, Remark, Request, Text, ThinkingText
from hermes.types.usage import Stop, Usage

MOST_TOKENS = 10**12
"""What a server tells above this is no count of tokens."""
CUT = (
    "The reply was cut by the output limit before this call was whole, so it was not run. Make the call"
    " again, shorter."
)

FILTERED = (
    "The provider's filter ended the reply, so its calls were not run. Go on in another way, or say that it"
    " cannot be done."
)
BROKEN = "The reply ended in an unknown way, so its calls were not run. Make the call again."
FAULTS: Mapping[Stop, str] = {"length": CUT, "refusal": FILTERED, "error": BROKEN}
"""What is wrong with every call of a reply that ended so: it may not be whole, or not what was meant."""


class CallDraft(Struct):
    """One call as far as it has come."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Calls:
    """The calls of one reply. Servers differ: ids may be empty or repeated, names repeated, indexes missing
    or all zero.
    """

    def __init__(self) -> None:
        self._pieces: list[CallDraft] = []
        self._by_index: dict[int, CallDraft] = {}

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, index: int | None, call_id: str, name: str, arguments: Any) -> str:
        """Take in one delta; gives the name of the call if this delta began it, else nothing."""
        piece, fresh = self._find(index, call_id)
        piece.id = piece.id or call_id
        if name and name != piece.name:
            piece.name += name
        if arguments:
            piece.arguments.append(
                arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
            )
        return piece.name if fresh else ""

    def place(self, index: int | None, call_id: str) -> int:
        """The number of the call that a delta belongs to, in the order of `finish`; the delta has been
        added.
        """
        found = self._by_index[self._index_of(call_id) if index is None else index]
        return next(number for number, piece in enumerate(self._pieces) if piece is found)

    def finish(self, stop: Stop, reply_id: str) -> tuple[ToolCall, ...]:
        """All calls, each with an id of its own; those of a reply that was cut or refused carry a
        fault.
        """
        seen: set[str] = set()
        return tuple(
            self._call(number, piece, stop, reply_id, seen) for number, piece in enumerate(self._pieces)
        )

    def _find(self, index: int | None, call_id: str) -> tuple[CallDraft, bool]:
        if index is None:
            index = self._index_of(call_id)
        piece = self._by_index.get(index)
        if piece is not None and not (call_id and piece.id and call_id != piece.id):
            return piece, False
        piece = CallDraft()  # a known index with another id is another call: some servers number every call 0
        self._pieces.append(piece)
        self._by_index[index] = piece
        return piece, True

    def _index_of(self, call_id: str) -> int:
        """Where a delta without an index belongs: to the call of that id, to the last call, or to a new
        one.
        """
        for index, piece in self._by_index.items():
            if call_id and piece.id == call_id:
                return index
        if call_id or not self._by_index:
            return len(self._by_index)
        return max(self._by_index)

    def _call(self, number: int, piece: CallDraft, stop: Stop, reply_id: str, seen: set[str]) -> ToolCall:
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
            fault=FAULTS.get(stop, parsed.fault),
        )


Kind = Literal["text", "thinking", "redacted", "call", "other"]
_LETTERS: dict[Kind, str] = {"thinking": "r", "redacted": "r", "text": "t", "call": "c", "other": "o"}
_is_plain = re.compile("r*t*c*").fullmatch


class DraftItem(Struct):
    """One block as far as it has come: `tree` is the wire's own; `rich` says that no field of a message can
    hold all of it.
    """

    kind: Kind
    tree: dict[str, Any]
    text: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    rich: bool = False

    @property
    def whole_text(self) -> str:
        """The text so far."""
        return str(mended("".join(self.text)))

    @property
    def whole_signature(self) -> str:
        """The signature, or the data of redacted reasoning."""
        return str(mended("".join(self.signature)))


class Draft:
    """The blocks of one reply, by their index, and the deltas that nobody has taken yet."""

    def __init__(self) -> None:
        self._items: dict[int, DraftItem] = {}
        self._calls = Calls()
        self._deltas: list[Delta] = []
        self._kind: type[Text | ThinkingText] = Text
        self._pieces: list[str] = []
        self._remarks: set[str] = set()

    def item(self, index: int, kind: Kind) -> DraftItem:
        """The block of that index, begun if need be."""
        found = self._items.get(index)
        if found is None:
            found = self._items[index] = DraftItem(kind, {})
        return found

    def text(self, index: int, piece: str) -> None:
        """More text."""
        if piece:
            self.item(index, "text").text.append(piece)
            self._add_piece(Text, piece)

    def thinking(self, index: int, piece: str) -> None:
        """More reasoning."""
        if piece:
            self.item(index, "thinking").text.append(piece)
            self._add_piece(ThinkingText, piece)

    def signature(self, index: int, piece: str) -> None:
        """More of a signature."""
        self.item(index, "thinking").signature.append(piece)

    def redacted(self, index: int, data: str) -> None:
        """Reasoning without a text."""
        self.item(index, "redacted").signature.append(data)

    def call(self, index: int, call_id: str, name: str) -> DraftItem:
        """A call begins."""
        started = self._calls.add(index, call_id, name, None)
        if started:
            self._told().append(CallStarted(name=started))
        return self.item(index, "call")

    def arguments(self, index: int, piece: Any) -> None:
        """More of the arguments of a call, or all of them as an object."""
        item = self.item(index, "call")
        if item.kind == "call":
            self._calls.add(index, "", "", piece)
        if piece:
            item.arguments.append(piece if isinstance(piece, str) else json.dumps(piece))

    def other(self, index: int, tree: dict[str, Any], remark: str) -> DraftItem:
        """A block that nothing here understands; it is kept as it is, and the remark is made once."""
        item = self.item(index, "other")
        item.tree.update(tree)
        if remark not in self._remarks:
            self._remarks.add(remark)
            self._told().append(Remark(text=remark))
        return item

    def taken(self) -> list[Delta]:
        """What has come since the last time; pieces of text that came together are merged."""
        taken, self._deltas = self._told(), []
        return taken

    def _add_piece(self, kind: type[Text | ThinkingText], piece: str) -> None:
        if kind is not self._kind:
            self._told()
            self._kind = kind
        self._pieces.append(piece)

    def _told(self) -> list[Delta]:
        """The deltas so far, with the one that was being put together."""
        if self._pieces:
            self._deltas.append(self._kind(text=mended("".join(self._pieces))))
            self._pieces.clear()
        return self._deltas

    def finish(
        self,
        stop: Stop,
        reply_id: str,
        usage: Usage,
        raw: Callable[[DraftItem, ToolCall | None], dict[str, Any]],
    ) -> Assistant:
        """The reply, its origin still open; `raw` gives a block in the wire's own form."""
        items = [item for item in self._items.values() if item.kind != "text" or item.text or item.rich]
        stop = "calls" if self._calls and stop == "end" else stop
        calls = self._calls.finish(stop, reply_id[-12:])
        plain = _is_plain("".join(_LETTERS[item.kind] for item in items)) and not any(
            item.rich for item in items
        )
        by_order = iter(calls)
        opaque = (
            ()
            if plain
            else tuple(
                mended(raw(item, next(by_order, None) if item.kind == "call" else None)) for item in items
            )
        )
        return Assistant(
            id="",
            at=0.0,
            text=mended("".join("".join(item.text) for item in items if item.kind == "text")),
            thinking=tuple(
                Thinking(
                    text=item.whole_text, signature=item.whole_signature, redacted=item.kind == "redacted"
                )
                for item in items
                if item.kind in {"thinking", "redacted"} and bool(item.text or item.signature)
            ),
            calls=calls,
            stop=stop,
            usage=usage,
            opaque=opaque,
        )


def with_origin(reply: Assistant, request: Request) -> Assistant:
    """The reply with where it came from."""
    endpoint = request.endpoint
    return replace(
        reply,
        provider=endpoint.provider,
        model=endpoint.model,
        protocol=endpoint.protocol,
        family=endpoint.profile.family,
    )


_decode = msgspec.json.Decoder().decode


def tree_of(data: bytes, what: str) -> dict[str, Any]:
    """The JSON object in `data`; lone surrogates and broken UTF-8 do not matter.

    BadReplyError when it is none; `what` names it.
    """
    try:
        tree = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            tree = mended(json.loads(data.decode("utf-8", "replace"), strict=False))
        except (ValueError, RecursionError) as error:
            raise BadReplyError(f"The server sent something that is not {what}: {_shown(data)}") from error
    if not isinstance(tree, dict):
        raise BadReplyError(f"The server sent something that is not {what}: {_shown(data)}")
    return tree


def _shown(data: bytes) -> str:
    return repr(data[:200].decode("utf-8", "replace"))


def part(tree: Any, name: str) -> dict[str, Any]:
    """The object of that name in a tree; an empty one where there is none."""
    found = tree.get(name) if isinstance(tree, Mapping) else None
    return found if isinstance(found, dict) else {}


def count(tree: Mapping[str, Any], name: str) -> int:
    """The tokens of that name in a tree; 0 where there are none."""
    found = tree.get(name)
    return tokens(found) if isinstance(found, int | float) else 0


def tokens(told: float | None) -> int:
    """A number of tokens as a server tells it; 0 for what no request can have used."""
    return int(told) if told is not None and 0 <= told <= MOST_TOKENS else 0


def string(tree: dict[str, Any], name: str) -> str:
    """The text of that name in a tree; empty where there is none."""
    found = tree.get(name)
    return found if isinstance(found, str) else ""
