"""Turns that were stopped early, verbs that met, claims and streams that stayed."""

import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest

import hermes
import hermes.sync
from hermes.agent.conversation import Conversation, Conversations
from hermes.agent.spec import SessionOptions
from hermes.testing import ScriptedModel, say
from hermes.types.error import HermesError, SessionClosed
from hermes.types.message import User

from .conftest import Talk

pytestmark = pytest.mark.anyio
OPTIONS: dict[str, Any] = {"base_url": "http://127.0.0.1:1/v1", "model": "scripted", "toolsets": ()}


async def test_undo_beside_undo_is_refused_and_drops_nothing_more(
    talk: Talk, environ: dict[str, str]
) -> None:
    outcomes: list[str] = []
    async with talk(ScriptedModel("a", "b", "c")) as session:
        for question in "123":
            await session.send(question)

        async def undo() -> None:
            try:
                outcomes.append(await session.undo())
            except HermesError as error:
                outcomes.append(str(error))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(undo)
            tasks.start_soon(undo)
        shown = [one.text for one in session.log if isinstance(one, User)]
    async with talk(ScriptedModel("d"), resume=session.id) as again:
        kept = [one.text for one in again.log if isinstance(one, User)]
    assert sorted(outcomes) == ["3", "Turns of this session are being undone; try again when that is done."]
    assert (shown, kept) == (["1", "2"], ["1", "2"])


async def test_what_was_said_is_kept_when_the_turn_is_stopped_before_the_model_hears_it(
    environ: dict[str, str], tmp_path: Path
) -> None:
    begun, slow = anyio.Event(), False

    async def recall(user_message: str) -> None:
        if slow:
            begun.set()
            await anyio.sleep_forever()

    async with hermes.open_runtime(environ=environ, http=ScriptedModel("ANSWER TO ONE").http()) as runtime:
        runtime.hooks.register("pre_llm_call", recall)
        session = await runtime.session(SessionOptions(cwd=tmp_path, **OPTIONS))
        await session.send("one")
        slow = True
        async with anyio.create_task_group() as tasks:

            async def stop() -> None:
                await begun.wait()
                session.interrupt()

            tasks.start_soon(stop)
            end = await session.send("two")
        said = [one.text for one in session.log if isinstance(one, User)]
        await session.close()
    assert (end.outcome, end.text, said) == ("interrupted", "(stopped by the user)", ["one", "two"])


async def test_a_turn_that_could_not_begin_does_not_give_the_last_answer_again(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with hermes.open_runtime(environ=environ, http=ScriptedModel("ANSWER TO ONE").http()) as runtime:
        session = await runtime.session(SessionOptions(cwd=tmp_path, **OPTIONS))
        await session.send("one")
        await runtime.store.evict(session.id)
        end = await session.send("two")
        await session.close()
    assert (end.outcome, end.text) == ("failed", "")


@pytest.mark.parametrize("leaves", [False, True])
async def test_callbacks_hear_the_end_of_a_streamed_turn_too(
    environ: dict[str, str], tmp_path: Path, leaves: bool
) -> None:
    heard: list[str] = []

    def told(reason: str) -> None:
        heard.append(reason)

    model = ScriptedModel(say("a b c d", size=2, pause=0.05))
    async with hermes.open_runtime(environ=environ, http=model.http()) as runtime:
        runtime.hooks.register("on_session_end", told)
        session = await runtime.session(SessionOptions(cwd=tmp_path, **OPTIONS))
        async with session.stream("hi") as events:
            async for _ in events:
                if leaves:
                    break
        await session.close()
    assert heard == ["interrupted" if leaves else "done"]


async def test_two_that_ask_for_a_conversation_at_once_get_the_same() -> None:
    opened: list[str] = []

    async def opening(key: str) -> Conversation:
        opened.append(key)
        await anyio.sleep(0.01)
        return Conversation.__new__(Conversation)

    found: list[Conversation] = []
    conversations = Conversations(opening, lambda: 0.0, idle_seconds=60)

    async def get(key: str) -> None:
        found.append(await conversations.get(key))

    async with anyio.create_task_group() as tasks:
        for key in ("k", "k", "other"):
            tasks.start_soon(get, key)
    assert (sorted(opened), len(set(map(id, found)))) == (["k", "other"], 2)


async def test_a_closed_session_changes_neither_its_name_nor_its_model(talk: Talk) -> None:
    async with talk(ScriptedModel("a")) as session:
        await session.send("1")
    with pytest.raises(SessionClosed):
        await session.rename("late")
    with pytest.raises(SessionClosed):
        await session.switch_model(session.endpoint)


async def test_an_open_that_is_cancelled_leaves_no_claim(environ: dict[str, str], tmp_path: Path) -> None:
    ids: list[str] = []

    async def hangs(session_id: str) -> None:
        ids.append(session_id)
        await anyio.sleep_forever()

    async with hermes.open_runtime(environ=environ, http=ScriptedModel("a").http()) as runtime:
        runtime.hooks.register("on_session_start", hangs)
        with anyio.move_on_after(0.3):
            await runtime.session(SessionOptions(cwd=tmp_path, **OPTIONS))
        assert [await runtime.store.owner_of(one) for one in ids] == [None]


def test_a_stream_that_is_still_held_does_not_keep_a_plain_session_open(
    environ: dict[str, str], tmp_path: Path
) -> None:
    model = ScriptedModel(say("x y z", size=1, pause=0.02))
    with hermes.sync.open(environ=environ, http=model.http(), cwd=tmp_path, **OPTIONS) as session:
        events = session.stream("y")
        for event in events:
            if event.kind == "text":
                break
    events.close()
    assert [one.kind for one in session.log] == ["user", "assistant"]


def test_setting_up_runs_no_module_of_the_folder_it_is_started_in(tmp_path: Path) -> None:
    planted = tmp_path / "sitecustomize.py"
    planted.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    script = Path(__file__).parents[2] / "scripts" / "environment"
    subprocess.run(
        ["bash", "-c", f"set -e; . {script}; find_python"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=True,
        capture_output=True,
    )
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("title", ["a name", "half a sur\ud800rogate"])
async def test_a_time_limit_of_asyncio_ends_what_it_stands_around_and_nothing_after_it(
    environ: dict[str, str], title: str
) -> None:
    """What is being written is written all the same."""
    import asyncio  # its own time limits

    async with hermes.open_runtime(environ=environ, http=ScriptedModel("a").http()) as runtime:
        session = await runtime.session(SessionOptions(**OPTIONS))
        await session.send("hi")
        other = sqlite3.connect(
            Path(environ["HERMES_HOME"]) / "sessions.db", isolation_level=None, check_same_thread=False
        )
        other.execute("BEGIN IMMEDIATE")
        asyncio.get_running_loop().call_later(0.3, other.execute, "ROLLBACK")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await session.rename(title)
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        assert (task.cancelling(), session.title) == (0, title.replace("\ud800", "�"))
        other.close()
        assert (await session.services.store.recent())[0].title == session.title
