"""Callbacks change requests to models and stand around them; budgets, retries, the prompt and what is told of
requests stay true.
"""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from hermes.runtime import Runtime, open_runtime
from hermes.testing import ScriptedModel, fail, raw, say
from hermes.types.event import Attempted, PrefixBroken, TextDelta, TurnFinished
from tests.scenarios.planted_plugins import Plant, configure, options, plant

__all__ = ["plant"]
pytestmark = pytest.mark.anyio
SECRET = "s3cret-token-value-91"


@asynccontextmanager
async def opened(environ: dict[str, str], model: ScriptedModel, **flags: Any) -> AsyncIterator[Runtime]:
    async with open_runtime(environ=environ, http=model.http(), flags=flags) as runtime:
        yield runtime


async def turns(runtime: Runtime, cwd: Path, *said: str) -> tuple[list[Any], list[TurnFinished]]:
    """The events of a session in which this was said, and how its turns ended."""
    session = await runtime.session(options(cwd, toolsets=()))
    heard: list[Any] = []
    for text in said:
        async with session.stream(text) as events:
            heard += [event async for event in events]
    await session.close()
    return heard, [one for one in heard if isinstance(one, TurnFinished)]


def last(request: dict[str, Any], words: str) -> dict[str, Any]:
    """The request with other words in its last message."""
    return {**request, "messages": [*request["messages"][:-1], {"role": "user", "content": words}]}


CHANGING = """
def one(request, original_request):
    assert request == original_request
    changed = {**request, "seed": 1, "model": "other", "stream": False, "n": 9, "max_tokens": 9000}
    return {"request": changed, "reason": "why", "source": "here"}
def two(request, original_request, middleware_trace, api_mode):
    assert "seed" in request and "seed" not in original_request
    return {**request, "seed": 2, "trace": len(middleware_trace), "wire": api_mode}
def nothing(**told):
    pass
def register(ctx):
    for callback, kind in ((one, "llm_request"), (two, "api_request"), (nothing, "llm_request")):
        ctx.register_middleware(kind, callback)
"""


async def test_a_request_is_sent_as_callbacks_leave_it_but_to_whom_and_within_its_limits(
    environ: dict[str, str], plant: Plant, tmp_path: Path
) -> None:
    model, told = ScriptedModel(say("done")), []
    plant("own", CHANGING)
    configure(environ, enabled=["own"], entries={"own": {"request_fields": ["trace", "wire"]}})
    async with opened(environ, model, **{"model.max_output": 100}) as runtime:
        runtime.hooks.register("pre_api_request", lambda **one: told.append(one))
        assert runtime.plugins[0].provides == ("hook llm_request",) * 3
        await turns(runtime, tmp_path, "hi")
    (sent,), (one,) = model.requests, told
    names = ("model", "stream", "n", "max_tokens", "seed", "trace", "wire")
    assert {name: sent[name] for name in names if name in sent} == {
        "model": "m",
        "stream": True,
        "max_tokens": 100,
        "seed": 2,
        "trace": 1,
        "wire": "chat_completions",
    }
    assert one["middleware_trace"] == (
        {"callback": "one of the plugin own", "source": "here", "reason": "why"},
        {"callback": "two of the plugin own"},
    )


DEARER = {
    "models": ["dear"],
    "route": "fallback",
    "plugins": [{"id": "web"}],
    "service_tier": "priority",
    "reasoning": {"max_tokens": 9000},
    "web_search_options": {},
    "store": True,
}
ADDING = f"""
def adds(request, **told):
    return {{**request, **{DEARER}, "top_p": 0.5}}
def around(request, next_call):
    return next_call({{**request, **{DEARER}, "seed": 5}})
def register(ctx):
    ctx.register_middleware("llm_request", adds)
    ISOLATED or ctx.register_middleware("llm_execution", around)
"""


