import asyncio  # handlers of tool files are asyncio
import contextvars
import json
import sys
import threading
import time
import types
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from hermes.hooks import Hooks
from hermes.lib.guest_loops import GuestLoops
from hermes.tools.dispatch import Dispatcher, ToolOutput, failure
from hermes.tools.registry import ToolRegistry, registry
from hermes.tools.results import Results
from hermes.types.tool import ToolEntry

pytestmark = pytest.mark.anyio
colour: contextvars.ContextVar[str] = contextvars.ContextVar("colour", default="none")


def entry(handler: Any, **more: Any) -> ToolEntry:
    made = ToolRegistry()
    made.register(
        "probe",
        "test",
        {"name": "probe", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        handler,
        **more,
    )
    found = made.get_entry("probe")
    assert found is not None
    return found


async def call(
    handler: Any, args: dict[str, Any] | None = None, dispatcher: Dispatcher | None = None, **more: Any
) -> Any:
    outcome = await (dispatcher or Dispatcher()).call(
        entry(handler, **more), args or {}, {"session_id": "s", "task_id": "t"}
    )
    return json.loads(outcome.content)


async def test_a_handler_gets_its_arguments_and_keywords() -> None:
    def handler(args: dict[str, Any], **keywords: Any) -> str:
        return json.dumps([args, sorted(keywords)])

    assert await call(handler, {"n": "4"}) == [{"n": 4}, ["session_id", "task_id"]]


async def test_an_exception_becomes_a_clean_error() -> None:
    def handler(_args: dict[str, Any], **_: Any) -> str:
        raise ValueError("bad <system>value</system> ```x``` <![CDATA[y]]> <|im_start|>")

    assert await call(handler) == {"error": "Tool execution failed: ValueError: bad value x y "}


def test_an_error_text_is_bounded() -> None:
    assert len(failure("probe", ValueError("x" * 100_000))) <= 2100


async def test_something_else_than_a_string_breaks_the_contract() -> None:
    assert await call(lambda _args, **_: {"a": 1}) == {
        "error": "The tool gave dict instead of a JSON string.",
        "error_type": "tool_result_contract",
    }


async def test_a_sync_handler_does_not_hold_up_the_loop_and_sees_context_variables() -> None:
    colour.set("green")

    def handler(_args: dict[str, Any], **_: Any) -> str:
        time.sleep(0.2)
        return json.dumps([colour.get(), threading.current_thread() is threading.main_thread()])

    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.sleep(0.02)
            ticks += 1

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        assert await call(handler) == ["green", False]
        group.cancel_scope.cancel()
    assert ticks >= 4


async def test_async_handlers_of_tool_files_hold_up_neither_the_loop_nor_each_other() -> None:
    started, released = threading.Event(), threading.Event()

    async def blocking(_args: dict[str, Any], **_: Any) -> str:
        started.set()
        return json.dumps(released.wait(20))  # blocks its own loop until the core loop goes on

    async def quick(_args: dict[str, Any], **_: Any) -> str:
        await anyio.lowlevel.checkpoint()
        return '"quick"'

    blocking.__module__ = quick.__module__ = "hermes_tool_files.weather"
    dispatcher, found = Dispatcher(), []

    async def run(handler: Any) -> None:
        found.append(await call(handler, dispatcher=dispatcher, is_async=True))

    async with anyio.create_task_group() as group:
        group.start_soon(run, blocking)
        while not started.is_set():  # noqa: ASYNC110  # another thread sets it
            await anyio.sleep(0.001)
        await run(quick)
        released.set()
    dispatcher.guests.close()
    assert found == ["quick", True]


async def test_an_async_handler_of_a_tool_file_keeps_its_loop_and_leaves_no_task_behind() -> None:
    loops: list[object] = []
    left: list[asyncio.Task[None]] = []

    async def handler(_args: dict[str, Any], **_: Any) -> str:
        loops.append(asyncio.get_running_loop())
        left.append(asyncio.create_task(asyncio.sleep(3600)))
        await asyncio.sleep(0)
        return "{}"

    handler.__module__ = "hermes_tool_files.weather"
    dispatcher = Dispatcher()
    for _ in range(3):
        await call(handler, dispatcher=dispatcher, is_async=True)
    while not all(task.done() for task in left):  # noqa: ASYNC110  # another loop ends them
        await anyio.sleep(0.001)
    dispatcher.guests.close()
    assert (len(set(loops)), [task.cancelled() for task in left]) == (1, [True] * 3)


async def test_an_async_handler_of_a_tool_file_that_never_ends_is_cancelled_in_its_loop() -> None:
    guests, ended = GuestLoops(), threading.Event()

    async def never() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    with pytest.raises(TimeoutError):
        await guests.run(never, seconds=0.05)
    assert await anyio.to_thread.run_sync(ended.wait, 20)
    ended.clear()
    with pytest.raises(TimeoutError):
        await anyio.to_thread.run_sync(partial(guests.run_blocking, never, seconds=0.05))
    assert await anyio.to_thread.run_sync(ended.wait, 20)
    guests.close()


async def test_an_abandoned_plain_handler_gives_its_place_back() -> None:
    released = threading.Event()
    dispatcher = Dispatcher(_places=anyio.CapacityLimiter(1))

    def stuck(_args: dict[str, Any], **_: Any) -> str:
        released.wait(20)
        return "{}"

    with anyio.move_on_after(0.05):
        await call(stuck, dispatcher=dispatcher)
    assert await call(lambda _a, **_: '"next"', dispatcher=dispatcher) == "next"
    released.set()


async def test_a_call_that_is_thrown_away_ends_quietly() -> None:
    @types.coroutine
    def waits() -> Iterator[None]:
        yield

    async def handler(_args: dict[str, Any], **_: Any) -> str:
        await waits()
        return "{}"

    hooks, seen = Hooks(), []
    hooks.register("post_tool_call", lambda **told: seen.append(told))
    running = Dispatcher(hooks=hooks).call(entry(handler, is_async=True), {}, {})
    running.send(None)
    running.close()  # as an event loop does that ends with calls in it
    assert seen == []


async def test_a_fault_around_the_handler_is_a_result() -> None:
    class Broken(Results, frozen=True):
        def fit(self, text: str, limit: int) -> tuple[str, str]:
            raise OSError("no room for <system>it</system>")

    dispatcher = Dispatcher(results=Broken(folder=Path("/nowhere"), name=lambda: "r"))
    made = entry(lambda _a, **_: "x" * 50, max_result_size_chars=10)
    found = await dispatcher.call(made, {}, {})
    assert (json.loads(found.content), found.failed) == (
        {"error": "Error executing probe: no room for it"},
        True,
    )


async def test_hooks_change_arguments_and_results_in_turn_plain_or_async() -> None:
    async def doubled(args: dict[str, Any]) -> dict[str, Any]:
        await anyio.lowlevel.checkpoint()
        return {**args, "n": args["n"] * 2}

    hooks = Hooks()
    hooks.register("transform_tool_args", doubled)
    hooks.register("transform_tool_args", lambda args, tool_name: {**args, "n": args["n"] + len(tool_name)})
    hooks.register("transform_tool_result", lambda result: result.replace("11", "12"))
    hooks.register("transform_tool_result", lambda: 1 / 0)
    found = await call(lambda args, **_: json.dumps({"n": args["n"]}), {"n": 3}, Dispatcher(hooks=hooks))
    assert found == {"n": 12}  # (3 × 2 + 5) and then the result as it was changed


async def test_a_change_of_arguments_may_say_why_which_later_hooks_are_told() -> None:
    def first(original_args: dict[str, Any], middleware_schema_version: str) -> dict[str, Any]:
        changed = {"n": original_args["n"] + 1, "by": middleware_schema_version}
        return {"args": changed, "source": "here", "reason": "why"}

    def second(args: dict[str, Any], original_args: dict[str, Any]) -> dict[str, Any]:
        return {**args, "n": args["n"] * 10 + original_args["n"]}

    hooks, told = Hooks(), []
    hooks.register("transform_tool_args", first)
    hooks.register("transform_tool_args", second)
    for point in ("pre_tool_call", "tool_execution", "transform_tool_result", "post_tool_call"):
        hooks.register(point, lambda **one: told.append(one))
    found = await call(lambda args, **_: json.dumps(args), {"n": 3}, Dispatcher(hooks=hooks))
    assert found == {"n": 43, "by": "hermes.middleware.v1"}
    trace = (
        {"callback": first.__qualname__, "source": "here", "reason": "why"},
        {"callback": second.__qualname__},
    )
    assert [one["middleware_trace"] for one in told] == [trace] * 4
    assert told[1]["original_args"] == {"n": 3}


@pytest.mark.parametrize("nonsense", [7, "args source", [1], {"args": 7}])
async def test_an_answer_that_is_no_arguments_changes_nothing(nonsense: Any) -> None:
    hooks = Hooks()
    hooks.register("transform_tool_args", lambda: nonsense)
    found = await call(lambda args, **_: json.dumps(args), {"n": 3}, Dispatcher(hooks=hooks))
    assert found == {"n": 3}


async def test_hooks_may_block_a_call_and_see_its_result() -> None:
    seen: list[tuple[str, str]] = []
    hooks = Hooks()
    hooks.register(
        "pre_tool_call",
        lambda tool_name, args: {"action": "block", "message": "not today"} if args.get("n") == 1 else None,
    )
    hooks.register("post_tool_call", lambda result, session_id: seen.append((session_id, result)))
    dispatcher = Dispatcher(hooks=hooks)
    assert await call(lambda _a, **_: '{"ok": 1}', {"n": 1}, dispatcher) == {"error": "not today"}
    assert await call(lambda _a, **_: '{"ok": 1}', {"n": 2}, dispatcher) == {"ok": 1}
    assert seen == [("s", '{"ok": 1}')]


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_a_hook_that_never_returns_counts_as_failed(kind: str) -> None:
    released = threading.Event()

    async def endless() -> None:
        await anyio.sleep(3600)

    hooks = Hooks(seconds=0.05)
    hooks.register("pre_tool_call", endless if kind == "async" else lambda: released.wait(20))
    hooks.register("post_tool_call", endless if kind == "async" else lambda: released.wait(20))
    found = await call(lambda _a, **_: json.dumps(released.is_set()), {}, Dispatcher(hooks=hooks))
    assert (found, released.is_set()) == (False, False)
    released.set()


async def test_a_hook_that_exits_or_cancels_itself_counts_as_failed() -> None:
    def exits() -> None:
        sys.exit(3)

    async def cancels() -> None:
        raise asyncio.CancelledError

    hooks = Hooks()
    hooks.register("pre_tool_call", exits)
    hooks.register("post_tool_call", cancels)
    assert await call(lambda _a, **_: '"ran"', {}, Dispatcher(hooks=hooks)) == "ran"


async def test_neither_hooks_nor_handlers_can_change_the_arguments_of_the_call() -> None:
    def meddles(args: dict[str, Any]) -> None:
        args["n"] = 5
        args["deep"]["list"].append("meddled")

    def handler(args: dict[str, Any], **_: Any) -> str:
        text = json.dumps(args)
        meddles(args)
        return text

    hooks = Hooks()
    for point in ("pre_tool_call", "transform_tool_args", "transform_tool_result", "post_tool_call"):
        hooks.register(point, meddles)
    arguments = {"n": 1, "deep": {"list": ["a"]}}
    for dispatcher in (Dispatcher(), Dispatcher(hooks=hooks)):
        assert await call(handler, arguments, dispatcher) == {"n": 1, "deep": {"list": ["a"]}}
    assert arguments == {"n": 1, "deep": {"list": ["a"]}}


def test_a_hook_that_wants_what_is_not_offered_is_refused_when_it_is_registered() -> None:
    with pytest.raises(ValueError, match="pre_tool_call does not offer colour"):
        Hooks().register("pre_tool_call", lambda colour: None)
    with pytest.raises(ValueError, match="pre_tool_call gives its arguments by name, and args takes none"):
        Hooks().register("pre_tool_call", lambda *args: None)
    with pytest.raises(ValueError, match="no hook 'pre_everything'; docs/guide/hooks.md has"):
        Hooks().register("pre_everything", lambda: None)


async def test_a_long_result_is_kept_whole_and_the_model_gets_head_tail_and_path(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(5000))
    dispatcher = Dispatcher(results=Results(folder=tmp_path, name=lambda: "r1"))
    outcome = await dispatcher.call(entry(lambda _a, **_: text, max_result_size_chars=2000), {}, {})
    shown = json.loads(outcome.content)
    assert Path(outcome.full).read_text() == text
    assert len(outcome.content) < 2600
    assert (shown["size"], shown["path"], shown["result"][:7], shown["result"][-10:]) == (
        len(text),
        outcome.full,
        "line 0\n",
        "line 4999\n",
    )


@pytest.mark.parametrize(
    ("told", "full"),
    [({"full_output": "/home/whole.txt"}, "/home/whole.txt"), ({"full_output": 7}, ""), ({}, "")],
)
async def test_the_whole_of_what_a_tool_itself_cut_is_told(told: dict[str, Any], full: str) -> None:
    text = json.dumps({"output": "head … tail", **told})
    outcome = await Dispatcher().call(entry(lambda _a, **_: text), {}, {})
    assert outcome == ToolOutput(content=text, full=full)


async def test_a_long_result_that_cannot_be_kept_is_still_shown_head_and_tail(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.write_text("no folder")
    text = "head" + "x" * 5000 + "tail"
    dispatcher = Dispatcher(results=Results(folder=folder, name=lambda: "r1"))
    outcome = await dispatcher.call(entry(lambda _a, **_: text, max_result_size_chars=2000), {}, {})
    shown = json.loads(outcome.content)
    hint = (
        "The result has 5008 characters; this is its head and tail. The whole of it could not be kept: File"
        " exists."
    )
    assert (shown["result"][:5], shown["result"][-5:], shown["size"], shown["hint"]) == (
        "headx",
        "xtail",
        5008,
        hint,
    )
    assert (outcome.failed, outcome.full, "path" in shown) == (False, "", False)


async def echo(args: dict[str, Any], **_: Any) -> str:
    await anyio.lowlevel.checkpoint()
    return json.dumps({"n": args["n"], "thread": threading.get_ident()})


@pytest.fixture
def probe() -> Any:
    registry.register(
        "dispatch_probe",
        "test",
        {"name": "dispatch_probe", "parameters": {"type": "object"}},
        echo,
        is_async=True,
    )
    yield
    registry.deregister("dispatch_probe")


@pytest.mark.usefixtures("probe")
async def test_the_documented_sync_form_works_from_a_loop_a_worker_and_a_plain_thread() -> None:
    def dispatched() -> Any:
        return json.loads(registry.dispatch("dispatch_probe", {"n": 1}))

    here = threading.get_ident()
    assert dispatched()["thread"] != here  # on the loop itself: the guest loop runs it, and nothing deadlocks
    assert (await anyio.to_thread.run_sync(dispatched))[
        "thread"
    ] == here  # a worker of ours goes back to the loop
    seen: list[int] = []
    threads = [threading.Thread(target=lambda: seen.append(dispatched()["thread"])) for _ in range(3)]
    for thread in threads:
        thread.start()
        await anyio.to_thread.run_sync(thread.join)
    assert len(set(seen)) == 1  # plain threads always meet the same loop


@pytest.mark.usefixtures("probe")
def test_the_documented_sync_form_works_without_any_loop() -> None:
    assert json.loads(registry.dispatch("dispatch_probe", {"n": 5}, task_id="x"))["n"] == 5
    assert "Did you mean dispatch_probe" in json.loads(registry.dispatch("dispatch-prob", {}))["error"]
