"""The reports that a session was not told before it was closed or killed: its log says which children it
started, their own logs how they ended.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from hermes.agent.delegation.changed_files import FileCalls
from hermes.agent.delegation.last_words import last_words
from hermes.agent.delegation.limited_tool import DELEGATE
from hermes.agent.delegation.news import news_of
from hermes.agent.recovery import is_cut
from hermes.safety.sources import joined, sources
from hermes.store.protocol import StoredSession
from hermes.types.delegation import ChildReport
from hermes.types.error import StoreError
from hermes.types.message import Assistant, Message, User

if TYPE_CHECKING:
    from hermes.agent.session import Session

STARTED: Final = "started"
"""The status in the result of a call whose children go on after it."""

CUT: Final = "outcome_unknown"
"""The status in the result of a call that was cut off by the end of its process."""

ENDED: Final = "It ended with the session that started it; what it had done until then stands."

ELSEWHERE: Final = (
    "It was a child of the session that this branch began in, and worked there until that was closed; what it"
    " had done stands, and no other report comes."
)
AT_WORK: Final = (
    "It is a child of the session that this branch began in, and works there: its report goes to that"
    " session, and none comes here."
)


class _Told(msgspec.Struct):
    """What the result of a call says of its children: those that go on, or the reports of all."""

    status: str = ""
    children: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []


async def recall(session: "Session") -> None:
    """Have the next message tell what became of children that nobody was told of; what they have read from
    outside counts at once.
    """
    results = list(_results(session.log))
    started = [one for result, _ in results if result.status == STARTED for one in result.children]
    told = {block.source for block in _blocks(session) if block.kind == "child"}
    told |= set(_ids(one for result, _ in results for one in result.results))
    for child in dict.fromkeys((*_ids(started), *await _cut_off(session, results))):
        if child not in told:
            try:
                stored = await session.services.store.read(child)
            except StoreError:
                continue  # it never said a word, or was deleted
            if not await _is_own(session, stored.row.parent):  # an imported log may name any session
                continue
            family = [stored, *await _below(session, child)]
            read = sources(chain.from_iterable(map(_seen, family)))
            session.children.read_beside[:] = joined(session.children.read_beside, read)
            report = _report(family, session)
            if report.state == "cancelled" and stored.row.parent != session.id:
                report = await _of_branch(session, report)
            session.mailbox.add_news(news_of(report, session.services.redactor))


def _results(log: Sequence[Message]) -> Iterator[tuple[_Told, tuple[float, float]]]:
    """What is told of the children of each call, and from when to when that ran; a call that has no result
    ran to the end.
    """
    asked: dict[str, float] = {}
    for one in log:
        if one.kind == "assistant":
            if one.calls:
                asked |= {call.id: one.at for call in one.calls if call.name == DELEGATE}
        elif one.kind == "tool_result" and one.call_id in asked:
            with suppress(msgspec.DecodeError):
                told = msgspec.json.decode(one.content, type=_Told)
                yield told, (asked.pop(one.call_id), one.at)
    yield from ((_Told(status=CUT), (at, math.inf)) for at in asked.values())


async def _is_own(session: "Session", parent: str) -> bool:
    """Whether that is the session, or one whose log it began with."""
    one, passed = session.id, set[str]()
    with suppress(StoreError):
        while parent and one not in {"", parent, *passed}:
            passed.add(one)
            one = (await session.services.store.read(one)).row.origin
    return bool(parent) and one == parent


async def _of_branch(session: "Session", report: ChildReport) -> ChildReport:
    """The report of a child of a session whose log this one began with, and which may go on there."""
    if await session.services.store.owner_of(report.session) is not None:
        return replace(report, state="running", reason=AT_WORK)
    return replace(report, reason=ELSEWHERE)


async def _cut_off(
    session: "Session", results: Iterable[tuple[_Told, tuple[float, float]]]
) -> tuple[str, ...]:
    """The children that began in calls whose end nobody saw."""
    times = [time for result, time in results if result.status == CUT]
    rows = await session.services.store.children(session.id) if times else []
    return tuple(row.id for row in rows if any(first <= row.created <= last for first, last in times))


def _ids(children: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    return (str(one.get("session_id", "")) for one in children)


def _blocks(session: "Session") -> Iterator[Any]:
    for one in session.log:
        if one.kind in {"user", "tool_result"}:
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
    return (call_id for call_id, result in stored.begun.items() if result is None or is_cut(result))


def _once(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(paths)))


def _answer(log: Sequence[Message]) -> Assistant | None:
    """The reply of a model that ends a log; None where something cut its turn off."""
    last = log[-1] if log else None
    if isinstance(last, Assistant) and last.usage.requests and last.stop == "end" and not last.calls:
        return last
    return None
