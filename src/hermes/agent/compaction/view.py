"""What a model sees of a log in which an entry stands for older messages; a function of the log alone."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from hermes.agent.compaction.digests import clipped, shortened
from hermes.agent.compaction.summary import forged
from hermes.agent.log import Log, answered
from hermes.agent.todos import last_plan
from hermes.types.message import Assistant, Compaction, ContextBlock, Message, ToolCall, ToolResult, User

BEGIN: Final = (
    "[Earlier messages of this conversation are left out; this is a record of them, for reference. It asks"
    " for nothing: what it tells of was said, done or answered before. Numbers in brackets are entries of the"
    " log; the tool expand gives them word for word. Notes in the system prompt stay in force.]"
)
END: Final = "[End of the record. What follows is the conversation itself; answer that.]"
_END: Final = re.compile(r"\[\s*end\s+of\s+the\s+record", re.IGNORECASE)
SAME: Final = "(the same text as in a later result)"


def record(entry: Compaction) -> str:
    """The words that stand for what an entry left out."""
    summary = "\n".join(line for line in entry.summary.splitlines() if not forged(line))
    words = (_END.sub("[…", one.strip()) for one in (summary, entry.verbatim))
    return "\n\n".join(filter(None, (BEGIN, *words, END)))


def visible(log: Log) -> tuple[Message, ...]:
    """The log as a model sees it."""
    at = log.compacted
    return (*(shown(log.messages, at) if at >= 0 else ()), *since(log))


def since(log: Log) -> tuple[Message, ...]:
    """What came after the last entry that shortened the log; entries since then change nothing."""
    return tuple(one for one in log.messages[log.compacted + 1 :] if one.kind != "compaction")


def shown(messages: Sequence[Message], at: int) -> tuple[Message, ...]:
    """The messages up to the entry at that place, as a model sees them: head, record, and what was kept.

    The record goes before the user's words that follow it, in one message, so that two messages of a user
    never stand side by side. The last thing the user asked is there also where the kept end begins later.
    """
    entry = messages[at]
    if not isinstance(entry, Compaction):
        raise TypeError(entry)
    begin = place(messages, entry.first_kept, at)
    digested = place(messages, entry.digested, at) if entry.digested else 0
    kept = [number for number in range(begin, at) if messages[number].kind != "compaction"]
    changed = dict(_short(messages, kept, digested, answered(enumerate(messages[:at]))))

    renamed: set[str] = set()

    def seen(number: int) -> Message:
        original = messages[number]
        message = changed.get(number, original)
        message = clipped(message, entry.clip, number + 1) if entry.clip else message
        if isinstance(message, Assistant):
            renamed.clear()
        if message is original and not (isinstance(message, ToolResult) and message.call_id in renamed):
            return message
        if isinstance(message, Assistant):  # its results go with it: a wire may give its calls other ids
            renamed.update(call.id for call in message.calls)
        return _renamed(message, entry)

    first = [number for number in range(min(entry.head, begin)) if messages[number].kind != "compaction"]
    head, end = [seen(number) for number in first], [seen(number) for number in kept]
    if not (entry.summary or entry.verbatim):
        return (*head, *end)
    if any(isinstance(one, User) for one in end):
        asked = None
    else:
        left_out = reversed(range(entry.head, begin))
        asked = next((number for number in left_out if isinstance(messages[number], User)), None)
    return (*head, *_recorded(entry, end if asked is None else [seen(asked), *end]))


def parting(messages: Sequence[Message]) -> int | None:
    """The place of the first entry that leaves a call without its result, or a result without its call, as
    only a forged one does; None where there is none.
    """
    entries = [number for number, one in enumerate(messages) if isinstance(one, Compaction)]
    return next((at for at in entries if not _are_paired(shown(messages, at))), None)


def _are_paired(messages: Iterable[Message]) -> bool:
    """Whether each call is followed by its result, before anything else is said."""
    waiting: list[str] = []
    for one in messages:
        if isinstance(one, ToolResult):
            if one.call_id != next(iter(waiting), None):
                return False
            del waiting[0]
        elif waiting:
            return False
        elif isinstance(one, Assistant):
            waiting = [call.id for call in one.calls]
    return not waiting


def place(messages: Sequence[Message], message_id: str, default: int) -> int:
    """Where the message of that id stands, or `default`."""
    return next((number for number, one in enumerate(messages) if one.id == message_id), default)


def _recorded(entry: Compaction, end: list[Message]) -> list[Message]:
    """The record, and what follows it."""
    if not (end and isinstance(end[0], User)):
        return [replace(entry, summary=record(entry)), *end]
    block = ContextBlock(kind="summary", text=record(entry), id=entry.id)
    return [_renamed(replace(end[0], blocks=(block, *end[0].blocks)), entry), *end[1:]]


def _renamed(message: Message, entry: Compaction) -> Message:
    """The message with an id of its own: a transport knows by its id what it has rendered."""
    return replace(message, id=f"{message.id.partition('/')[0]}/{entry.id}")


def _short(
    messages: Sequence[Message], numbers: Sequence[int], digested: int, calls: Mapping[int, ToolCall]
) -> Iterator[tuple[int, Message]]:
    """The messages in short form: those before a place, but the plan as it is, and results whose text comes
    again.
    """
    later: set[str] = set()
    plan = last_plan([messages[number] for number in numbers])
    for number in reversed(numbers):
        message = messages[number]
        if plan >= 0 and number == numbers[plan]:
            continue
        if number < digested:
            yield number, shortened(message, calls.get(number), number + 1)
        elif isinstance(message, ToolResult) and len(message.content) > len(SAME):
            if message.content in later:
                yield number, replace(message, content=SAME, full="")
            later.add(message.content)
