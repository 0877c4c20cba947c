"""Budgets stop a turn before a call, and every request is written down."""

import json
from pathlib import Path

import anyio
import pytest

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, fail, raw, say
from hermes.tools.function import FunctionTool, tool
from hermes.types.event import TurnFinished

pytestmark = pytest.mark.anyio


@tool
def double(number: int) -> int:
    """Twice a number."""
    return number * 2


async def answered(
    environ: dict[str, str],
    model: ScriptedModel,
    *texts: str,
    functions: tuple[FunctionTool, ...] = (),
    **config: object,
) -> list[TurnFinished]:
    """The ends of turns in one session with these budgets."""
    home = Path(environ["HERMES_HOME"])
    home.mkdir(exist_ok=True)
    lines = [f"  {name}: {value}" for name, value in config.items()]
    (home / "config.yaml").write_text("\n".join(["budget:", *lines]) if lines else "")
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        options = SessionOptions(
            toolsets=(), functions=functions, base_url="http://127.0.0.1:1/v1", model="scripted", cwd=home
        )
        session = await runtime.session(options)
        ends = [await session.send(text) for text in texts]
        await session.close()
        return ends


async def test_a_spent_turn_ends_in_words_and_the_next_turn_may_go_on(environ: dict[str, str]) -> None:
    model = ScriptedModel(call("double", {"number": 1}), "fine")
    ends = await answered(environ, model, "go", "again", functions=(double,), turn_tokens=100)
    assert [(end.outcome, end.text) for end in ends] == [
        (
            "budget",
            "(No reply: The token budget of this turn is spent: 110 of 100 tokens. hermes config set budget.turn_tokens raises it.)",
        ),
        ("done", "fine"),
    ]


async def test_a_model_without_a_price_counts_at_the_ceiling(environ: dict[str, str]) -> None:
    model = ScriptedModel("one")
    ends = await answered(environ, model, "a", "b", session_cost=0.0005)
    assert [end.outcome for end in ends] == ["done", "budget"]
    assert ends[0].usage.unpriced == 110


async def test_the_money_of_a_day_is_shared_by_sessions_and_survives_a_restart(
    environ: dict[str, str],
) -> None:
    assert [end.outcome for end in await answered(environ, ScriptedModel("one"), "a", day_cost=0.0005)] == [
        "done"
    ]
    assert [end.outcome for end in await answered(environ, ScriptedModel(), "b", day_cost=0.0005)] == [
        "budget"
    ]


async def test_time_is_a_budget_too(environ: dict[str, str]) -> None:
    model = ScriptedModel(call("double", {"number": 1}, pause=0.05), say("late", pause=0.5))
    ends = await answered(environ, model, "go", functions=(double,), turn_seconds=0.6)
    assert ends[0].seconds < 2
    assert ends[0].outcome in {"failed", "budget"}


async def test_failed_requests_are_written_down_with_their_session(environ: dict[str, str]) -> None:
    model = ScriptedModel(fail(503, headers={"retry-after": "0"}), "here")
    ends = await answered(environ, model, "hi")
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        lines = await runtime.store.summary("model")
    assert [(one.what, one.usage.requests, one.failed) for one in lines] == [("custom/scripted", 2, 1)]
    assert lines[0].usage == ends[0].usage


async def test_eight_sessions_side_by_side_overspend_a_day_by_one_call_at_most(
    environ: dict[str, str],
) -> None:
    """Each reply costs 110 tokens at the ceiling, 0.00075 dollars; the day allows four and a bit (invariant 12)."""
    home = Path(environ["HERMES_HOME"])
    home.mkdir()
    (home / "config.yaml").write_text("budget: {day_cost: 0.0032}\nmodel: {max_output: 10}\n")
    model = ScriptedModel(*[say("x", pause=0.01, breaks_prefix=True)] * 64)
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        made = [
            await runtime.session(
                SessionOptions(toolsets=(), base_url="http://127.0.0.1:1/v1", model="m", cwd=home)
            )
            for _ in range(8)
        ]

        async def talk(session: Session) -> None:
            for _ in range(8):
                await session.send("go")

        async with anyio.create_task_group() as group:
            for session in made:
                group.start_soon(talk, session)
        spent = (await runtime.store.summary("day"))[0].usage
        for session in made:
            await session.close()
    each = 100 * 5e-6 + 10 * 25e-6
    assert spent.requests == len(model.requests)
    assert 0.0032 - each <= spent.requests * each <= 0.0032 + each


async def test_a_server_that_tells_no_usage_is_counted_by_what_went_and_came(environ: dict[str, str]) -> None:
    delta = {
        "tool_calls": [
            {
                "index": 0,
                "id": "c1",
                "type": "function",
                "function": {"name": "double", "arguments": '{"number": 1}'},
            }
        ]
    }
    chunks = [
        {"choices": [{"index": 0, "delta": delta}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]
    body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
    model = ScriptedModel(*[raw(body.encode())] * 30)
    (end,) = await answered(environ, model, "go " * 400, functions=(double,), turn_cost=0.02)
    assert end.outcome == "budget"
    assert 1 <= len(model.requests) <= 5
