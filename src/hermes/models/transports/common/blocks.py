"""Messages as content blocks, encoded once and kept: what the two wires of Claude share on the way out."""

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from hermes.models.transports.base import result_text
from hermes.models.transports.common.dialects import adapt
from hermes.models.transports.common.encoding import (
    Encoded,
    Mark,
    Messages,
    PrefixBuffer,
    encode,
    in_words,
    same_frame,
)
from hermes.types.message import (
    Assistant,
    Attachment,
    Compaction,
    Message,
    Thinking,
    ToolCall,
    ToolResult,
    User,
)
from hermes.types.profile import Profile
from hermes.types.request import Request

Block = Mapping[str, Any]
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
PDF = "application/pdf"
NOTHING_SAID = "(no text)"
NO_OUTPUT = "(no output)"
BEGINNING = "(What was said before this is not shown.)"
_is_legal = re.compile(r"[a-zA-Z0-9_-]{1,64}").fullmatch


class BlockSpelling(Protocol):
    """How one wire spells a block."""

    @property
    def protocol(self) -> str:
        """The wire's name, as messages have it."""

    def text(self, text: str) -> Block:
        """Text, which is never blank."""

    def thinking(self, item: Thinking) -> Block:
        """Reasoning, signed or redacted."""

    def call(self, call_id: str, call: ToolCall) -> Block:
        """A call of a tool."""

    def result(self, call_id: str, message: ToolResult, content: list[Block]) -> Block:
        """The answer to a call."""

    def image(self, item: Attachment) -> Block:
        """A picture of one of the types in IMAGES."""

    def document(self, item: Attachment, name: str) -> Block:
        """A PDF or a text; `name` differs for each document of a conversation."""

    def call_id(self, block: Block) -> str | None:
        """The id of the call that this block is; None for other blocks."""

    def can_carry(self, block: Block) -> bool:
        """Whether a cache mark may follow or sit on this block."""

    def is_thinking(self, block: Block) -> bool:
        """Whether this block is reasoning."""


class EncodedMessage(Struct, frozen=True):
    """One message as the wire takes it: encoded blocks of one role.

    `carries` says that a cache mark may stand at its end, `thinks` that it begins with reasoning.
    """

    role: str
    parts: tuple[bytes, ...]
    carries: bool
    thinks: bool = False


class Kept:
    """What one session's requests are in bytes; each message is encoded once, unless what the endpoint takes
    changes.

    `frame` gives all of a request's body but its messages; it gets the names of the tools that the
    conversation calls.
    """

    def __init__(
        self, words: BlockSpelling, frame: Callable[[Request, AbstractSet[str]], dict[str, Any]]
    ) -> None:
        self._words, self._frame = words, frame
        self._pieces: dict[str, EncodedMessage] = {}
        self._view: tuple[Profile, frozenset[str]] | None = None
        self._owners: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._called: set[str] = set()
        self._grown = PrefixBuffer()
        self._head: tuple[Request | None, int, bytes] = (None, 0, b"")

    def body(self, request: Request, mark: Mark | None) -> bytes:
        """A request's body: the frame, then the messages: roles alternate, a user begins, the last ones that
        can carry a mark have it.
        """
        view = (request.endpoint.profile, request.without)
        if view != self._view:
            self._view = view
            for kept in (self._pieces, self._owners, self._ids, self._called):
                kept.clear()

        def take(messages: Messages, index: int) -> None:
            self._add(self._pieces.get(messages[index].id) or self._piece(messages[index], request))

        self._grown.grow(request.messages, (view, bool(mark)), take)
        return b"".join((self._framed(request), *self._grown.parts(mark), b"]}"))

    def _add(self, piece: EncodedMessage) -> None:
        if not piece.parts:
            return
        start, last = b'{"role":"' + piece.role.encode() + b'","content":[', self._grown.last
        if last.startswith(start):
            self._grown.replace(Encoded(b",".join((last[:-2], *piece.parts)) + b"]}", piece.carries))
            return
        if not last and piece.role != "user":
            self._add(EncodedMessage("user", (encode(self._words.text(BEGINNING)),), carries=False))
        self._grown.add(Encoded(start + b",".join(piece.parts) + b"]}", piece.carries))

    def _framed(self, request: Request) -> bytes:
        request = self._as_begun(request)
        known, called, head = self._head
        if (
            known is None
            or not same_frame(known, request)
            or (not request.tools and called != len(self._called))
        ):
            head = encode(self._frame(request, self._called))[:-1] + b',"messages":['
            self._head = (request, len(self._called), head)
        return head

    def _as_begun(self, request: Request) -> Request:
        """The request as its frame has to see it.

        A model with a reasoning budget takes no tool loop that began without reasoning, as one does that
        another model began: it goes on without until the next user.
        """
        if request.endpoint.profile.thinking != "budget" or not request.options.effort:
            return request
        first: EncodedMessage | None = None
        for message in reversed(request.messages):
            if isinstance(message, User | Compaction):
                break
            first = self._pieces[message.id] if isinstance(message, Assistant) else first
        lacks = first is not None and bool(first.parts) and not first.thinks
        return replace(request, without=request.without | {"effort"}) if lacks else request

    def _piece(self, message: Message, request: Request) -> EncodedMessage:
        match message:
            case User():
                role, blocks = "user", self._user_blocks(message, request)
            case Compaction():
                role, blocks = (
                    "user",
                    [self._words.text(message.summary if message.summary.strip() else NOTHING_SAID)],
                )
            case ToolResult():
                role, blocks = "user", [self._answered(message, request)]
            case Assistant():
                role, blocks = "assistant", self._replied(message, request)
        carries = bool(blocks) and self._words.can_carry(blocks[-1])
        thinks = bool(blocks) and self._words.is_thinking(blocks[0])
        piece = self._pieces[message.id] = EncodedMessage(
            role, tuple(encode(block) for block in blocks), carries, thinks
        )
        return piece

    def _user_blocks(self, message: User, request: Request) -> list[Block]:
        text = message.told
        blocks = [self._words.text(text if text.strip() else NOTHING_SAID)]
        return blocks + [
            self._attached(item, f"{message.id}/{number}", request)
            for number, item in enumerate(message.attachments)
        ]

    def _attached(self, item: Attachment, place: str, request: Request) -> Block:
        profile = request.endpoint.profile
        if item.media_type in IMAGES and profile.vision and "images" not in request.without:
            return self._words.image(item)
        if item.media_type == PDF and profile.documents:
            return self._words.document(item, document_name(item, place))
        if profile.documents and plain_text(item):
            return self._words.document(item, document_name(item, place))
        return self._words.text(in_words(item))

    def _answered(self, message: ToolResult, request: Request) -> Block:
        text = result_text(message)
        content = [self._words.text(text)] if text.strip() else []
        shows = request.endpoint.profile.tool_images and not request.without & {"images", "tool_images"}
        for item in message.images:
            visible = shows and item.media_type in IMAGES
            content.append(self._words.image(item) if visible else self._words.text(in_words(item)))
        call_id = self._ids.get(message.call_id) or legal_id(message.call_id)
        return self._words.result(call_id, message, content or [self._words.text(NO_OUTPUT)])

    def _replied(self, message: Assistant, request: Request) -> list[Block]:
        family = request.endpoint.profile.family
        ids = {call.id: self._call_id(message, call) for call in message.calls}
        akin = bool(family) and message.family == family
        if message.opaque and akin and message.protocol == self._words.protocol:
            blocks = list(self._replayed(message, ids))
        else:
            portable = akin and message.protocol in {"anthropic_messages", "bedrock_converse"}
            blocks = [
                self._words.thinking(item)
                for item in message.thinking
                if portable
                and (item.signature or (request.endpoint.profile.replays_reasoning and item.text.strip()))
            ]
            blocks += [self._words.text(message.text)] if message.text.strip() else []
            blocks += [self._words.call(ids[call.id], call) for call in message.calls]
        if "thinking" in request.without:
            blocks = [block for block in blocks if not self._words.is_thinking(block)]
        while blocks and self._words.is_thinking(blocks[-1]):  # no reply may end in reasoning
            blocks.pop()
        return blocks

    def _replayed(self, message: Assistant, ids: Mapping[str, str]) -> Iterable[Block]:
        """The wire's own items: calls as they are in the message, everything else as it came."""
        calls = {call.id: call for call in message.calls}
        for item in message.opaque:
            call_id = self._words.call_id(item)
            if call_id is None:
                text = item.get("text")
                if not isinstance(text, str) or text.strip():
                    yield item
            elif call_id in calls:
                yield {**item, **self._words.call(ids[call_id], calls[call_id])}

    def _call_id(self, message: Assistant, call: ToolCall) -> str:
        """An id that the wire takes and that no other message of the session uses."""
        wire_id = legal_id(call.id)
        if self._owners.setdefault(wire_id, message.id) != message.id:
            wire_id = hashed_id(call.id, message.id)
        self._ids[call.id] = wire_id
        self._called.add(legal_name(call.name))
        return wire_id


