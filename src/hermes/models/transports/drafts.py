"""A reply of content blocks while it comes in: what the two wires of Claude share on the way back."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec

from hermes.lib.codec import mended
from hermes.models.transports.assembly import Calls
from hermes.models.transports.base import BadReplyError
from hermes.types.message import Assistant, Thinking, ToolCall
from hermes.types.request import CallStarted, Delta, Remark, Request, Text, ThinkingText
from hermes.types.usage import Stop, Usage

Kind = Literal["text", "thinking", "redacted", "call", "other"]
_LETTERS: dict[Kind, str] = {"thinking": "r", "redacted": "r", "text": "t", "call": "c", "other": "o"}
_is_plain = re.compile("r*t*c*").fullmatch


@dataclass(slots=True)
class Item:
    """One block as far as it has come: `tree` is the wire's own; `rich` says that no field of a message can hold all of it."""

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
        self._items: dict[int, Item] = {}
        self._calls = Calls()
        self._deltas: list[Delta] = []
        self._kind: type[Text | ThinkingText] = Text
        self._pieces: list[str] = []
        self._remarks: set[str] = set()

    def item(self, index: int, kind: Kind) -> Item:
        """The block of that index, begun if need be."""
        found = self._items.get(index)
        if found is None:
            found = self._items[index] = Item(kind, {})
        return found

    def text(self, index: int, piece: str) -> None:
        """More text."""
        if piece:
            self.item(index, "text").text.append(piece)
            self._said(Text, piece)

    def thinking(self, index: int, piece: str) -> None:
        """More reasoning."""
        if piece:
            self.item(index, "thinking").text.append(piece)
            self._said(ThinkingText, piece)

    def signature(self, index: int, piece: str) -> None:
        """More of a signature."""
        self.item(index, "thinking").signature.append(piece)

    def redacted(self, index: int, data: str) -> None:
        """Reasoning without a text."""
        self.item(index, "redacted").signature.append(data)

    def call(self, index: int, call_id: str, name: str) -> Item:
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

    def other(self, index: int, tree: dict[str, Any], remark: str) -> Item:
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

    def _said(self, kind: type[Text | ThinkingText], piece: str) -> None:
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

    def finish(self, stop: Stop, reply_id: str, usage: Usage, raw: Callable[[Item, ToolCall | None], dict[str, Any]]) -> Assistant:
        """The reply, its origin still open; `raw` gives a block in the wire's own form."""
        items = [item for item in self._items.values() if item.kind != "text" or item.text or item.rich]
        stop = "calls" if self._calls and stop == "end" else stop
        calls = self._calls.finish(stop, reply_id[-12:])
        plain = _is_plain("".join(_LETTERS[item.kind] for item in items)) and not any(item.rich for item in items)
        by_order = iter(calls)
        opaque = () if plain else tuple(mended(raw(item, next(by_order, None) if item.kind == "call" else None)) for item in items)
        return Assistant(
            id="",
            at=0.0,
            text=mended("".join("".join(item.text) for item in items if item.kind == "text")),
            thinking=tuple(_thought(item) for item in items if _is_thought(item)),
            calls=calls,
            stop=stop,
            usage=usage,
            opaque=opaque,
        )


def _is_thought(item: Item) -> bool:
    return item.kind in {"thinking", "redacted"} and bool(item.text or item.signature)


def _thought(item: Item) -> Thinking:
    return Thinking(text=item.whole_text, signature=item.whole_signature, redacted=item.kind == "redacted")


def with_origin(reply: Assistant, request: Request) -> Assistant:
    """The reply with where it came from."""
    endpoint = request.endpoint
    return replace(reply, provider=endpoint.provider, model=endpoint.model, protocol=endpoint.protocol, family=endpoint.profile.family)


_decode = msgspec.json.Decoder().decode


def tree_of(data: bytes, what: str) -> dict[str, Any]:
    """The JSON object in `data`; lone surrogates and broken UTF-8 do not matter. BadReplyError when it is none; `what` names it."""
    try:
        tree = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            tree = json.loads(data.decode("utf-8", "replace"), strict=False)
        except (ValueError, RecursionError) as error:
            raise BadReplyError(f"The server sent something that is not {what}: {_shown(data)}") from error
    if not isinstance(tree, dict):
        raise BadReplyError(f"The server sent something that is not {what}: {_shown(data)}")
    return tree


def _shown(data: bytes) -> str:
    return repr(data[:200].decode("utf-8", "replace"))


def part(tree: Any, name: str) -> dict[str, Any]:
    """The object of that name in a tree; an empty one where there is none."""
    found = tree.get(name) if isinstance(tree, dict) else None
    return found if isinstance(found, dict) else {}


def count(tree: dict[str, Any], name: str) -> int:
    """The number of that name in a tree; 0 where there is none."""
    found = tree.get(name)
    return found if isinstance(found, int) else 0


def string(tree: dict[str, Any], name: str) -> str:
    """The text of that name in a tree; empty where there is none."""
    found = tree.get(name)
    return found if isinstance(found, str) else ""
