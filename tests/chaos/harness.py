"""One session, servers that misbehave, and what must hold whatever they do (invariant 21)."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
import msgspec
from msgspec.structs import replace

import hermes
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.composition import SYSTEM_PORTS
from hermes.runtime import Runtime, open_runtime
from hermes.testing import ScriptedModel, Turn
from hermes.types.event import Added, Attempted, Event, ReplyRestarted, StepStarted, TextDelta, TurnFinished
from hermes.types.message import Assistant, ToolResult
from tests.chaos.streams import ANSWER, CHAT, WORD, Wire

TOTAL, GRACE = 5.0, 2.0
LIMITS: dict[str, Any] = {
    "default": "one/a",
    "first_byte_timeout": 0.2,
    "idle_timeout": 0.2,
    "total_timeout": TOTAL,
    "max_retries": 2,
}
AT_ONCE = replace(SYSTEM_PORTS, uniform=lambda _low, _high: 0.0)
"""Pauses without a time of the provider's own take none; the jitter has tests of its own."""


class Faulty(ScriptedModel):
    """Plays its faults, the last one for ever if `always`, then answers well; `count` is how many requests came."""

    def __init__(self, *faults: Turn, always: bool = False, wire: Wire = CHAT) -> None:
        super().__init__()
        self.faults, self.always, self.wire, self.count = faults, always, wire, 0

    def next(self, body: bytes) -> Turn:
        self.count += 1
        if self.faults and (self.always or self.count <= len(self.faults)):
            return self.faults[min(self.count, len(self.faults)) - 1]
        return self.wire.good(body)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """How a turn went: its end, its events, what the tool was called with, and what other books say of the number of requests."""

    end: TurnFinished
    events: Sequence[Event]
    ran: Sequence[str]
    seconds: float
    used: int
    kept: int

    @property
    def attempts(self) -> list[Attempted]:
        return [event for event in self.events if isinstance(event, Attempted)]

    @property
    def results(self) -> list[ToolResult]:
        return [
            event.message
            for event in self.events
            if isinstance(event, Added) and isinstance(event.message, ToolResult)
        ]

    @property
    def steps(self) -> list[tuple[str, str]]:
        """Of each step that got its reply: what was left on the screen, and what the reply says."""
        found: list[tuple[str, str]] = []
        screen = ""
        for event in self.events:
            match event:
                case StepStarted() | ReplyRestarted():
                    screen = ""
                case TextDelta():
                    screen += event.text
                case Added(message=Assistant() as reply) if reply.usage.requests:
                    found.append((screen, reply.text))
                case _:
                    pass
        return found

    @property
    def voided(self) -> list[str]:
        """What was shown and then taken back."""
        return [event.void for event in self.events if isinstance(event, ReplyRestarted)]

    @property
    def logged(self) -> int:
        """The number of requests by what the log says of its replies."""
        return sum(
            event.message.usage.requests
            for event in self.events
            if isinstance(event, Added) and isinstance(event.message, Assistant)
        )

    @property
    def outcome(self) -> tuple[str, str, tuple[str, ...]]:
        """How it ended, the answer or the reason for none, and the calls that ran."""
        failure = self.end.failure
        return self.end.outcome, failure.reason if failure else self.end.text, tuple(self.ran)

    def hold(self, *servers: Faulty) -> None:
        """What must be true of every turn, whatever happened."""
        self.hold_but_for_servers()
        assert sum(server.count for server in servers) == self.used

    def hold_but_for_servers(self) -> None:
        assert self.seconds <= TOTAL + GRACE
        assert len(set(self.ran)) == len(self.ran)
        assert list(self.ran) == [
            json.loads(result.content)["result"].removeprefix("noted ")
            for result in self.results
            if not result.failed
        ]
        assert [screen for screen, _ in self.steps] == [said for _, said in self.steps]
        assert (
            self.used
            == self.kept
            == self.end.usage.requests
            == sum(event.usage.requests for event in self.attempts)
        )
        if self.end.outcome == "failed":
            assert self.end.failure is not None
            assert self.end.failure.message
            assert self.end.failure.message.isprintable()


ANSWERED = ("done", ANSWER, (WORD,))


@dataclass
class Place:
    """A user's home with two providers, and the network they are reached by."""

    environ: dict[str, str]
    models: Mapping[str, ScriptedModel] = field(default_factory=dict)
    http: httpx2.AsyncClient | None = None
    wire: Wire = CHAT
    fallback: bool = False
    second_key: bool = False
    addresses: dict[str, str] = field(
        default_factory=lambda: {"one": "http://one/v1", "two": "http://two/v1"}
    )
    model: dict[str, Any] = field(default_factory=dict)

    def write(self) -> None:
        home = Path(self.environ["HERMES_HOME"])
        home.mkdir(exist_ok=True)
        one = {
            "base_url": self.addresses["one"],
            "api_key_env": "ONE_KEY",
            "protocol": self.wire.name,
            "models": {"a": {"context_window": 50_000}},
        }
        two = {
            "base_url": self.addresses["two"],
            "api_key_env": "TWO_KEY",
            "models": {"b": {"context_window": 200_000}},
        }
        config = {
            "providers": {"one": one, "two": two},
            "model": {**LIMITS, **self.model},
            "fallback_providers": ["two/b"] if self.fallback else [],
        }
        (home / "config.yaml").write_bytes(msgspec.json.encode(config))
        if self.second_key:
            rows = [{"id": "x", "kind": "api_key", "label": "second", "secret": "k2", "priority": 20}]
            (home / "auth.json").write_bytes(msgspec.json.encode({"version": 1, "providers": {"one": rows}}))
            (home / "auth.json").chmod(0o600)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Runtime]:
        self.write()
        environ = {"ONE_KEY": key_for(self.wire), "TWO_KEY": "k3", **self.environ}
        async with open_runtime(environ=environ, http=self.http, ports=AT_ONCE) as runtime:
            yield runtime

    async def turn(self) -> Trial:
        """Open all of it, have one turn, and close it."""
        async with self.open() as runtime:
            return await turn(runtime)


def key_for(wire: Wire) -> str:
    """A key of the form that the wire takes; no request leaves this machine."""
    if wire.name != "bedrock_converse":
        return "k1"
    return msgspec.json.encode(
        {"access_key": "AKIDEXAMPLE", "secret_key": "not-a-secret", "region": "us-east-1"}
    ).decode()


async def turn(runtime: Runtime) -> Trial:
    """One turn of a session of its own."""
    ran: list[str] = []

    @hermes.tool
    async def note(word: str) -> str:
        """Note a word."""
        ran.append(word)
        return f"noted {word}"

    session = await runtime.session(SessionOptions(toolsets=(), functions=(note,), cwd=runtime.home.root))
    started = anyio.current_time()
    try:
        with session.watch() as listener:
            end = await session.send("What colour is the sky?")
            listener.close()
            events = [event async for event in listener]
        return Trial(
            end=end,
            events=events,
            ran=ran,
            seconds=anyio.current_time() - started,
            used=session.usage.requests,
            kept=await kept(runtime, session),
        )
    finally:
        await session.close()


async def kept(runtime: Runtime, session: Session) -> int:
    """What `hermes usage` will tell of the session's requests."""
    lines = await runtime.store.summary("session")
    return sum(one.usage.requests for one in lines if one.what == session.id)