@pytest.mark.parametrize("isolated", [False, True])
async def test_a_plugin_adds_to_requests_only_how_words_are_chosen_and_what_the_user_lets_it(
    environ: dict[str, str], plant: Plant, tmp_path: Path, isolated: bool, caplog: pytest.LogCaptureFixture
) -> None:
    model = ScriptedModel(say("one"), say("two"))
    plant("own", f"ISOLATED = {isolated}\n{ADDING}")
    configure(environ, enabled=["own"], entries={"own": {"isolated": isolated, "request_fields": ["store"]}})
    async with opened(environ, model) as runtime:
        assert runtime.plugins[0].faults == ()
        await turns(runtime, tmp_path, "hi", "again")
    added = {"top_p": 0.5, "store": True} | ({} if isolated else {"seed": 5})
    plain = {"messages", "model", "stream", "stream_options"}
    assert [{name: one[name] for name in one.keys() - plain} for one in model.requests] == [added, added]
    left = "models, plugins, reasoning, route, service_tier, web_search_options"
    leave = "plugins.entries.own.request_fields lets it."
    assert [one.getMessage() for one in caplog.records if "may not add" in one.getMessage()] == [
        f"The plugin own may not add {left} to requests; {leave}"
    ]


async def test_a_callback_in_a_process_of_its_own_changes_requests_and_stands_around_none(
    environ: dict[str, str], plant: Plant, tmp_path: Path
) -> None:
    model = ScriptedModel(say("done"))
    code = "def register(ctx):\n    ctx.register_middleware({!r}, lambda request: {{**request, 'seed': 4}})\n"
    plant("own", code.format("llm_request"))
    plant("other", code.format("llm_execution"))
    configure(
        environ, enabled=["own", "other"], entries={key: {"isolated": True} for key in ("own", "other")}
    )
    async with opened(environ, model) as runtime:
        found = {one.found.key: (one.state, " ".join(one.faults)) for one in runtime.plugins}
        await turns(runtime, tmp_path, "hi")
    stands = "the hook llm_execution was refused: llm_execution stands around a call, which happens in another process."
    assert (model.requests[0]["seed"], found) == (4, {"own": ("loaded", ""), "other": ("loaded", stands)})


async def test_observers_are_told_the_messages_that_are_sent(environ: dict[str, str], tmp_path: Path) -> None:
    model, told = ScriptedModel(say("done")), []
    async with opened(environ, model) as runtime:
        runtime.hooks.register("llm_request", lambda request: last(request, "other words"))
        runtime.hooks.register("pre_api_request", lambda **one: told.append(one))
        await turns(runtime, tmp_path, "hi")
    assert told[0]["request_messages"] == told[0]["request"]["messages"] == model.requests[0]["messages"]
    assert told[0]["request_messages"][-1]["content"] == "other words"


async def test_what_no_server_is_to_learn_is_taken_out_of_a_changed_request(
    environ: dict[str, str], tmp_path: Path
) -> None:
    model = ScriptedModel(say("done"))
    async with opened({**environ, "SHOP_TOKEN": SECRET}, model) as runtime:
        runtime.hooks.register("llm_request", lambda request: last(request, f"it is {SECRET}"))
        await turns(runtime, tmp_path, "hi")
    words = model.requests[0]["messages"][-1]["content"]
    assert SECRET not in words
    assert words.startswith("it is ")


def always(request: dict[str, Any]) -> dict[str, Any]:
    return {**request, "messages": [{"role": "system", "content": "mine"}, *request["messages"][1:]]}


def each_time(request: dict[str, Any]) -> dict[str, Any]:
    words = f"{len(request['messages'])} messages"
    return {**request, "messages": [{"role": "system", "content": words}, *request["messages"][1:]]}


def at_first(request: dict[str, Any]) -> dict[str, Any] | None:
    return always(request) if len(request["messages"]) == 2 else None


def later(request: dict[str, Any]) -> dict[str, Any] | None:
    return always(request) if len(request["messages"]) > 2 else None


