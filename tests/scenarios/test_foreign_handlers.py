"""Handlers of tool files, plain ones, and those that misbehave: the session, its loop and the program go on."""

import asyncio  # handlers of tool files are asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
import pytest

import hermes
from hermes.testing import ScriptedModel, call, calls, say
from hermes.types.error import HermesError
from hermes.types.event import Asked, Event, ToolProgress
from hermes.types.message import Assistant, ToolResult
from hermes.types.question import Answer, Clarify, Grant
from hermes.types.tool import ToolManifest

from .conftest import Talk

pytestmark = pytest.mark.anyio


def guest(tool: Any) -> Any:
    """A function as a tool file's handler: it runs on a guest loop."""
    tool.entry.handler.__module__ = "hermes_tool_files.probe"
    return tool


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """What handlers that block wait for; set when the test is over."""
    event = threading.Event()
    yield event
    event.set()


def contents(session: hermes.Session) -> list[str]:
    return [message.content for message in session.log if isinstance(message, ToolResult)]


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    with anyio.fail_after(20):
        while not condition():  # noqa: ASYNC110
            await anyio.sleep(0.001)


async def sent(session: hermes.Session, *answers: Answer) -> list[Event]:
    """The events of a turn whose questions get these answers."""
    waiting, seen = list(answers), []
    with anyio.fail_after(20):
        async with session.stream("go") as stream:
            async for event in stream:
                seen.append(event)
                if isinstance(event, Asked):
                    assert session.answer(event.id, waiting.pop(0))
    return seen


