"""Invariant 9: an interrupt at any instant ends the turn within a second, keeps what was there, and leaves a conversation that goes on."""

import random
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

import hermes
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, Turn, call, calls, fail, raw, say
from hermes.types.event import Attempted, TextDelta, TurnFinished
from hermes.types.message import Assistant, ToolResult
from tests.scenarios.conftest import Talk, kinds

pytestmark = pytest.mark.anyio

AT_ONCE = 4
"""Sessions of one interrupt each: most of what they do is waiting."""


@hermes.tool
async def search_files(seconds: float) -> str:
    """Sleep; under a name that may run beside others."""
    await anyio.sleep(seconds)
    return "done"


def script() -> list[Turn]:
    """A turn with a wait before a retry, two tools side by side, slow words, and a cut stream; then the reply after the interrupt."""
    turns = [
        fail(503, headers={"retry-after": "0.05"}),
        calls(
            ("search_files", {"seconds": 0.05}),
            ("search_files", {"seconds": 0.08}),
            text="Let me look.",
            pause=0.005,
        ),
        raw(b'data: {"choices":[{"delta":{"content":"It "}}]}\n\n', pause=0.02),
        say("It is in the second file, as far as I can see.", size=5, pause=0.01),
    ]
    return [*turns, *[say("all right", breaks_prefix=True)] * 2]


class Late(ScriptedModel):
    """Skips to the last reply once the turn was interrupted."""

    def skip(self) -> None:
        while len(self.requests) < len(self._replies) - 1:
            self.requests.append(
                self.requests[-1] if self.requests else {"messages": [], "model": "scripted"}
            )


async def interrupted(talk: Talk, instant: float) -> None:
    model = Late(*script())
    async with talk(model, functions=(search_files,)) as session:
        seen: list[str] = []
        ends: list[TurnFinished] = []
        with session.watch() as listener:
            async with anyio.create_task_group() as group:

                async def run() -> None:
                    ends.append(await session.send("where is it?"))

                group.start_soon(run)
                await anyio.sleep(instant)
                session.interrupt()
                asked = anyio.current_time()
            assert anyio.current_time() - asked < 1.0, f"interrupted after {instant:.3f} s"
            listener.close()
            events = [event async for event in listener]
        seen = [event.text for event in events if isinstance(event, TextDelta)]
        assert ends[0].outcome in {"interrupted", "done"}
        assert isinstance(session.log[-1], Assistant), kinds(session.log)
        answered = [message.call_id for message in session.log if isinstance(message, ToolResult)]
        assert answered == [
            call.id for message in session.log if isinstance(message, Assistant) for call in message.calls
        ]
        if ends[0].outcome == "interrupted" and seen and not answered:
            assert session.log[-1].text.startswith("".join(seen)[:5])
        counted = [event for event in events if isinstance(event, Attempted)]
        assert session.usage.requests == len(counted) == sum(event.usage.requests for event in counted)
        model.skip()
        assert (await session.send("go on")).text == "all right"


async def test_an_interrupt_at_any_instant_ends_the_turn_and_the_next_one_goes_on(
    talk: Talk, request: pytest.FixtureRequest
) -> None:
    chance = random.Random(9)
    count = 200 if request.config.getoption("--long") else 24
    for _ in range(count // AT_ONCE):
        async with anyio.create_task_group() as group:
            for _ in range(AT_ONCE):
                group.start_soon(interrupted, talk, chance.uniform(0.0, 0.75))


async def test_a_connection_that_hangs_is_left_at_once(talk: Talk) -> None:
    hanging = replace(say("never"), pause=30.0)
    async with talk(ScriptedModel(hanging)) as session:
        with anyio.fail_after(1.2):
            async with anyio.create_task_group() as group:
                group.start_soon(session.send, "hi")
                await anyio.sleep(0.1)
                session.interrupt()
    assert isinstance(session.log[-1], Assistant)


@pytest.mark.parametrize("length", [4, 50_000])
@pytest.mark.parametrize("point", ["transform_tool_result", "post_tool_call"])
async def test_an_interrupt_while_a_hook_looks_at_a_result_keeps_the_result(
    environ: dict[str, str], tmp_path: Path, point: str, length: int
) -> None:
    looking = anyio.Event()

    @hermes.tool
    async def look() -> str:
        """Look."""
        return "x" * length

    async def looks_long() -> None:
        looking.set()
        await anyio.sleep(3600)

    model = ScriptedModel(call("look", {}), say("not reached"))
    options = SessionOptions(
        base_url="http://127.0.0.1:1/v1", model="m", toolsets=(), cwd=tmp_path, functions=(look,)
    )
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        runtime.hooks.register(point, looks_long)
        runtime.hooks.register("transform_tool_result", lambda result: result.replace("x", "y"))
        session = await runtime.session(options)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(session.send, "go")
                await looking.wait()
                session.interrupt()
        await session.close()
    results = [message for message in session.log if isinstance(message, ToolResult)]
    letter = "y" if point == "post_tool_call" else "x"
    assert [(one.content, one.failed) for one in results] == [(f'{{"result": "{letter * length}"}}', False)]
    assert (kinds(session.log)[-1], len(model.requests)) == ("assistant", 1)


@pytest.mark.parametrize("length", [4, 50_000])
async def test_an_interrupt_that_comes_while_calls_run_sends_no_further_request(
    talk: Talk, length: int
) -> None:
    ran: list[int] = []

    @hermes.tool(parallel=False)
    async def look(number: int) -> str:
        """Look, and wait for nothing."""
        ran.append(number)
        session.interrupt()
        return "x" * length

    both = calls(("look", {"number": 1}), ("look", {"number": 2}))
    model = ScriptedModel(both, say("not reached"))
    async with talk(model, functions=(look,)) as session:
        end = await session.send("go")
    results = [message for message in session.log if isinstance(message, ToolResult)]
    assert (end.outcome, len(model.requests), ran) == ("interrupted", 1, [1])
    assert [one.failed for one in results] == [False, True]


async def test_an_interrupt_while_the_only_call_runs_sends_no_further_request(talk: Talk) -> None:
    @hermes.tool
    async def look() -> str:
        """Look, and wait for nothing."""
        session.interrupt()
        return "seen"

    model = ScriptedModel(call("look", {}), say("not reached"))
    async with talk(model, functions=(look,)) as session:
        end = await session.send("go")
    results = [message.content for message in session.log if isinstance(message, ToolResult)]
    assert (end.outcome, len(model.requests), results) == ("interrupted", 1, ['{"result": "seen"}'])