BROKEN = ["a plugin changed what the model had read"]


@pytest.mark.parametrize(
    ("change", "told"), [(always, []), *((one, BROKEN) for one in (each_time, at_first, later))]
)
async def test_a_change_of_what_the_model_had_read_is_told_as_a_broken_prefix(
    environ: dict[str, str], tmp_path: Path, change: Any, told: list[str]
) -> None:
    model = ScriptedModel(say("one"), say("two", breaks_prefix=True))
    async with opened(environ, model) as runtime:
        runtime.hooks.register("llm_request", change)
        heard, _ = await turns(runtime, tmp_path, "hi", "again")
    assert [one.reason for one in heard if isinstance(one, PrefixBroken)] == told


UNCOUNTED = b'data: {"choices": [{"delta": {"content": "one"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize("point", ["llm_request", "llm_execution"])
async def test_what_was_sent_counts_in_the_budget(
    environ: dict[str, str], tmp_path: Path, point: str
) -> None:
    model = ScriptedModel(raw(UNCOUNTED), say("two"))
    async with opened(environ, model, **{"budget.session_tokens": 9_000}) as runtime:

        def longer(request: dict[str, Any], **more: Any) -> Any:
            wanted = {**request, "note": "word " * 10_000}
            return more["next_call"](wanted) if "next_call" in more else wanted

        runtime.hooks.register(point, longer)
        _, ends = await turns(runtime, tmp_path, "hi", "again")
    assert (ends[0].outcome, ends[0].text) == ("done", "one")
    assert ends[1].failure is not None
    assert (ends[1].failure.reason, len(model.requests)) == ("budget", 1)


@pytest.mark.parametrize(
    "nonsense",
    [7, "words", [1], {}, {"request": 7}, {"request": {"messages": "words"}}, {1, 2}, {"x": object()}],
)
async def test_an_answer_that_is_no_request_changes_nothing(
    environ: dict[str, str], tmp_path: Path, nonsense: Any
) -> None:
    model = ScriptedModel(say("done"))
    async with opened(environ, model) as runtime:
        runtime.hooks.register("llm_request", lambda: nonsense)
        _, ends = await turns(runtime, tmp_path, "hi")
    assert [one.text for one in ends] == ["done"]
    assert model.requests[0]["messages"][-1]["content"].endswith("hi")


@pytest.mark.parametrize("seconds", [0.2])
async def test_a_callback_that_hangs_is_left_and_the_request_goes_on_without_it(
    environ: dict[str, str], tmp_path: Path, seconds: float
) -> None:
    model = ScriptedModel(say("done"))
    async with opened(environ, model, **{"plugins.hook_timeout": seconds}) as runtime:

        async def hangs() -> None:
            await anyio.sleep_forever()

        runtime.hooks.register("llm_request", hangs)
        _, ends = await turns(runtime, tmp_path, "hi")
    assert [one.text for one in ends] == ["done"]


async def test_what_stands_around_a_request_has_it_sent_once_and_gets_the_whole_reply(
    environ: dict[str, str], plant: Plant, tmp_path: Path
) -> None:
    model, got = ScriptedModel(say("done")), []
    async with opened(environ, model) as runtime:

        def around(next_call: Any, request: dict[str, Any]) -> Any:
            got.append(next_call({**request, "seed": 3}))
            return {"content": f"not {next_call()['content']}"}

        runtime.hooks.register("llm_execution", around)
        heard, ends = await turns(runtime, tmp_path, "hi")
    told = got[0]
    usage = told.pop("usage")
    assert told == {
        "role": "assistant",
        "content": "done",
        "tool_calls": [],
        "finish_reason": "end",
        "model": "m",
    }
    assert usage["input_tokens"] > 0
    assert ([one.text for one in ends], [one["seed"] for one in model.requests]) == (["done"], [3])
    assert "".join(one.text for one in heard if isinstance(one, TextDelta)) == "done"


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_fault_around_a_request_changes_nothing(
    environ: dict[str, str], tmp_path: Path, after: bool, is_async: bool
) -> None:
    model = ScriptedModel(say("done"))

    def plain(next_call: Any) -> None:
        _ = after and next_call()
        raise ValueError

    async def awaiting(next_call: Any) -> None:
        _ = after and await next_call()
        raise ValueError

    async with opened(environ, model) as runtime:
        runtime.hooks.register("llm_execution", awaiting if is_async else plain)
        _, ends = await turns(runtime, tmp_path, "hi")
    assert ([one.text for one in ends], len(model.requests)) == (["done"], 1)


