"""Calls of one reply run side by side where their functions say so; order, questions and interrupts hold."""

import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hermes
from hermes.testing import ScriptedModel, calls, say
from hermes.types.event import Asked, ToolFinished
from hermes.types.message import ToolResult
from hermes.types.question import Clarify, Reply

from .conftest import Talk

pytestmark = pytest.mark.anyio


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(st.sampled_from(["fetch", "look", "write"]), st.integers(0, 5)), min_size=2, max_size=10
    )
)
async def test_results_are_in_call_order_and_what_runs_alone_runs_alone_and_in_its_turn(
    wanted: list[tuple[str, int]],
) -> None:
    trace: list[tuple[str, int]] = []

    @hermes.tool
    async def fetch(number: int, rounds: int) -> int:
        """Wait some rounds of the loop."""
        trace.append(("begin", number))
        for _ in range(rounds):
            await anyio.lowlevel.checkpoint()
        trace.append(("end", number))
        return number

    @hermes.tool(parallel=True)
    def look(number: int, rounds: int) -> int:
        """Take as long as it takes, in a thread."""
        trace.append(("begin", number))
        sum(range(rounds * 1000))
        trace.append(("end", number))
        return number

    @hermes.tool
    def write(number: int, rounds: int) -> int:
        """Be alone."""
        return int(look.function(number, rounds))

    names = [name for name, _ in wanted]
    model = ScriptedModel(
        calls(*((name, {"number": at, "rounds": rounds}) for at, (name, rounds) in enumerate(wanted))),
        say("done"),
    )
    with TemporaryDirectory() as folder:
        async with hermes.open(
            base_url="http://127.0.0.1:1/v1",
            model="m",
            tools=[fetch, look, write],
            environ={"HOME": folder, "HERMES_HOME": str(Path(folder) / ".hermes")},
            http=model.http(),
        ) as session:
            await session.send("go")
            results = [one.content for one in session.log if isinstance(one, ToolResult)]
    assert results == [f'{{"result": {number}}}' for number in range(len(wanted))]
    for number in (at for at, name in enumerate(names) if name == "write"):
        at = trace.index(("begin", number))
        assert trace[at + 1] == ("end", number)
        assert {other for what, other in trace[:at] if what == "end"} == set(range(number))


async def test_a_question_of_one_call_holds_up_none_beside_it(talk: Talk) -> None:
    asked = anyio.Event()

    @hermes.tool
    async def choose(ctx: Any) -> str:
        """Ask."""
        return str((await ctx.ask(Clarify(text="Which?"))).text)

    @hermes.tool
    async def fetch() -> str:
        """Begin when the question is there."""
        await asked.wait()
        return "fetched"

    model = ScriptedModel(calls(("choose", {}), ("fetch", {})), say("done"))
    async with talk(model, functions=(choose, fetch), attended=True) as session:
        question = ""
        with anyio.fail_after(20):
            async with session.stream("go") as events:
                async for event in events:
                    if isinstance(event, Asked):
                        question = event.id
                        asked.set()
                    if isinstance(event, ToolFinished) and question:
                        session.answer(question, Reply(text="this one"))
                        question = ""
        results = [one.content for one in session.log if isinstance(one, ToolResult)]
    assert results == ['{"result": "this one"}', '{"result": "fetched"}']


async def test_an_interrupt_in_the_middle_keeps_what_has_ended_and_answers_every_call(talk: Talk) -> None:
    waiting, left = anyio.Event(), threading.Event()

    @hermes.tool
    async def fetch(name: str) -> str:
        """Give the quick one at once; wait for ever with the slow one."""
        if name == "slow":
            waiting.set()
            await anyio.sleep_forever()
        return name

    @hermes.tool(parallel=True)
    def look() -> str:
        """Wait in a thread."""
        left.wait(20)
        return "late"

    @hermes.tool
    def write() -> str:
        """Change something."""
        raise AssertionError("its turn never came")

    model = ScriptedModel(
        calls(("fetch", {"name": "quick"}), ("fetch", {"name": "slow"}), ("look", {}), ("write", {})),
        say("again"),
    )
    async with talk(model, functions=(fetch, look, write)) as session:
        ended = anyio.Event()
        with anyio.fail_after(20):
            async with session.stream("go") as events, anyio.create_task_group() as group:

                async def stop() -> None:
                    await waiting.wait()
                    await ended.wait()
                    session.interrupt()

                group.start_soon(stop)
                async for event in events:
                    if isinstance(event, ToolFinished):
                        ended.set()
        left.set()
        results = [(one.name, one.failed) for one in session.log if isinstance(one, ToolResult)]
        assert results == [("fetch", False), ("fetch", True), ("look", True), ("write", True)]
        assert session.log[-1].kind == "assistant"
        assert (await session.send("and now?")).text == "again"