def has_marks(request: Request) -> bool:
    """Whether cache marks are wanted and taken."""
    return (
        bool(request.options.cache)
        and request.endpoint.profile.cache_marks
        and "cache_marks" not in request.without
    )


def functions(request: Request, called: Iterable[str]) -> tuple[Mapping[str, Any], ...]:
    """The functions that a request offers, in its profile's dialect.

    Without any, those that have been called: both wires refuse calls of undefined tools.
    """
    if request.tools:
        return tuple(
            tool["function"]
            for tool in adapt(request.tools, request.endpoint.profile.dialect, request.without)
        )
    return tuple({"name": name, "description": "Cannot be called any more."} for name in sorted(called))


def described(function: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """What both wires say of a function besides its schema."""
    tree: dict[str, Any] = {"name": function["name"]}
    if function.get("description"):
        tree["description"] = function["description"]
    if function.get("strict") and "strict" not in request.without:
        tree["strict"] = True
    return tree


def schema_of(function: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON Schema of a function's arguments."""
    return function.get("parameters") or {"type": "object", "properties": {}}


def legal_id(call_id: str) -> str:
    """The id itself, if both wires take it, else one made of it."""
    return call_id if _is_legal(call_id) else hashed_id(call_id, "")


def hashed_id(call_id: str, salt: str) -> str:
    """An id of letters, digits, `_` and `-` that differs where the id or the salt differs."""
    digest = hashlib.blake2b(f"{salt}\0{call_id}".encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{re.sub(r'[^a-zA-Z0-9_-]', '_', call_id)[:40]}_{digest}"


def legal_name(name: str) -> str:
    """A tool's name as both wires take it: models make names up, and history must stay valid."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unnamed"


def document_name(item: Attachment, place: str) -> str:
    """A name of letters, digits and single spaces that no other document of the session has."""
    words = " ".join(re.findall(r"[a-zA-Z0-9-]+", item.name)) or "document"
    return f"{words[:80]} {hashlib.blake2b(place.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"


def plain_text(item: Attachment) -> str:
    """The text of a text file; empty when it is none or says nothing."""
    if not item.media_type.startswith("text/"):
        return ""
    try:
        text = base64.b64decode(item.data, validate=True).decode("utf-8", "replace")
    except binascii.Error:
        return ""
    return text if text.strip() else ""
