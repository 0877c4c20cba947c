"""A session over several keys, models and side calls, as a user configures them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from msgspec.structs import replace

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.models.side_calls import SideQuestion
from hermes.runtime import Runtime, open_runtime
from hermes.testing import ScriptedModel, Turn, fail, network, say
from hermes.types.event import Attempted, Notice, PrefixBroken, ReplyRestarted, TextDelta, Titled
from hermes.types.message import Compaction
from tests.scenarios.conftest import HASTY, events_of

pytestmark = pytest.mark.anyio

CONFIG = {
    "providers": {
        "one": {"base_url": "http://one/v1", "api_key_env": "ONE_KEY"},
        "two": {"base_url": "http://two/v1", "models": {"b": {"price": {"input": 1, "output": 2}}}},
    },
    "model": {"default": "one/a"},
    "fallback_providers": ["two/b"],
}


@asynccontextmanager
async def running(
    environ: dict[str, str], models: dict[str, ScriptedModel], /, **config: object
) -> AsyncIterator[tuple[Runtime, Session]]:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_bytes(msgspec.json.encode({**CONFIG, **config}))
    async with open_runtime(
        environ={"ONE_KEY": "k1-only", **environ}, http=network(models), ports=HASTY
    ) as runtime:
        session = await runtime.session(SessionOptions(toolsets=(), cwd=home))
        yield runtime, session
        await session.close()


async def test_when_the_key_is_exhausted_the_turn_carries_on_with_the_fallback_and_the_next_one_starts_at_home(
    environ: dict[str, str],
) -> None:
    models = {
        "one": ScriptedModel(fail(402, "pay"), say("home again", breaks_prefix=True)),
        "two": ScriptedModel("from two"),
    }
    async with running(environ, models) as (_, session):
        first = await session.send("hi")
        events = await events_of(session, "again")
    assert (first.text, first.usage.requests, first.usage.cost > 0) == ("from two", 2, True)
    assert [event.reason for event in events if isinstance(event, PrefixBroken)] == ["the model is one/a now"]
    assert session.log[-1].text == "home again"  # type: ignore[union-attr]


LONG_REFUSALS = {
    "overflow": fail(400, "This model's maximum context length is 20000 tokens."),
    "payload": fail(413, "request entity too large"),
    "long context": fail(429, "Extra usage is required for long context requests"),
}


@pytest.mark.parametrize("refusal", LONG_REFUSALS.values(), ids=LONG_REFUSALS)
async def test_what_is_too_long_is_shortened_and_asked_of_the_same_model_though_there_is_a_larger_one(
    environ: dict[str, str], refusal: Turn
) -> None:
    def reply(request: dict[str, Any]) -> Turn:
        said = request["messages"]
        if "You keep the record" in str(said):
            return say("## Active task\n- Go on [1]\n## Goal\n- Talk [1]", breaks_prefix=True)
        return refusal if len(str(said)) > 30_000 else replace(say("word " * 600), breaks_prefix=True)

    models = {"one": ScriptedModel(*[reply] * 60), "two": ScriptedModel("from two")}
    windows = {"one/a": {"context_window": 20_000}, "two/b": {"context_window": 200_000}}
    async with running(environ, models, models=windows) as (_, session):
        ends = [await session.send(f"go on {number}") for number in range(20)]
        assert any(isinstance(one, Compaction) for one in session.log)
    assert {end.outcome for end in ends} == {"done"}
    assert models["two"].requests == []


@pytest.mark.parametrize("refusal", LONG_REFUSALS.values(), ids=LONG_REFUSALS)
async def test_where_no_room_can_be_made_a_fallback_that_takes_more_takes_the_turn_and_is_named(
    environ: dict[str, str], refusal: Turn
) -> None:
    models = {"one": ScriptedModel(*[refusal] * 4), "two": ScriptedModel("from two")}
    windows = {"one/a": {"context_window": 20_000}, "two/b": {"context_window": 200_000}}
    async with running(environ, models, models=windows) as (_, session):
        events = await events_of(session, "hi")
    assert session.log[-1].text == "from two"  # type: ignore[union-attr]
    assert [one.text for one in events if isinstance(one, Notice)] == [
        "The conversation could not be made short enough for one/a; this turn goes on with two/b."
    ]
    assert len(models["one"].requests) == 1


async def test_what_no_model_takes_ends_the_turn_after_each_was_asked_a_few_times(
    environ: dict[str, str],
) -> None:
    refusal = LONG_REFUSALS["overflow"]
    models = {name: ScriptedModel(*[refusal] * 9) for name in ("one", "two")}
    windows = {"one/a": {"context_window": 20_000}, "two/b": {"context_window": 200_000}}
    async with running(environ, models, models=windows) as (_, session):
        end = await session.send("word " * 20_000)
    assert (end.outcome, end.failure and end.failure.reason) == ("failed", "context_overflow")
    assert [len(models[name].requests) <= 4 for name in ("one", "two")] == [True, True]


async def test_keys_of_auth_json_take_turns_when_one_is_refused(environ: dict[str, str]) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir()
    rows = [{"id": "x", "kind": "api_key", "label": "second", "secret": "k2", "priority": 20}]
    (home / "auth.json").write_bytes(msgspec.json.encode({"version": 1, "providers": {"one": rows}}))
    (home / "auth.json").chmod(0o600)
    async with running(environ, {"one": ScriptedModel(fail(401), "ok", "ok")}) as (_, session):
        events = await events_of(session, "hi")
        await session.send("again")
    assert [event.action for event in events if isinstance(event, Attempted)] == ["next_credential", "done"]


async def test_a_cut_reply_is_never_shown_twice(environ: dict[str, str]) -> None:
    cut = say("The answer is forty-two.", size=4)
    models = {
        "one": ScriptedModel(replace(cut, pieces=cut.pieces[:4]), say("The answer is forty-two.", size=4))
    }
    async with running(environ, models, fallback_providers=[]) as (_, session):
        events = await events_of(session, "hi")
    assert (
        "".join(event.text for event in events if isinstance(event, TextDelta)) == "The answer is forty-two."
    )
    assert not [event for event in events if isinstance(event, ReplyRestarted)]


async def test_a_reply_that_begins_again_in_other_words_says_so(environ: dict[str, str]) -> None:
    cut = say("Let me see now.", size=4)
    models = {"one": ScriptedModel(replace(cut, pieces=cut.pieces[:2]), "It is 42.")}
    async with running(environ, models, fallback_providers=[]) as (_, session):
        events = await events_of(session, "hi")
    at = next(number for number, event in enumerate(events) if isinstance(event, ReplyRestarted))
    assert "".join(event.text for event in events[at:] if isinstance(event, TextDelta)) == "It is 42."


async def test_a_side_call_is_counted_by_its_task_and_in_the_session(environ: dict[str, str]) -> None:
    models = {"one": ScriptedModel("hello", say("in short", breaks_prefix=True))}
    async with running(environ, models) as (runtime, session):
        await session.send("hi")
        assert (
            await session.ask_aside("compression", SideQuestion(instructions="Sum up.", text="long"))
            == "in short"
        )
        assert [(one.what, one.usage.requests) for one in await runtime.store.summary("task")] == [
            ("chat", 1),
            ("compression", 1),
        ]
        assert session.usage.requests == 2


async def test_a_side_call_without_a_model_that_answers_gives_nothing(environ: dict[str, str]) -> None:
    models = {"one": ScriptedModel("hello", replace(fail(401), breaks_prefix=True)), "two": ScriptedModel()}
    async with running(environ, models) as (_, session):
        await session.send("hi")
        assert (
            await session.ask_aside("compression", SideQuestion(instructions="Sum up.", text="long")) is None
        )


async def test_a_title_comes_from_the_small_model_that_was_set(environ: dict[str, str]) -> None:
    models = {"one": ScriptedModel("Rain is likely."), "two": ScriptedModel("Weather in Rome")}
    async with running(environ, models, auxiliary={"title": {"provider": "two", "model": "b"}}) as (
        runtime,
        session,
    ):
        with session.watch() as listener:
            await session.send("will it rain in rome?")
            titles: list[str] = []
            with anyio.fail_after(2):
                async for event in listener:
                    titles += [event.title] if isinstance(event, Titled) else []
                    if len(titles) == 2:
                        break
        assert titles == ["will it rain in rome?", "Weather in Rome"]
        assert [one.what for one in await runtime.store.summary("task")] == ["title", "chat"]


CANARY = "sk-canary-0123456789abcdef"


async def test_a_key_that_the_server_repeats_is_in_no_event_no_log_and_no_file(
    environ: dict[str, str],
) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir()
    rows = [{"id": "x", "kind": "api_key", "label": "mine", "secret": CANARY, "priority": 1}]
    (home / "auth.json").write_bytes(msgspec.json.encode({"version": 1, "providers": {"one": rows}}))
    (home / "auth.json").chmod(0o600)
    said = f"Incorrect API key provided: {CANARY}."
    models = {
        "one": ScriptedModel(fail(401, said), fail(401, "Incorrect API key provided: k1-very-secret")),
        "two": ScriptedModel(fail(500, said), fail(500, said), fail(400, said)),
    }
    async with running({**environ, "ONE_KEY": "k1-very-secret"}, models) as (_, session):
        events = await events_of(session, "hi")
    assert CANARY not in repr(events)
    kept = [
        path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and path.name not in {"auth.json", "auth.json.lock"}
    ]
    assert not [data for data in kept if CANARY.encode() in data or b"k1-very-secret" in data]