@pytest.fixture
def plans(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "plans"
    folder.mkdir(parents=True)
    (folder / "one.txt").write_text("precious")
    return folder


@pytest.mark.usefixtures("nothing_saved")
async def test_a_handler_of_a_tool_file_may_need_an_approval(talk: Talk, plans: Path) -> None:
    @guest
    @hermes.tool
    async def clean(ctx: Any) -> int:
        """Delete the plans."""
        return int((await ctx.workspace.run("rm -rf plans", timeout=10)).code)

    async with talk(ScriptedModel(call("clean", {}), say("done")), functions=(clean,)) as session:
        await sent(session, Grant())
        assert (contents(session), plans.exists()) == (['{"result": 0}'], False)


async def test_handlers_of_tool_files_share_the_workspace_with_each_other(talk: Talk, tmp_path: Path) -> None:
    @guest
    @hermes.tool(manifest=ToolManifest(parallel="safe", workspace=True))
    async def shell(command: str, ctx: Any) -> str:
        """Run a command."""
        return str((await ctx.workspace.run(command, timeout=10)).text)

    both = calls(
        ("shell", {"command": "sleep 0.1; echo a"}), ("shell", {"command": "sleep 0.1; echo b"}),
        ("terminal", {"command": "sleep 0.1; echo c"}),
    )  # fmt: skip
    model = ScriptedModel(both, both, say("done"))
    async with talk(model, functions=(shell,), toolsets=("terminal",)) as session:
        await sent(session)
        found = contents(session)
        assert [one[:13] for one in found] == ['{"result": "a', '{"result": "b', '{"output": "c'] * 2


async def test_a_handler_of_a_tool_file_starts_and_stops_background_processes(talk: Talk) -> None:
    @guest
    @hermes.tool
    async def serve(ctx: Any) -> list[object]:
        """Start, look, stop."""
        workspace = ctx.workspace
        started = await workspace.start("echo up; sleep 60")
        waited = await workspace.processes.wait(started.id, 0.2)
        listed = [one.id for one in workspace.processes.list()]
        killed = await workspace.processes.kill(started.id)
        return [listed == [started.id], waited.code, waited.text.strip(), killed.code is None]

    async with talk(ScriptedModel(call("serve", {}), say("done")), functions=(serve,)) as session:
        await sent(session)
        assert contents(session) == ['{"result": [true, null, "up", false]}']


async def test_an_interrupt_does_not_wait_for_a_handler_that_blocks_its_loop(
    talk: Talk, released: threading.Event
) -> None:
    blocked, over, order = threading.Event(), threading.Event(), []

    @guest
    @hermes.tool
    async def blocking(ctx: Any) -> str:
        """Block the loop."""
        blocked.set()
        order.append("turn over" if over.wait(10) else "handler gave up")
        released.wait(20)
        return "late"

    @guest
    @hermes.tool
    async def quick(ctx: Any) -> str:
        """Do not."""
        return "quick"

    model = ScriptedModel(call("blocking", {}), call("quick", {}), say("done"))
    async with talk(model, functions=(blocking, quick)) as session:
        async with anyio.create_task_group() as group:
            group.start_soon(session.send, "go")
            await anyio.to_thread.run_sync(blocked.wait, 20)
            session.interrupt()
        over.set()
        await sent(session)  # the loop that is still blocked is not used again
        assert contents(session)[1:] == ['{"result": "quick"}']
    assert not released.is_set()  # the runtime has closed, and did not wait for it either
    await until(lambda: bool(order))
    assert order == ["turn over"]


def exits(ctx: Any) -> str:
    """Leave."""
    sys.exit(3)


async def exits_async(ctx: Any) -> str:
    """Leave."""
    sys.exit(3)


async def exits_in_a_task(ctx: Any) -> str:
    """Leave from a task of its own."""

    async def leave() -> None:
        sys.exit(3)

    await asyncio.create_task(leave())
    return "not reached"


async def exits_in_a_group(ctx: Any) -> str:
    """Leave from a task group."""
    async with anyio.create_task_group() as group:
        group.start_soon(exits_async, ctx)
    return "not reached"


def cancels(ctx: Any) -> str:
    """Pretend to be cancelled."""
    raise asyncio.CancelledError


async def cancels_async(ctx: Any) -> str:
    """Pretend to be cancelled."""
    raise asyncio.CancelledError


def throws(ctx: Any) -> str:
    """Pretend to be thrown away."""
    raise GeneratorExit


async def throws_async(ctx: Any) -> str:
    """Pretend to be thrown away."""
    raise GeneratorExit


async def throws_later(ctx: Any) -> str:
    """Pretend to be thrown away, after a while."""
    await asyncio.to_thread(lambda: None)
    raise GeneratorExit


THROWN = "failed: it raised GeneratorExit."
LEFT = "failed: it called sys.exit(), which ends neither Hermes nor the turn."
PRETENDED = "failed: it was cancelled from within; nobody had stopped it."


@pytest.mark.parametrize(
    ("function", "where", "told"),
    [
        (exits, hermes.tool, LEFT),
        (exits_async, hermes.tool, LEFT),
        (exits_in_a_group, lambda one: guest(hermes.tool(one)), LEFT),
        (exits_async, lambda one: guest(hermes.tool(one)), LEFT),
        (exits_in_a_task, lambda one: guest(hermes.tool(one)), LEFT),
        (cancels, hermes.tool, PRETENDED),
        (cancels_async, hermes.tool, PRETENDED),
        (cancels_async, lambda one: guest(hermes.tool(one)), PRETENDED),
        (throws, hermes.tool, THROWN),
        (throws_async, hermes.tool, THROWN),
        (throws, lambda one: guest(hermes.tool(one)), THROWN),
        (throws_async, lambda one: guest(hermes.tool(one)), THROWN),
        (throws_later, lambda one: guest(hermes.tool(one)), THROWN),
    ],
)
async def test_a_handler_that_exits_cancels_or_throws_itself_away_is_a_failed_call(
    talk: Talk, function: Callable[..., Any], where: Callable[..., Any], told: str
) -> None:
    made, name = where(function), function.__name__
    async with talk(ScriptedModel(call(name, {}), say("done")), functions=(made,)) as session:
        await sent(session)
        assert (contents(session), cast("Assistant", session.log[-1]).text) == (
            [f'{{"error": "{name} {told}"}}'],
            "done",
        )


async def test_a_tool_file_that_exits_in_its_handler_is_a_failed_call(
    talk: Talk, environ: dict[str, str]
) -> None:
    folder = Path(environ["HERMES_HOME"]) / "tools"
    folder.mkdir(parents=True)
    (folder / "leaves.py").write_text(
        "import sys\nfrom tools.registry import registry\n"
        "async def leaves(args, **_):\n    sys.exit('bye')\n"
        "registry.register('leaves', 'own', {'name': 'leaves'}, leaves, is_async=True)\n"
    )
    async with talk(ScriptedModel(call("leaves", {}), say("done")), toolsets=("own",)) as session:
        await sent(session)
        assert contents(session) == [f'{{"error": "leaves {LEFT}"}}']


async def test_a_handler_that_was_left_behind_can_neither_speak_nor_ask_nor_act(
    talk: Talk, released: threading.Event
) -> None:
    started, found = threading.Event(), []

    @hermes.tool
    def stubborn(ctx: Any) -> str:
        """Go on after the end."""
        workspace = ctx.workspace
        started.set()
        released.wait(20)
        ctx.progress("still here")
        acts: tuple[Callable[[], Any], ...] = (
            lambda: ctx.ask_blocking(Clarify(text="Which?")),
            lambda: asyncio.run(workspace.run("touch late", timeout=5)),
            lambda: ctx.workspace.cwd,
        )
        for act in acts:
            try:
                found.append(act())
            except HermesError as error:
                found.append(str(error))
        found.append("end")
        return "late"

    async with talk(ScriptedModel(call("stubborn", {}), say("done")), functions=(stubborn,)) as session:
        with session.watch() as events:
            async with anyio.create_task_group() as group:
                group.start_soon(session.send, "go")
                await anyio.to_thread.run_sync(started.wait, 20)
                session.interrupt()
            released.set()
            await until(lambda: "end" in found)
            await session.send("and now")
        heard = [event async for event in events if isinstance(event, Asked | ToolProgress)]
    ended = "The call of stubborn has ended; it can ask and do nothing any more."
    assert (found, heard) == ([ended, ended, ended, "end"], [])


async def test_the_question_of_a_plain_handler_is_withdrawn_when_the_turn_is_stopped(talk: Talk) -> None:
    found: list[str] = []

    @hermes.tool
    def asking(ctx: Any) -> str:
        """Ask."""
        try:
            ctx.ask_blocking(Clarify(text="Which?"))
        except HermesError as error:
            found.append(str(error))
        return "late"

    async with talk(ScriptedModel(call("asking", {})), functions=(asking,)) as session:
        async with session.stream("go") as stream:
            async for event in stream:
                if isinstance(event, Asked):
                    session.interrupt()
        await until(lambda: bool(found))
        assert (session.questions.open, found) == (
            (),
            ["The call of asking has ended; it can ask and do nothing any more."],
        )


PROGRAM = """
import asyncio, sys, threading, time
from pathlib import Path
import anyio
import hermes
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.types.error import HermesError
from hermes.types.event import ToolProgress

{handler}

async def main():
    model = ScriptedModel(call("stuck", {{}}), say("done"))
    async with open_runtime(environ={environ!r}, http=model.http()) as runtime:
        options = SessionOptions(base_url="http://127.0.0.1:1/v1", model="m", toolsets=(), functions=(stuck,), cwd=Path({cwd!r}))
        session = await runtime.session(options)
        async with session.stream("go") as stream:
            async for event in stream:
                if isinstance(event, ToolProgress):
                    session.interrupt()
        await session.close()
    print("closed", flush=True)

anyio.run(main, backend={backend!r})
"""

PLAIN = '''
@hermes.tool
def stuck(ctx) -> str:
    """Never return."""
    ctx.progress("stuck")
    time.sleep(3600)
'''
GUEST = '''
@hermes.tool
async def stuck(ctx) -> str:
    """Never return."""
    ctx.progress("stuck")
    time.sleep(3600)
stuck.entry.handler.__module__ = "hermes_tool_files.stuck"
'''
GUEST_THREAD = '''
@hermes.tool
async def stuck(ctx) -> str:
    """Never return."""
    ctx.progress("stuck")
    await asyncio.to_thread(time.sleep, 3600)
stuck.entry.handler.__module__ = "hermes_tool_files.stuck"
'''


@pytest.mark.parametrize("handler", [PLAIN, GUEST, GUEST_THREAD], ids=["plain", "guest", "guest's thread"])
def test_the_program_ends_though_a_handler_never_returns(
    environ: dict[str, str], tmp_path: Path, anyio_backend: str, handler: str
) -> None:
    program = PROGRAM.format(handler=handler, environ=environ, cwd=str(tmp_path), backend=anyio_backend)
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, env=environ, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.stderr, done.returncode) == ("closed\n", "", 0)
