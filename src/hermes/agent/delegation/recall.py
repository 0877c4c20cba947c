"""The reports that a session was not told before it was closed or killed: its log says which children it
started, their own logs how they ended.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import msgspec

from hermes.agent.delegation.changed_files import FileCalls
from hermes.agent.delegation.last_words import last_words
from hermes.agent.delegation.limited_tool import DELEGATE
from hermes.agent.delegation.news import news_of
from hermes.safety.sources import sources
from hermes.store.protocol import StoredSession
from hermes.types.delegation import ChildReport
from hermes.types.error import StoreError
from hermes.types.message import Assistant, Message, ToolResult, User

if TYPE_CHECKING:
    from hermes.agent.session import Session

STARTED: Final = "started"
"""The status in the result of a call whose children go on after it."""

ENDED: Final = "It ended with the session that started it; what it had done until then stands."


class _Started(msgspec.Struct):
    status: str = ""
    children: list[dict[str, Any]] = []


async def recall(session: "Session") -> None:
    """Have the next message tell what became of children that nobody was told of."""
    told = {block.source for block in _blocks(session) if block.kind == "child"}
    for child in dict.fromkeys(_started(session)):
        if child not in told:
            try:
                stored = await session.services.store.read(child)
            except StoreError:
                continue  # it never said a word, or was deleted
            if stored.row.parent != session.id:  # an imported log may name any session
                continue
            family = [stored, *await _below(session, child)]
            session.mailbox.add_news(news_of(_report(family, session), session.services.redactor))


def _started(session: "Session") -> Iterator[str]:
    for one in session.log:
        if not isinstance(one, ToolResult) or one.name != DELEGATE or one.failed:
            continue
        try:
            found = msgspec.json.decode(one.content, type=_Started)
        except (msgspec.DecodeError, msgspec.ValidationError):
            continue
        if found.status == STARTED:
            yield from (str(child.get("session_id", "")) for child in found.children)


def _blocks(session: "Session") -> Iterator[Any]:
    for one in session.log:
        if isinstance(one, User | ToolResult):
            yield from one.blocks


async def _below(session: "Session", child: str) -> list[StoredSession]:
    """The children of a child, each before its own; what cannot be read is left out."""
    found: list[StoredSession] = []
    for row in await session.services.store.children(child):
        with suppress(StoreError):
            found.append(await session.services.store.read(row.id))
        found += await _below(session, row.id)
    return found


def _report(family: Sequence[StoredSession], session: "Session") -> ChildReport:
    """The report of the first of a family, with what the others have changed and read."""
    stored, logs = family[0], [_seen(one) for one in family]
    begun = next((one for one in stored.log if isinstance(one, User)), None)
    read = sources(chain.from_iterable(logs))
    calls = [FileCalls(log, session.tools.tools, one.row.cwd) for log, one in zip(logs, family, strict=True)]
    cut = [tuple(_cut(one)) for one in family]
    answer = _answer(stored.log)
    return ChildReport(
        session=stored.row.id,
        goal=begun.text if begun else "",
        state="done" if answer else "cancelled",
        text=last_words(stored.log),
        reason="" if answer else ENDED,
        changed=_once(one.changed for one in calls),
        cut_files=_once(map(FileCalls.cut, calls, cut)),
        unknown_tools=_once(map(FileCalls.unknown_tools, calls, cut)),
        usage=stored.used,
        seconds=answer.at - begun.at if begun and answer else None,
        model=stored.row.model.partition("/")[2],
        outside=read[0].name if read else "",
    )


def _seen(stored: StoredSession) -> tuple[Message, ...]:
    """A log, with the results that had come when its process ended."""
    return (*stored.log, *(one for one in stored.begun.values() if one is not None))


def _cut(stored: StoredSession) -> Iterator[str]:
    return (call_id for call_id, result in stored.begun.items() if result is None)


def _once(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(paths)))


def _answer(log: Sequence[Message]) -> Assistant | None:
    """The reply of a model that ends a log; None where something cut its turn off."""
    last = log[-1] if log else None
    if isinstance(last, Assistant) and last.usage.requests and last.stop == "end" and not last.calls:
        return last
    return None