async def test_a_failed_request_is_tried_again_whatever_stands_around_it(
    environ: dict[str, str], tmp_path: Path
) -> None:
    model = ScriptedModel(fail(500), say("done"))
    async with opened(environ, model, **{"model.first_retry": 0.0}) as runtime:

        async def swallows(next_call: Any) -> Any:
            try:
                return await next_call()
            except Exception:  # noqa: BLE001  # what a careless plugin does
                return {"content": "all is well"}

        runtime.hooks.register("llm_execution", swallows)
        heard, ends = await turns(runtime, tmp_path, "hi")
    assert [one.action for one in heard if isinstance(one, Attempted)] == ["wait", "done"]
    assert [one.text for one in ends] == ["done"]


@pytest.mark.parametrize("words", ["from elsewhere", {"content": "from elsewhere", "usage": "x"}])
async def test_words_in_the_place_of_a_request_are_the_reply_and_count_for_nothing(
    environ: dict[str, str], tmp_path: Path, words: Any
) -> None:
    model = ScriptedModel()
    async with opened(environ, model) as runtime:
        runtime.hooks.register("llm_execution", lambda: words)
        heard, ends = await turns(runtime, tmp_path, "hi")
    (attempt,) = [one for one in heard if isinstance(one, Attempted)]
    assert ([one.text for one in ends], model.requests) == (["from elsewhere"], [])
    assert (attempt.usage.requests, attempt.usage.input_tokens) == (0, 0)
    assert "".join(one.text for one in heard if isinstance(one, TextDelta)) == "from elsewhere"


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_interrupt_ends_a_request_that_something_stands_around(
    environ: dict[str, str], tmp_path: Path, is_async: bool
) -> None:
    model, heard = ScriptedModel(say("slow " * 900, size=4, pause=0.01)), []

    def plain(next_call: Any) -> Any:
        return next_call()

    async def awaiting(next_call: Any) -> Any:
        return await next_call()

    async with opened(environ, model) as runtime:
        runtime.hooks.register("llm_execution", awaiting if is_async else plain)
        session = await runtime.session(options(tmp_path, toolsets=()))
        async with session.stream("hi") as events:
            async for event in events:
                heard.append(event)
                if isinstance(event, TextDelta):
                    session.interrupt()
        await session.close()
    assert [one.outcome for one in heard if isinstance(one, TurnFinished)] == ["interrupted"]


async def test_what_stands_around_a_request_of_a_turn_that_is_over_sends_nothing_any_more(
    environ: dict[str, str], tmp_path: Path
) -> None:
    model, began, free, ended = ScriptedModel("no"), threading.Event(), threading.Event(), threading.Event()

    def late(next_call: Any) -> None:
        began.set()
        free.wait()
        with suppress(Exception):
            next_call()
        ended.set()

    async with opened(environ, model) as runtime:
        runtime.hooks.register("llm_execution", late)
        session = await runtime.session(options(tmp_path, toolsets=()))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.send, "hi")
            await anyio.to_thread.run_sync(began.wait)
            session.interrupt()
        free.set()
        await anyio.to_thread.run_sync(ended.wait)
        await session.close()
    assert model.requests == []
