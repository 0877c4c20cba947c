"""After any fault a session can be used again, and what was said to it is delivered or handed back."""

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

import hermes
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.sync import open as open_sync
from hermes.testing import ScriptedModel, call, calls, fail, say
from hermes.testing.script import Turn
from hermes.testing.store import FailingStore, failing_at
from hermes.types.actor import Actor
from hermes.types.error import HermesError, StoreError
from hermes.types.event import Asked, TextDelta
from hermes.types.message import Assistant, ToolResult, User
from hermes.types.question import Clarify, Reply

from .conftest import Talk

pytestmark = pytest.mark.anyio


@hermes.tool
async def note(text: str) -> str:
    """Take a note."""
    await anyio.lowlevel.checkpoint()
    return text


@asynccontextmanager
async def faulty(
    environ: dict[str, str], model: ScriptedModel, number: int, work: Path
) -> AsyncIterator[tuple[Session, FailingStore]]:
    """A session whose store fails at one call."""
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        options = SessionOptions(
            base_url="http://127.0.0.1:1/v1", model="m", toolsets=(), functions=(note,), cwd=work
        )
        session = await runtime.session(options)
        store = failing_at(runtime.store, number)
        session.services = replace(session.services, store=store)
        yield session, store
        await session.close()


def answer(request: dict[str, Any]) -> Turn:
    """Two calls for "go", words for everything else."""
    last = request["messages"][-1]
    if last["role"] == "user" and last["content"] == "go":
        return calls(("note", {"text": "a"}), ("note", {"text": "b"}))
    return say("again" if last["role"] == "user" else "noted")


