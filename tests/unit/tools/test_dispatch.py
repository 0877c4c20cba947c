import contextvars
import itertools
import json
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from hermes.hooks import Hooks
from hermes.tools.dispatch import Dispatcher, sanitised
from hermes.tools.registry import ToolRegistry, registry
from hermes.tools.results import Results
from hermes.types.tool import ToolEntry

pytestmark = pytest.mark.anyio
colour: contextvars.ContextVar[str] = contextvars.ContextVar("colour", default="none")


def entry(handler: Any, **more: Any) -> ToolEntry:
    made = ToolRegistry()
    made.register(
        "probe", "test", {"name": "probe", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}, handler, **more
    )
    found = made.get_entry("probe")
    assert found is not None
    return found


async def call(handler: Any, args: dict[str, Any] | None = None, dispatcher: Dispatcher | None = None, **more: Any) -> Any:
    outcome = await (dispatcher or Dispatcher()).call(entry(handler, **more), args or {}, {"session_id": "s", "task_id": "t"})
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
    assert len(sanitised("x" * 100_000)) <= 2000


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


async def test_an_async_handler_of_a_foreign_file_cannot_hold_up_the_core_loop() -> None:
    async def blocking(_args: dict[str, Any], **_: Any) -> str:
        time.sleep(0.3)
        return "{}"

    blocking.__module__ = "hermes_tool_files.weather"
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            await anyio.sleep(0.02)
            ticks.append(anyio.current_time())

    dispatcher = Dispatcher()
    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        await call(blocking, dispatcher=dispatcher, is_async=True)
        group.cancel_scope.cancel()
    dispatcher.guest.close()
    assert max(later - earlier for earlier, later in itertools.pairwise(ticks)) < 0.15


async def test_hooks_may_block_a_call_and_see_its_result() -> None:
    seen: list[tuple[str, str]] = []
    hooks = Hooks()
    hooks.register("pre_tool_call", lambda tool_name, args: {"action": "block", "message": "not today"} if args.get("n") == 1 else None)
    hooks.register("post_tool_call", lambda result, session_id: seen.append((session_id, result)))
    dispatcher = Dispatcher(hooks=hooks)
    assert await call(lambda _a, **_: '{"ok": 1}', {"n": 1}, dispatcher) == {"error": "not today"}
    assert await call(lambda _a, **_: '{"ok": 1}', {"n": 2}, dispatcher) == {"ok": 1}
    assert seen == [("s", '{"ok": 1}')]


def test_a_hook_that_wants_what_is_not_offered_is_refused_when_it_is_registered() -> None:
    with pytest.raises(ValueError, match="pre_tool_call does not offer colour"):
        Hooks().register("pre_tool_call", lambda colour: None)
    with pytest.raises(ValueError, match="There is no hook 'pre_everything'"):
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


async def echo(args: dict[str, Any], **_: Any) -> str:
    await anyio.lowlevel.checkpoint()
    return json.dumps({"n": args["n"], "thread": threading.get_ident()})


@pytest.fixture
def probe() -> Any:
    registry.register("dispatch_probe", "test", {"name": "dispatch_probe", "parameters": {"type": "object"}}, echo, is_async=True)
    yield
    registry.deregister("dispatch_probe")


@pytest.mark.usefixtures("probe")
async def test_the_documented_sync_form_works_from_a_loop_a_worker_and_a_plain_thread() -> None:
    def dispatched() -> Any:
        return json.loads(registry.dispatch("dispatch_probe", {"n": 1}))

    here = threading.get_ident()
    assert dispatched()["thread"] != here  # on the loop itself: the guest loop runs it, and nothing deadlocks
    assert (await anyio.to_thread.run_sync(dispatched))["thread"] == here  # a worker of ours goes back to the loop
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
