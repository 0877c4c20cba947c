"""What JSON wires share: bytes that grow with a conversation, addresses, headers, ids of calls, data
addresses of files.
"""

import base64
import binascii
import contextlib
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from hermes.lib.codec import mended
from hermes.types.message import Attachment, Message, ToolCall, ToolResult
from hermes.types.request import Request

PARTS_END = b"}]}"
"""How a message ends whose content is a list of parts: a mark may stand before it."""
MARKS = 3
"""How many blocks have a mark for the cache: the last ones that can carry one."""

Messages = tuple[Message, ...]


class Mark(Struct, frozen=True):
    """Bytes that ask for the prompt to be cached up to here; `before` is how many bytes of a block come after
    them.
    """

    text: bytes
    before: int

    def on(self, block: bytes) -> bytes:
        """The block with the mark."""
        return block[: -self.before] + self.text + block[-self.before :]


class Encoded(Struct, frozen=True):
    """One block of a conversation; `carries` says that a mark may be put on it."""

    data: bytes
    carries: bool = False


class PrefixBuffer(Struct):
    """The blocks of a conversation: those that do not change any more are joined already, the last ones are
    open.
    """

    _messages: Messages = ()
    _form: Any = None
    _settled: bytearray = field(default_factory=bytearray)
    _open: list[Encoded] = field(default_factory=list)

    @property
    def last(self) -> bytes:
        """The last block; empty when there is none."""
        return self._open[-1].data if self._open else b""

    def grow(self, messages: Messages, form: object, take: Callable[[Messages, int], None]) -> None:
        """Let `take` add what is new in `messages`: all of them, when they do not extend those before or go
        in another form.
        """
        known, self._messages = (
            self._messages,
            (),
        )  # nothing is known of a conversation that could not be taken in
        if not known or form != self._form or messages[: len(known)] != known:
            known = ()
            self._settled.clear()
            self._open.clear()
        for index in range(len(known), len(messages)):
            take(messages, index)
        self._messages, self._form = messages, form

    def add(self, block: Encoded) -> None:
        """One more block."""
        self._open.append(block)

    def replace(self, block: Encoded) -> None:
        """Another block in place of the last."""
        self._open[-1] = block

    def parts(self, mark: Mark | None = None, ending: Sequence[Encoded] = ()) -> tuple[bytearray, bytes]:
        """The blocks with commas between, in two parts, of which the first is to be read at once; `ending` is
        not kept.
        """
        blocks = [*self._open, *ending]
        marked = [number for number, block in enumerate(blocks) if block.carries][-MARKS:] if mark else []
        settled = max(0, min([*marked[:1], len(self._open) - 1]))
        for block in blocks[:settled]:
            self._settled += block.data
            self._settled += b","
        del self._open[:settled]
        rest = [
            mark.on(block.data) if mark and number in marked else block.data
            for number, block in enumerate(blocks[settled:], settled)
        ]
        return self._settled, b",".join(rest)


class MessageBuffer(Struct):
    """What one session's requests are in bytes on a wire whose messages stand alone.

    Each is encoded once, unless the form changes in which the endpoint takes them; the frame around them is
    encoded when what it says has changed.
    """

    _form: Any = None
    _grown: PrefixBuffer = field(default_factory=PrefixBuffer)
    _blocks: dict[str, bytes] = field(default_factory=dict)
    _frame: tuple[Request | None, bytes, bytes] = (None, b"", b"")

    def framed(
        self, request: Request, frame: Callable[[Request], tuple[bytes, bytes]]
    ) -> tuple[bytes, bytes]:
        """The bytes before and after the messages."""
        known, head, tail = self._frame
        if known is None or not same_frame(known, request):
            head, tail = frame(request)
            self._frame = (request, head, tail)
        return head, tail

    def joined(
        self,
        messages: Messages,
        form: object,
        spell: Callable[[Message], bytes],
        pictures: Callable[[Sequence[ToolResult]], bytes] | None,
        mark: Mark | None = None,
    ) -> tuple[bytearray, bytes]:
        """The messages as `spell` writes one, in two parts, of which the first is to be read at once.

        `pictures` writes the message that follows results whose images they may not hold themselves; None
        where they may, or where nothing sees them.
        """
        if form != self._form:
            self._form = form
            self._blocks.clear()

        def encoded(key: str, write: Callable[[], bytes]) -> Encoded:
            if key not in self._blocks:
                self._blocks[key] = write()
            return Encoded(self._blocks[key], self._blocks[key].endswith(PARTS_END))

        def shown(end: int) -> list[Encoded]:
            results = shown_before(messages, end) if pictures else []
            key = "\n".join(result.id for result in results) + "\n"
            return [encoded(key, lambda: pictures(results))] if pictures and results else []

        def take(messages: Messages, index: int) -> None:
            message = messages[index]
            blocks = [] if isinstance(message, ToolResult) else shown(index)
            for block in (*blocks, encoded(message.id, lambda: spell(message))):
                if block.data:
                    self._grown.add(block)

        self._grown.grow(messages, form, take)
        return self._grown.parts(mark, shown(len(messages)))


