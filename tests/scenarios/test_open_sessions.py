"""A session is open once at a time, and closing it always frees it."""

import itertools
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.composition import SYSTEM_PORTS
from hermes.environments.workspace import ShellWorkspace
from hermes.runtime import Runtime, open_runtime
from hermes.sync import SyncSession
from hermes.sync import open as open_sync
from hermes.testing import ScriptedModel, say
from hermes.types.error import SessionClosed, SessionOwned, StoreError
from hermes.types.message import Assistant
from hermes.types.question import Reply

from .conftest import Talk

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def opened(environ: dict[str, str], *replies: Any) -> AsyncIterator[Runtime]:
    async with open_runtime(environ=environ, http=ScriptedModel(*replies).http()) as runtime:
        yield runtime


def options(work: Path, resume: str = "") -> SessionOptions:
    return SessionOptions(base_url="http://127.0.0.1:1/v1", model="m", toolsets=(), cwd=work, resume=resume)


async def test_a_session_that_is_open_is_not_opened_again_until_it_is_closed(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """Not in its runtime, and not in another runtime of the process."""
    async with (
        opened(environ, "one", "two", say("three", breaks_prefix=True)) as runtime,
        opened(environ) as other,
    ):
        first = await runtime.session(options(tmp_path))
        await first.send("a")
        for one in (runtime, other):
            with pytest.raises(SessionOwned, match=f"Session {first.id} is open already in this program"):
                await one.session(options(tmp_path, first.id))
        await first.send("b")
        assert (await runtime.store.load(first.id)).log == first.log
        await first.close()
        again = await runtime.session(options(tmp_path, first.id))
        assert again.log == first.log
        assert (await again.send("c")).text == "three"
        await again.close()


async def test_sessions_opened_in_one_second_have_ids_of_their_own_however_many_there_are(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """The chance that two of a thousand are alike is that of the whole token, not of a few digits."""
    tokens = (f"abcdef{number:06}" for number in itertools.count())
    ports = replace(SYSTEM_PORTS, token=lambda: next(tokens))
    async with open_runtime(environ=environ, http=ScriptedModel().http(), ports=ports) as runtime:
        made = [await runtime.session(options(tmp_path)) for _ in range(3)]
        assert len({session.id for session in made}) == 3


async def test_a_closed_session_is_not_written_to(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, "one") as runtime:
        session = await runtime.session(options(tmp_path))
        await session.send("a")
        await session.close()
        words = f"Session {session.id} is closed; open it again"
        with pytest.raises(SessionClosed, match=words):
            await session.send("b")
        with pytest.raises(SessionClosed, match=words):
            await session.undo()
        refuse_verbs(session)
        assert (await runtime.store.load(session.id)).log == session.log


async def test_closing_waits_for_the_last_words_of_the_running_turn(
    environ: dict[str, str], tmp_path: Path
) -> None:
    slow = say("a long answer", size=1, pause=0.01)
    async with opened(environ, slow) as runtime, anyio.create_task_group() as group:
        session = await runtime.session(options(tmp_path))
        group.start_soon(session.send, "a")
        with session.watch() as events:
            await anext(events)
        await session.close()
        assert not session.busy
        assert isinstance(session.log[-1], Assistant)
        assert (await runtime.store.load(session.id)).log == session.log
        await (await runtime.session(options(tmp_path, session.id))).close()


async def test_a_session_whose_workspace_fails_to_close_is_free_all_the_same(
    environ: dict[str, str], tmp_path: Path
) -> None:
    class Stuck(ShellWorkspace):
        def __init__(self) -> None: ...

        async def close(self) -> None:
            await anyio.lowlevel.checkpoint()
            raise OSError("the machine is gone")

    async with opened(environ, "one") as runtime:
        session = await runtime.session(options(tmp_path))
        await session.send("a")
        session.opened = replace(session.environment, workspace=Stuck())
        with session.watch() as events:
            with pytest.raises(OSError, match="the machine is gone"):
                await session.close()
            with anyio.fail_after(5):
                assert [event async for event in events] == []
        await (await runtime.session(options(tmp_path, session.id))).close()


async def test_watching_a_closed_session_ends_after_what_can_be_read_again(talk: Talk) -> None:
    async with talk(ScriptedModel(say("one"))) as session:
        await session.send("a")
        await session.close()
        with anyio.fail_after(5):
            with session.watch() as events:
                assert [event async for event in events] == []
            with session.watch(since=0) as events:
                assert [event.kind async for event in events][-1] == "turn_finished"


def test_verbs_after_the_loop_has_ended_say_that_the_session_is_closed(environ: dict[str, str]) -> None:
    with open_sync(
        environ=environ, http=ScriptedModel("hi").http(), model="m", base_url="http://127.0.0.1:1/v1"
    ) as session:
        session.send("a")
    refuse_verbs(session)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_verbs_of_a_session_whose_loop_has_ended_say_that_it_is_closed(
    environ: dict[str, str], tmp_path: Path, backend: str
) -> None:
    """A program that never closed its session."""
    kept: list[Session] = []

    async def talked() -> None:
        async with opened(environ, "hi") as runtime:
            kept.append(await runtime.session(options(tmp_path)))
            await kept[0].send("a")

    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: anyio.run(talked, backend=backend)).result()
    refuse_verbs(kept[0])


def refuse_verbs(session: Session | SyncSession) -> None:
    words = f"Session {session.id} is closed; open it again"
    with pytest.raises(SessionClosed, match=words):
        session.steer("late")
    with pytest.raises(SessionClosed, match=words):
        session.answer("q", Reply(text="late"))
    session.interrupt()


async def test_an_open_session_is_not_deleted(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, "one", "two") as runtime:
        session = await runtime.session(options(tmp_path))
        await session.send("a")
        with pytest.raises(StoreError, match="is open already in this program"):
            await runtime.store.delete(session.id)
        assert (await session.send("b")).text == "two"
        await session.close()
        assert await runtime.store.delete(session.id)
