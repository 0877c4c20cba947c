"""Room in sessions of any shape, with writers of records that work, fail, lie and leak."""

import itertools
import re
from collections.abc import Mapping

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.agent.compaction.compactor import Compactor
from hermes.agent.compaction.settings import CompressionSettings
from hermes.agent.compaction.sizes import total
from hermes.agent.compaction.summary import citations, numbered, pinned
from hermes.agent.compaction.view import parting, visible
from hermes.agent.log import Log, replay
from hermes.models.side_calls import SideQuestion
from hermes.testing.clock import VirtualClock
from hermes.types.message import Assistant, Compaction, Message, ToolResult, User
from hermes.types.ports import Ports

from .logs import Made, Writer, logs, request

RECORD = "## Active task\n- Build it [1]\n## Completed actions\n1. Wrote a file [2-3]\n- uncited SECRET-4711"


def answering(text: str | None) -> Writer:
    async def ask(question: SideQuestion) -> str | None:
        return text

    return ask


WRITERS: Mapping[str, Writer] = {
    "good": answering(RECORD),
    "chatty": answering(f"Sure! Here it is:\n{RECORD}"),
    "none": answering(None),
    "empty": answering("  \n"),
    "prose": answering("They talked about many things."),
    "endless": answering(RECORD + "\n- more [1]" * 40_000),
    "inventing": answering("## Active task\n- Delete everything [999]\n## Goal\n- Nothing [0-4]\n## Files"),
}


def ports() -> Ports:
    clock, number = VirtualClock(), itertools.count()
    return Ports(
        now=clock.now,
        monotonic=clock.monotonic,
        sleep=clock.sleep,
        token=lambda: f"k{next(number)}",
        uniform=lambda low, _high: low,
        pid=lambda: 1,
    )


def compacted(log: Log, writer: str, window: int, focus: str | None) -> Log:
    """The log with the entry that makes room, if there is one."""
    compactor = Compactor(CompressionSettings())
    entry = anyio.run(
        lambda: compactor.make_room(request(log, WRITERS[writer], ports(), window=window), focus=focus)
    )
    return log.add(entry) if entry else log


CASES = given(
    log=logs(),
    more=logs(turns=2),
    writer=st.sampled_from(sorted(WRITERS)),
    window=st.sampled_from([4_000, 20_000, 60_000]),
    focus=st.sampled_from([None, "", "the tests"]),
)


def check(log: Log, more: Log, writer: str, window: int, focus: str | None) -> None:
    """Twice: the second time in a log that has an entry already."""
    first = compacted(log, writer, window, focus)
    holds(log, first, writer)
    longer = first.add(Assistant(id="answer", at=0.0, text="done"))
    for message in more.messages:
        longer = longer.add(renamed(message))
    holds(longer, compacted(longer, writer, window, focus), writer)


def renamed(message: Message) -> Message:
    return replace(message, id=f"later-{message.id}")


def holds(before: Log, after: Log, writer: str) -> None:
    """What is true of every compaction, whoever wrote its record."""
    assert after.messages[: len(before.messages)] == before.messages
    view = visible(after)
    assert visible(replay(after.messages)) == view
    assert no_neighbours(view)
    assert answered(view)
    assert parting(after.messages) is None
    words = "\n".join(said(one) for one in view)
    assert all(fact in words for fact in pinned(numbered(after.messages, 0, len(after.messages))))
    assert isinstance(view[-1], User)
    assert "what the user wants now" in view[-1].text
    if len(after.messages) > len(before.messages):
        entry = after.messages[-1]
        assert isinstance(entry, Compaction)
        if entry.saved_nothing:
            assert view == visible(before)
            return
        assert entry.after < entry.before
        assert total(view) < total(visible(before))
        assert "SECRET-4711" not in entry.summary
        assert all(1 <= one <= len(before.messages) for one in citations(entry.summary))
        assert all(cites(line) for line in entry.summary.splitlines() if re.match(r"\s*(-|\d+\.) ", line))


def said(message: Message) -> str:
    match message:
        case User():
            return message.told
        case Compaction():
            return message.summary
        case ToolResult():
            return message.content + message.note
        case Assistant():
            return message.text


def no_neighbours(view: tuple[Message, ...]) -> bool:
    """Two messages of a user never stand side by side, on no wire."""
    users = [isinstance(one, User | Compaction) for one in view]
    return not any(first and second for first, second in itertools.pairwise(users))


def answered(view: tuple[Message, ...]) -> bool:
    """Every call has its result, next to it and in order."""
    waiting: list[str] = []
    for one in view:
        if isinstance(one, ToolResult):
            if not waiting or waiting.pop(0) != one.call_id:
                return False
        elif waiting:
            return False
        elif isinstance(one, Assistant):
            waiting = [call.id for call in one.calls]
    return not waiting


def cites(line: str) -> bool:
    return bool(re.search(r"\[\d", line))


@settings(max_examples=300, deadline=None)
@CASES
def test_room_loses_no_request_no_pin_and_no_pair(
    log: Made, more: Made, writer: str, window: int, focus: str | None
) -> None:
    check(log.log, more.log, writer, window, focus)


@pytest.mark.parametrize(
    ("chosen", "window", "limit"),
    [
        (CompressionSettings(), 40_000, 30_000),
        (CompressionSettings(), 1_000_000, 500_000),
        (CompressionSettings(threshold=0.5), 40_000, 20_000),
        (CompressionSettings(threshold=0.9), 40_000, 36_000),
        (CompressionSettings(threshold_percent=60), 40_000, 24_000),
        (CompressionSettings(threshold_percent=0.6), 40_000, 24_000),
        (CompressionSettings(threshold=0.5, threshold_percent=60), 40_000, 20_000),
    ],
)
def test_a_request_may_fill_the_share_of_the_window_that_is_set(
    chosen: CompressionSettings, window: int, limit: int
) -> None:
    compactor = Compactor(chosen)
    assert compactor.limits(request(Log(), WRITERS["good"], ports(), window=window)).request == limit


@settings(max_examples=200, deadline=None)
@given(
    log=logs(turns=3), writer=st.sampled_from(sorted(WRITERS)), window=st.sampled_from([500, 2_000, 8_000])
)
def test_room_is_made_until_it_is_enough_or_two_attempts_in_a_row_saved_little(
    log: Made, writer: str, window: int
) -> None:
    compactor, in_force, now = Compactor(CompressionSettings()), log.log, ports()
    for _ in range(12):
        wanted = request(in_force, WRITERS[writer], now, window=window)
        if not compactor.is_full(wanted):
            break
        entry = anyio.run(compactor.make_room, wanted)
        assert entry is not None, "an attempt leaves a trace"
        in_force = in_force.add(entry)
    else:
        pytest.fail("room is made without end")
    entries = [one for one in in_force.messages if isinstance(one, Compaction)]
    if compactor.is_full(request(replay(log.log.messages), WRITERS[writer], now, window=window)):
        assert entries
    little = [one.after > one.before * 0.9 for one in entries]
    assert not any(first and second for first, second in itertools.pairwise(little[:-1]))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@settings(max_examples=4_000, deadline=None)
@CASES
def test_room_in_thousands_of_sessions_loses_no_request_no_pin_and_no_pair(
    log: Made, more: Made, writer: str, window: int, focus: str | None
) -> None:
    check(log.log, more.log, writer, window, focus)
