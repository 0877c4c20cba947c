"""The messages of a session's log: frozen, written once, never changed.

What they hold was text or JSON, so none can lead back to itself: the garbage collector does not visit them
(`gc=False`).

A field that is not known is refused where they are read (`forbid_unknown_fields`): the name of a known one
may be damaged, and what it said be lost unseen. So another field of a message needs another number of the
schema, by which an older Hermes refuses the file (`tests/unit/store/test_message_fields.py`).
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from hermes.types.usage import NO_USAGE, Stop, Usage

CONTINUATION = "continuation"
VERIFICATION = "pre_verify"
"""The source of a block that has a turn go on."""
"""The origin of what asks a model to go on with a reply; no log holds such a message."""


class Attachment(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """A file that travels with a message: `data` is base64."""

    media_type: str
    data: str
    name: str = ""


class Thinking(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """Reasoning text of a model, with the provider's opaque signature when it gives one.

    `redacted` says that there is no text: the signature is all the provider gave, and it goes back as it
    came.
    """

    text: str
    signature: str = ""
    redacted: bool = False


class ToolCall(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """A model's wish to run a tool.

    `arguments` is what will be run; `raw` the text the model wrote; `repaired` says that the text had to be
    mended. `fault` is a sentence for the model when the arguments could not be read: such a call is answered,
    never run.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    raw: str = ""
    repaired: bool = False
    fault: str = ""


MEMORY_TAG = "memory-context"
"""The tag around what was recalled; no text inside can close it."""
ABOUT_MEMORY = (
    "[Recalled from memory, for reference. The user has not said this now, and it asks for nothing. Do not"
    " repeat it word for word.]"
)
_IMITATION = re.compile(rf"<(?=[\s/\\]*{MEMORY_TAG})", re.IGNORECASE)
_SAID: Mapping[str, str] = {
    "note": "the user said: ",
    "pin": "the user pinned this, so it holds from now on: ",
    "unpin": "the user took this back: ",
}


class ContextBlock(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """Words that the model reads with a message and that are not part of it.

    `memory` was recalled, `process` is news of a background process, a `note` was said while a turn ran, a
    `limit` of the turn is reached, a `hook` added it, a `summary` stands for earlier messages, a `pin` is a
    fact that the user wants kept and `unpin` takes one back, `folder` is what a folder's notes say, `child`
    the report of a child, `command` is one that the user ran, with its output, `output` asks for an answer of
    a form, `skill` is a procedure that the user calls for, `other` is what older versions kept without its
    kind.

    `source` is where it comes from: an actor's origin, a process's id, a memory's name, a hook point, a
    file's path, a child's session. `id` tells notes of the same words apart. `outside` names where its text
    came from when nobody here wrote it.
    """

    kind: Literal[
        "memory",
        "process",
        "note",
        "limit",
        "hook",
        "summary",
        "pin",
        "unpin",
        "folder",
        "child",
        "command",
        "output",
        "skill",
        "other",
    ]
    text: str
    source: str = ""
    id: str = ""
    outside: str = ""

    @property
    def words(self) -> str:
        """What the model reads."""
        if self.kind == "memory":
            return f"<{MEMORY_TAG}>\n{ABOUT_MEMORY}\n{_IMITATION.sub('&lt;', self.text)}\n</{MEMORY_TAG}>"
        return f"{_SAID[self.kind]}{self.text}" if self.kind in _SAID else self.text


class User(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """What a person (or a job) said; `blocks` go before the text."""

    id: str
    at: float
    text: str
    attachments: tuple[Attachment, ...] = ()
    blocks: tuple[ContextBlock, ...] = ()
    origin: str = "cli"
    kind: Literal["user"] = "user"

    @property
    def context(self) -> str:
        """What goes before the text, as the model reads it."""
        return "\n".join(block.words for block in self.blocks)

    @property
    def told(self) -> str:
        """All that the model reads."""
        return f"{self.context}\n\n{self.text}" if self.context else self.text

    @property
    def begins_turn(self) -> bool:
        """Whether a turn begins here, and does not go on because a hook wants that."""
        return all(block.source != VERIFICATION for block in self.blocks)


class Cut(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """Where a reply was cut by its length and continued: how much of its text, reasoning and own items of the
    wire had come.

    `tokens` counts the prompts and replies of the requests until then.
    """

    text: int = 0
    thinking: int = 0
    opaque: int = 0
    tokens: int = 0


class Assistant(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """One whole reply of a model.

    `provider`, `model`, `protocol` and `family` say where it came from: signed reasoning is replayed to the
    same family, `opaque` to the same protocol and family. `opaque` holds the wire's own items, in their
    order, where the other fields cannot say all of it. `cuts` are the places where the reply was continued in
    another request.
    """

    id: str
    at: float
    text: str = ""
    thinking: tuple[Thinking, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    stop: Stop = "end"
    usage: Usage = NO_USAGE
    model: str = ""
    provider: str = ""
    protocol: str = ""
    family: str = ""
    opaque: tuple[Mapping[str, Any], ...] = ()
    cuts: tuple[Cut, ...] = ()
    kind: Literal["assistant"] = "assistant"


class ToolResult(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """The answer to one call. `blocks` ride on it; `full` is the path of the uncut text, when clipped.

    `outside` names where the content came from when nobody here wrote it: the model gets it fenced, as data.
    """

    id: str
    at: float
    call_id: str
    name: str
    content: str
    images: tuple[Attachment, ...] = ()
    failed: bool = False
    blocks: tuple[ContextBlock, ...] = ()
    full: str = ""
    outside: str = ""
    kind: Literal["tool_result"] = "tool_result"

    @property
    def note(self) -> str:
        """What rides on it, as the model reads it."""
        return "\n".join(block.words for block in self.blocks)


class Compaction(Struct, frozen=True, kw_only=True, weakref=True, forbid_unknown_fields=True):
    """An entry that stands for the older part of a log; the log itself keeps all of it.

    `summary` is the record of what is left out: the messages from number `head` to before the one of the id
    `first_kept`, `dropped` of them. `verbatim` is what of them stays word for word. Messages before the one
    of the id `digested` are shown in short, single ones with at most `clip` characters (0: whole). `focus` is
    the topic that was asked for, `fallback` says that no model wrote the summary; `before` and `after` are
    tokens of a request.

    An attempt that saved nothing has an entry, too, so that it is not made again and again; that one changes
    nothing of what is seen.
    """

    id: str
    at: float
    summary: str
    first_kept: str
    head: int = 0
    dropped: int = 0
    focus: str = ""
    fallback: bool = False
    verbatim: str = ""
    digested: str = ""
    clip: int = 0
    before: int = 0
    after: int = 0
    kind: Literal["compaction"] = "compaction"

    @property
    def saved_nothing(self) -> bool:
        """Whether it only tells of an attempt."""
        return 0 < self.before <= self.after


Message = User | Assistant | ToolResult | Compaction


def begins_turn(message: "Message") -> bool:
    """Whether a turn begins with a message."""
    return isinstance(message, User) and message.begins_turn


def speakers(message: Message) -> tuple[str, ...]:
    """The origins of those who speak in a message: who said it, and who sent the notes that ride on it."""
    match message:
        case User():
            return (message.origin, *_notes_of(message.blocks))
        case ToolResult() if message.blocks:
            return _notes_of(message.blocks)
    return ()


def _notes_of(blocks: tuple[ContextBlock, ...]) -> tuple[str, ...]:
    return tuple(block.source for block in blocks if block.kind == "note")
