import anyio
import pytest

from hermes.agent.events import Listeners
from hermes.types.event import Event, Notice, TextDelta, ThinkingDelta

pytestmark = pytest.mark.anyio


def notice(text: str) -> Notice:
    return Notice(level="info", text=text)


async def test_a_slow_reader_gets_text_merged_and_nothing_else_lost() -> None:
    listeners = Listeners()
    sent: list[Event] = [
        TextDelta(text="a"),
        TextDelta(text="b"),
        notice("1"),
        notice("2"),
        ThinkingDelta(text="x"),
        TextDelta(text="c"),
        TextDelta(text="d"),
    ]
    with listeners.watch() as listener:
        for event in sent:
            listeners.emit(event)
        listeners.close()
        got = [event async for event in listener]
    assert got == [TextDelta(text="ab"), notice("1"), notice("2"), ThinkingDelta(text="x"), TextDelta(text="cd")]


async def test_every_listener_hears_everything_from_when_it_came() -> None:
    listeners = Listeners()
    with listeners.watch() as early:
        listeners.emit(notice("1"))
        with listeners.watch() as late:
            listeners.emit(notice("2"))
            listeners.close()
            assert [event async for event in early] == [notice("1"), notice("2")]
            assert [event async for event in late] == [notice("2")]


async def test_a_waiting_reader_is_woken() -> None:
    listeners = Listeners()
    with listeners.watch() as listener, anyio.fail_after(2):
        async with anyio.create_task_group() as group:

            async def later() -> None:
                await anyio.sleep(0.01)
                listeners.emit(notice("at last"))

            group.start_soon(later)
            assert await anext(listener) == notice("at last")
