"""Sessions as training examples: conversations in the ShareGPT form, completed and failed ones apart."""

import datetime as dt
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio.to_thread
import msgspec
from msgspec import Struct

from hermes.types.message import Assistant, Message, ToolCall, ToolResult, User

if TYPE_CHECKING:
    from hermes.agent.session import Session

COMPLETED: Final = "trajectory_samples.jsonl"
FAILED: Final = "failed_trajectories.jsonl"


class Trajectories(Protocol):
    """Where the conversations of sessions go when they are closed."""

    async def closed(self, session: "Session") -> None:
        """Keep the conversation of a session, if such are kept."""


class NoTrajectories(Struct, frozen=True):
    """Keeps none."""

    async def closed(self, session: "Session") -> None:
        """Keep nothing."""


class SavedTrajectories(Struct, frozen=True):
    """Adds each conversation to the files in a folder."""

    folder: Path

    async def closed(self, session: "Session") -> None:
        """Keep the conversation of a session that has one."""
        if session.log:
            services = session.services
            entry = trajectory(
                session.log,
                system=session.system,
                tools=session.tools.definitions,
                model=session.endpoint.model,
                at=services.ports.now(),
                redact=services.redactor.redact,
            )
            await anyio.to_thread.run_sync(partial(add_to, self.folder, entry))


def trajectory(
    log: Sequence[Message],
    *,
    system: str,
    tools: Sequence[Any],
    model: str,
    at: float,
    redact: Callable[[str], str],
) -> dict[str, Any]:
    """One example: who said what, when it was written (local time), the model, and whether it was completed.

    Left out is what no model and no person said: recalled memory, notes of the program, closing words of a
    turn that failed, compactions. `redact` takes credentials out.
    """
    listed = "\n".join(_json(tool) for tool in tools)
    first = f"{system}\n\n<tools>\n{listed}\n</tools>" if listed else system
    said = [("system", first), *_turns(log)]
    return {
        "conversations": [{"from": who, "value": redact(text)} for who, text in said],
        "timestamp": dt.datetime.fromtimestamp(at, tz=dt.UTC).astimezone().isoformat(),
        "model": model,
        "completed": bool(log) and _is_answer(log[-1]),
    }


def add_to(folder: Path, entry: dict[str, Any]) -> Path:
    """Write an example at the end of its file in one step; the file."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / (COMPLETED if entry["completed"] else FAILED)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, _json(entry).encode("utf-8", "replace") + b"\n")
    finally:
        os.close(handle)
    return path


def _is_answer(message: Message) -> bool:
    """Whether a model said its last word with it."""
    return (
        isinstance(message, Assistant)
        and bool(message.provider)
        and message.stop == "end"
        and not message.calls
    )


def _turns(log: Iterable[Message]) -> Iterator[tuple[str, str]]:
    results: list[str] = []
    for message in log:
        match message:
            case ToolResult():
                results.append(_response(message))
                continue
            case User(text=text):
                said = ("human", text)
            case Assistant() if message.provider:
                said = ("gpt", _reply(message))
            case _:
                continue
        if results:
            yield "tool", "\n".join(results)
            results = []
        yield said
    if results:
        yield "tool", "\n".join(results)


def _reply(message: Assistant) -> str:
    thoughts = "\n\n".join(one.text for one in message.thinking if one.text)
    parts = [f"<think>\n{thoughts}\n</think>" if thoughts else "", message.text, *map(_call, message.calls)]
    return "\n".join(filter(None, parts))


def _call(call: ToolCall) -> str:
    return f"<tool_call>\n{_json({'name': call.name, 'arguments': call.arguments})}\n</tool_call>"


def _response(result: ToolResult) -> str:
    try:
        content = msgspec.json.decode(result.content)
    except (msgspec.DecodeError, UnicodeError):
        content = result.content
    told = {"tool_call_id": result.call_id, "name": result.name, "content": content}
    return f"<tool_response>\n{_json(told)}\n</tool_response>"


def _json(value: object) -> str:
    """JSON in which letters of every script stay as they are."""
    return msgspec.json.encode(value).decode()