def shown_before(messages: Messages, end: int) -> list[ToolResult]:
    """Those of the results just before `end` that have images."""
    found: list[ToolResult] = []
    while end and isinstance(message := messages[end - 1], ToolResult):
        found += [message] if message.images else []
        end -= 1
    return found[::-1]


_FRAME_FIELDS = frozenset({"model", "messages", "input", "stream"})
_encode = msgspec.json.Encoder().encode


def encode(tree: Any) -> bytes:
    """JSON; lone surrogates become U+FFFD."""
    try:
        return _encode(tree)
    except UnicodeEncodeError:
        return _encode(mended(tree))


def address(base_url: str, path: str) -> str:
    """`base_url` with `path` at its end, before a query if it has one."""
    place, mark, query = base_url.partition("?")
    return place.rstrip("/") + path + mark + query


def headers(request: Request) -> dict[str, str]:
    """The endpoint's headers, with its credential in the one that it wants."""
    endpoint = request.endpoint
    common = {
        "content-type": "application/json",
        "accept": "text/event-stream, application/json",
        **endpoint.headers,
    }
    if not endpoint.credential or endpoint.auth == "aws":
        return common
    if endpoint.auth == "bearer":
        return {**common, "authorization": f"Bearer {endpoint.credential}"}
    return {**common, endpoint.auth: endpoint.credential}


def same_frame(known: Request, request: Request) -> bool:
    """Whether all but the messages of two requests is the same."""
    return (
        known.tools is request.tools
        and known.system == request.system
        and (known.options is request.options or known.options == request.options)
        and (known.endpoint is request.endpoint or known.endpoint == request.endpoint)
        and known.without == request.without
    )


def merged(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """`body` with what the user adds to it; what makes the request this request stays."""
    return {**body, **{name: value for name, value in extra.items() if name not in _FRAME_FIELDS}}


def call_id(given: str, pattern: str) -> str:
    """An id that matches `pattern`: the given one or, always the same for the same, another."""
    if not pattern or re.fullmatch(pattern, given):
        return given
    return hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[:9]


def arguments(call: ToolCall) -> str:
    """Arguments as the model wrote them, if that was JSON; else as they were understood, for history must
    always be valid.
    """
    as_written = call.raw and not call.repaired and not call.fault
    return call.raw if as_written else encode(call.arguments).decode()


def data_address(item: Attachment) -> str:
    """The file as an address that holds it."""
    return f"data:{item.media_type};base64,{item.data}"


def is_image(item: Attachment) -> bool:
    """Whether the file is a picture."""
    return item.media_type.startswith("image/")


def in_words(item: Attachment) -> str:
    """A file that the model does not take as one: its text, if it is a text, else words in its place."""
    named = f" {item.name}" if item.name else ""
    if item.media_type.startswith("text/"):
        with contextlib.suppress(binascii.Error):
            return f"[The file{named}:]\n{base64.b64decode(item.data).decode('utf-8', 'replace')}"
    return f"[The file{named} ({item.media_type}) is left out: this model does not take it.]"