async def test_a_session_goes_on_after_its_store_failed_at_any_call_of_a_turn(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with faulty(environ, ScriptedModel(answer, answer), 0, tmp_path) as (session, store):
        await session.send("go")
        total = len(store.calls)
    assert total >= 6
    for number in range(1, total + 1):
        async with faulty(environ, ScriptedModel(*[answer] * 4), number, tmp_path) as (session, _):
            first = await session.send("go")
            assert first.failure is None or "the store failed" in first.failure.message
            end = await session.send("once more")
            assert (number, end.outcome, end.text) == (number, "done", "again")
            assert session.whole_log.open == ()
            log, name = session.log, session.id
        replies = ScriptedModel(say("resumed"))
        async with open_runtime(environ=environ, http=replies.http()) as runtime:
            options = SessionOptions(
                base_url="http://127.0.0.1:1/v1", model="m", toolsets=(), functions=(note,), resume=name
            )
            session = await runtime.session(options)
            assert session.log == log
            assert (await session.send("and now")).text == "resumed"
            await session.close()


async def test_a_note_that_comes_too_late_for_the_model_is_handed_back(talk: Talk) -> None:
    async with talk(ScriptedModel(say("a long answer", size=3))) as session:
        taken: list[bool] = []
        with session.watch() as events:
            async with anyio.create_task_group() as group:

                async def steer() -> None:
                    async for event in events:
                        if isinstance(event, TextDelta):
                            taken.append(session.steer("too late"))
                            return

                group.start_soon(steer)
                end = await session.send("go")
        assert (taken, [one.text for one in end.unsent]) == ([True], ["too late"])
        assert not session.steer("no turn runs")


async def test_notes_are_not_lost_when_the_results_they_ride_on_cannot_be_stored(talk: Talk) -> None:
    ada = Actor(app="telegram", id="ada")

    @hermes.tool
    async def look() -> str:
        """Look."""
        session.steer("look again", by=ada)
        return "seen"

    model = ScriptedModel(call("look", {}))
    async with talk(model, functions=(look,)) as session:
        failing = FailingStore(session.services.store, lambda _, name: name == "settle")
        session.services = replace(session.services, store=failing)
        end = await session.send("go")
        assert end.outcome == "failed"
        assert [(one.kind, one.text, one.source) for one in end.unsent] == [
            ("note", "look again", "telegram:ada")
        ]


def test_the_synchronous_form_hands_late_notes_back_too(environ: dict[str, str]) -> None:
    model = ScriptedModel(say("a long answer", size=3))
    with open_sync(
        environ=environ, http=model.http(), model="m", base_url="http://127.0.0.1:1/v1"
    ) as session:
        unsent: tuple[str, ...] = ()
        steered = False
        for event in session.stream("go"):
            if isinstance(event, TextDelta) and not steered:
                steered = session.steer("too late")
            if event.kind == "turn_finished":
                unsent = tuple(one.text for one in event.unsent)
        assert unsent == (("too late",) if steered else ())


async def test_messages_name_who_said_them(talk: Talk) -> None:
    ada = Actor(app="telegram", id="ada")
    async with talk(ScriptedModel(say("x"), say("y")), source="library") as session:
        await session.send("one")
        await session.send("two", by=ada)
        assert [one.origin for one in session.log if isinstance(one, User)] == ["library", "telegram:ada"]


async def test_a_question_is_answered_by_who_it_is_addressed_to_and_nobody_else(talk: Talk) -> None:
    ada, eve = Actor(app="telegram", id="ada"), Actor(app="telegram", id="eve")

    @hermes.tool
    async def ask(ctx: Any) -> str:
        """Ask."""
        answer = await ctx.ask(Clarify(text="Which?"))
        return answer.text if isinstance(answer, Reply) else "none"

    model = ScriptedModel(call("ask", {}), say("done"))
    async with talk(model, functions=(ask,), actor=ada) as session:
        async with session.stream("go") as events:
            async for event in events:
                if isinstance(event, Asked):
                    assert event.to == "telegram:ada"
                    assert not session.answer(event.id, Reply(text="eve's"), by=eve)
                    assert session.answer(event.id, Reply(text="ada's"), by=ada)
        (result,) = [one for one in session.log if isinstance(one, ToolResult)]
        assert result.content == '{"result": "ada\'s"}'


async def test_undo_is_refused_while_a_turn_runs(talk: Talk) -> None:
    async with talk(ScriptedModel(say("an answer", size=2), say("next"))) as session:
        async with session.stream("go") as events:
            async for event in events:
                if isinstance(event, TextDelta) and session.busy:
                    with pytest.raises(HermesError, match="stop it before undoing"):
                        await session.undo()
        assert await session.undo() == "go"


async def test_a_conversation_that_no_model_has_room_for_ends_with_a_sentence_and_can_go_on(
    talk: Talk,
) -> None:
    too_long = fail(
        400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"
    )
    async with talk(ScriptedModel(too_long, say("short again", breaks_prefix=True))) as session:
        end = await session.send("long words")
        assert end.failure is not None
        assert (end.outcome, end.failure.reason) == ("failed", "context_overflow")
        assert (await session.send("go on")).outcome == "done"
        assert isinstance(session.log[1], Assistant)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (StoreError("the disk is full"), "A fault of the session's store ended this call"),
        (ArithmeticError("a fault of ours"), "A fault of Hermes ended this call"),
    ],
)
async def test_a_call_that_a_fault_cut_says_whose_fault_it_was(
    talk: Talk, error: Exception, told: str
) -> None:
    both = calls(
        ("note", {"text": "a"}), ("note", {"text": "b"})
    )  # side by side: their fault comes in a group
    async with talk(ScriptedModel(both, say("done"), say("again")), functions=(note,)) as session:
        ports = session.services.ports
        faults = [error]  # of one call; the other is cut with it

        def monotonic() -> float:
            if session.batch is not None and faults:
                raise faults.pop()
            return ports.monotonic()

        session.services = replace(session.services, ports=replace(ports, monotonic=monotonic))
        with contextlib.suppress(ArithmeticError, ExceptionGroup):
            await session.send("go")
        found = [message.content for message in session.log if isinstance(message, ToolResult)]
        assert (len(found), any(told in one for one in found)) == (2, True)
        assert (await session.send("once more")).outcome == "done"
