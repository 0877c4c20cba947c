"""A runtime that ends under its sessions closes them first: what runs ends in words, and nothing is held."""

from collections.abc import Mapping

import anyio
import pytest

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, say
from hermes.types.event import TurnFinished
from hermes.types.message import Assistant

pytestmark = pytest.mark.anyio
OPTIONS = SessionOptions(base_url="http://127.0.0.1:1/v1", model="m", toolsets=(), attended=False)


async def test_turns_that_run_when_the_runtime_ends_are_stopped_and_kept(environ: dict[str, str]) -> None:
    model = ScriptedModel(*[say("word " * 400, pause=0.05, breaks_prefix=True)] * 3)
    ends: dict[str, TurnFinished] = {}

    async def send(session: Session) -> None:
        ends[session.id] = await session.send("hi")

    async with anyio.create_task_group() as group:
        async with open_runtime(environ=environ, http=model.http()) as runtime:
            sessions = [await runtime.session(OPTIONS) for _ in range(3)]
            for one in sessions:
                group.start_soon(send, one)
            with anyio.fail_after(10):
                while len(model.requests) < len(sessions):  # noqa: ASYNC110  # requests tell nobody
                    await anyio.sleep(0.01)
        assert [one.closed for one in sessions] == [True] * 3
    assert {name: end.outcome for name, end in ends.items()} == {one.id: "interrupted" for one in sessions}
    assert await last_words(environ, sessions[0].id) == "interrupted"


async def last_words(environ: Mapping[str, str], session_id: str) -> str:
    """How the kept session ends: `interrupted` where its last words say so."""
    async with open_runtime(environ=environ, http=ScriptedModel().http()) as runtime:
        (last,) = (await runtime.store.load(session_id)).log[-1:]
    assert isinstance(last, Assistant)
    return "interrupted" if last.text.endswith("(stopped by the user)") else last.text


async def test_a_session_that_nobody_closed_is_free_for_the_next_runtime(environ: dict[str, str]) -> None:
    async with open_runtime(environ=environ, http=ScriptedModel("one").http()) as runtime:
        session = await runtime.session(OPTIONS)
        await session.send("hi")
    async with open_runtime(environ=environ, http=ScriptedModel("two").http()) as runtime:
        again = await runtime.session(
            SessionOptions(
                base_url=OPTIONS.base_url, model="m", toolsets=(), attended=False, resume=session.id
            )
        )
        assert (await again.send("and now?")).text == "two"
