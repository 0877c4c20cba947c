"""A reply that its length cut is continued: the model sees the parts as messages of their own, everybody else
one answer.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from hermes.types.message import CONTINUATION, Assistant, Cut, Message, Thinking, User
from hermes.types.usage import NO_USAGE, Usage

GO_ON = (
    "[Your reply was cut here by the limit of its length. Go on exactly where it stopped: repeat nothing, and"
    " say nothing about the cut.]"
)
ANSWER = (
    "[Your reply reached the limit of its length before the first word of an answer. Answer now, with as"
    " little reasoning as you can.]"
)
NO_WORDS = "(no answer yet)"

REPEATED, SHORTEST, WORDS = 400, 20, 3
"""How many characters of what was there a part may repeat; fewer than the second number, or fewer words than
the third, may be what the text says twice.
"""


def spelled_out(messages: tuple[Message, ...], known: tuple[Message, ...] = ()) -> tuple[Message, ...]:
    """The messages as they were sent and answered: a continued reply in its parts, each with the request for
    more.

    A longer log gives the same messages and more, so that a continuation extends the request before it. Its
    spelled out messages may be given as `known`: a log that begins with them is looked at from there on.
    """
    fresh = messages[len(known) :] if messages[: len(known)] == known else messages
    if not any(isinstance(message, Assistant) and message.cuts for message in fresh):
        return messages
    found: list[Message] = []
    for message in messages:
        after = found[-1].id if found else ""
        found += _parts(message, after) if isinstance(message, Assistant) and message.cuts else [message]
    return tuple(found)


def to_be_continued(reply: Assistant) -> Assistant:
    """The reply with a cut at its end: `spelled_out` ends in the request for more."""
    end = Cut(
        text=len(reply.text),
        thinking=len(reply.thinking),
        opaque=len(reply.opaque),
        tokens=tokens(reply.usage),
    )
    return replace(reply, cuts=(*reply.cuts, end))


def joined(whole: Assistant, more: Assistant) -> Assistant:
    """One reply of what there is and what came for it: words that the second repeats are left out, usage is
    added up.

    What another family of models signed is of no use to the one that went on.
    """
    if (whole.protocol, whole.family) != (more.protocol, more.family):
        whole = _unsigned(whole)
    said = more.text[repeated(whole.text, more.text) :]
    if not said and not more.calls:
        return replace(whole, stop=more.stop, usage=whole.usage + more.usage)
    begun = to_be_continued(whole)
    end = begun.cuts[-1]
    later = (
        Cut(
            text=end.text + cut.text,
            thinking=end.thinking + cut.thinking,
            opaque=end.opaque + cut.opaque,
            tokens=end.tokens + cut.tokens,
        )
        for cut in more.cuts
    )
    return replace(
        more,
        text=whole.text + said,
        thinking=(*whole.thinking, *more.thinking),
        opaque=(*whole.opaque, *more.opaque),
        usage=whole.usage + more.usage,
        cuts=(*begun.cuts, *later),
    )


def repeated(before: str, text: str) -> int:
    """How many characters at the beginning of `text` repeat the end of `before`."""
    tail = before[-REPEATED:]
    sizes = range(min(len(tail), len(text)), SHORTEST - 1, -1)
    found = (size for size in sizes if tail.endswith(text[:size]) and len(text[:size].split()) >= WORDS)
    return next(found, 0)


def may_repeat(before: str, text: str) -> bool:
    """Whether more of a text that begins so may make it repeat the end of `before`."""
    return text in before[-REPEATED:]


def context_tokens(reply: Assistant) -> int:
    """Tokens of the last request that a reply took, and of what came for it."""
    return tokens(reply.usage) - (reply.cuts[-1].tokens if reply.cuts else 0)


def tokens(usage: Usage) -> int:
    """Tokens of prompts and replies together."""
    return usage.input_tokens + usage.output_tokens


def _parts(reply: Assistant, after: str) -> Iterator[Message]:
    start = Cut()
    for cut in reply.cuts:
        text = reply.text[start.text : cut.text]
        part = replace(
            _part(reply, start, cut), id=f"{after}+", at=0.0, calls=(), stop="length", usage=NO_USAGE
        )
        yield part if text else replace(part, text=NO_WORDS, thinking=(), opaque=())
        after = f"{after}++"
        yield User(id=after, at=0.0, text=GO_ON if text else ANSWER, origin=CONTINUATION)
        start = cut
    if len(reply.text) > start.text or reply.calls:
        yield _part(
            reply, start, Cut(text=len(reply.text), thinking=len(reply.thinking), opaque=len(reply.opaque))
        )


def _part(reply: Assistant, start: Cut, end: Cut) -> Assistant:
    return replace(
        reply,
        text=reply.text[start.text : end.text],
        thinking=reply.thinking[start.thinking : end.thinking],
        opaque=reply.opaque[start.opaque : end.opaque],
        cuts=(),
    )


def _unsigned(reply: Assistant) -> Assistant:
    thinking = tuple(Thinking(text=one.text) for one in reply.thinking if not one.redacted)
    cuts = tuple(replace(cut, thinking=0, opaque=0) for cut in reply.cuts)
    return replace(reply, thinking=thinking, opaque=(), cuts=cuts)
