"""The hook points of a session are called where they say, and what they add reaches the model."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

import hermes
from hermes.agent.spec import SessionOptions
from hermes.hooks import SPECS, WHEN
from hermes.runtime import Runtime, open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.types.message import ContextBlock, ToolResult, User

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def opened(environ: dict[str, str], model: ScriptedModel) -> AsyncIterator[Runtime]:
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        yield runtime


def options(cwd: Path, **more: Any) -> SessionOptions:
    return SessionOptions(base_url="http://127.0.0.1:1/v1", model="m", toolsets=(), cwd=cwd, **more)


POINTS = ("on_session_start", "pre_llm_call", "post_llm_call", "on_session_end", "on_session_finalize")


def said(text: str, reply: str) -> dict[str, str]:
    return {"user_message": text, "assistant_response": reply}


async def test_the_points_of_a_session_are_called_in_order_with_what_they_offer(
    environ: dict[str, str], tmp_path: Path
) -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    def told(point: str) -> Any:
        return lambda **offered: seen.append((point, offered))

    model = ScriptedModel(call("nothing", {}), say("hello"), say("again"))
    async with opened(environ, model) as runtime:
        hooks = runtime.hooks
        for point in POINTS:
            hooks.register(point, told(point))
        session = await runtime.session(options(tmp_path))
        await session.send("hi")
        await session.close()
        resumed = await runtime.session(options(tmp_path, resume=session.id))
        await resumed.send("and")
        await resumed.close()
    about = {"session_id": session.id, "model": "m", "platform": "cli"}
    gone = {"platform": "cli", "reason": "closed", "session_id": session.id, "new_session_id": ""}
    left = ("on_session_finalize", {**gone, "old_session_id": session.id})
    first = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": ""},
        {"role": "tool", "content": '{"error": "Unknown tool: nothing. There are: none."}'},
        {"role": "assistant", "content": "hello"},
    ]
    both = [*first, {"role": "user", "content": "and"}, {"role": "assistant", "content": "again"}]
    turn, then = ({**about, "task_id": session.id, "turn_id": f"{session.id}:{one}"} for one in (1, 2))
    end = {"completed": True, "interrupted": False, "reason": "done"}
    came = {"is_first_turn": True, "sender_id": "", "conversation_history": []}
    back = {"is_first_turn": False, "sender_id": "", "conversation_history": first}
    assert seen == [
        ("on_session_start", {**about, "resumed": False}),
        ("pre_llm_call", {**turn, "user_message": "hi", **came}),
        ("post_llm_call", {**turn, **said("hi", "hello"), "conversation_history": first}),
        ("on_session_end", {**turn, **end}),
        left,
        ("on_session_start", {**about, "resumed": True}),
        ("pre_llm_call", {**then, "user_message": "and", **back}),
        ("post_llm_call", {**then, **said("and", "again"), "conversation_history": both}),
        ("on_session_end", {**then, **end}),
        left,
    ]


async def test_what_a_hook_adds_is_read_with_the_message_and_kept_with_it(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async def recalls(user_message: str) -> dict[str, str]:
        await anyio.lowlevel.checkpoint()
        return {"context": f"(remembered for {user_message})"}

    model = ScriptedModel(say("one"), say("two"))  # which fails when a request does not extend the last one
    async with opened(environ, model) as runtime:
        runtime.hooks.register("pre_llm_call", recalls)
        runtime.hooks.register("pre_llm_call", lambda: "(plain)")
        runtime.hooks.register("pre_llm_call", lambda: 7)
        session = await runtime.session(options(tmp_path))
        await session.send("first")
        await session.send("second")
        users = [message for message in session.log if isinstance(message, User)]
        await session.close()
    asked = [one["content"] for one in model.requests[-1]["messages"] if one["role"] == "user"]
    assert asked == [f"(remembered for {text})\n(plain)\n\n{text}" for text in ("first", "second")]
    assert [user.blocks for user in users] == [
        (
            ContextBlock(kind="hook", text=f"(remembered for {user.text})", source="pre_llm_call"),
            ContextBlock(kind="hook", text="(plain)", source="pre_llm_call"),
        )
        for user in users
    ]


@pytest.mark.parametrize(("why", "heard"), [("", "interrupted True"), ("out of\npaper", "out of paper True")])
async def test_an_interrupt_does_not_wait_for_the_hooks_at_the_end_and_tells_them(
    environ: dict[str, str], tmp_path: Path, why: str, heard: str
) -> None:
    told, released = anyio.Event(), anyio.Event()
    reasons: list[str] = []

    async def ends(reason: str, interrupted: bool) -> None:
        reasons.append(f"{reason} {interrupted}")
        told.set()
        await released.wait()

    async with opened(environ, ScriptedModel(say("long " * 50, pause=0.05))) as runtime:
        runtime.hooks.register("on_session_end", ends)
        session = await runtime.session(options(tmp_path))
        with session.watch() as events:
            async with anyio.create_task_group() as group:
                group.start_soon(session.send, "go")
                async for event in events:
                    if event.kind == "text":
                        session.interrupt(why)
                    if event.kind == "turn_finished":
                        break
                with anyio.fail_after(20):
                    await told.wait()
                assert (session.busy, reasons) == (False, [heard])
                released.set()
        await session.close()


class Unreadable(dict[str, Any]):
    """An answer that raises when it is read."""

    def get(self, key: str, default: Any = None) -> Any:
        """Raise."""
        raise ValueError(key)

    def items(self) -> Any:
        """Raise."""
        raise ValueError("items")


def throws() -> None:
    raise GeneratorExit


async def throws_async() -> None:
    raise GeneratorExit


@pytest.mark.parametrize("callback", [throws, throws_async, Unreadable])
async def test_a_callback_that_fails_in_whatever_way_stops_nothing(
    environ: dict[str, str], tmp_path: Path, callback: Callable[[], Any]
) -> None:
    def told() -> Any:
        return callback()

    @hermes.tool
    async def look() -> str:
        """Look."""
        return "seen"

    async with opened(environ, ScriptedModel(call("look", {}), say("hello"))) as runtime:
        for point in SPECS:
            runtime.hooks.register(point, throws_async if callback is throws_async else told)
        session = await runtime.session(options(tmp_path, functions=(look,)))
        end = await session.send("hi")
        await session.close()
    found = [message.content for message in session.log if isinstance(message, ToolResult)]
    assert (end.outcome, end.text, found) == ("done", "hello", ['{"result": "seen"}'])


async def test_the_limit_of_hooks_is_a_setting(environ: dict[str, str], tmp_path: Path) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text("plugins:\n  hook_timeout: 0.05\n")
    ended = anyio.Event()
    async with opened(environ, ScriptedModel(say("hello"))) as runtime:
        runtime.hooks.register("pre_llm_call", ended.wait)
        session = await runtime.session(options(tmp_path))
        assert (await session.send("hi")).text == "hello"
        await session.close()


def test_people_are_told_of_every_point_when_it_comes() -> None:
    assert [*WHEN] == [*SPECS]
