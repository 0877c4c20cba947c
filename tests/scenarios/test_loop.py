"""The event loop is never blocked: what a flood of output and long results cost is paid elsewhere (invariant 38).

What is measured is the processor time that the loop's own thread takes between two turns of the loop, not the time on the wall: a busy
machine changes nothing about it."""

import gc
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import httpx2
import pytest

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.runtime import Runtime, open_runtime
from hermes.testing import call, say
from hermes.types.event import ToolProgress

pytestmark = pytest.mark.anyio

LONGEST = 0.020
STRETCH = 0.0004  # what `stretch` takes on the machine that the limit is meant for
WARM_UP = "yes needle | head -n 20000; echo; seq 2000"
LOG = 'for i in $(seq 300); do echo "2026-11-22 17:21:11 INFO worker[$i] request /api/v1/items/$i took $i ms status=200 user=alice$i"; done > log'
FLOOD = f"{LOG}; for i in $(seq 100); do cat log; done; tail -c 100000 log"


class Answering(httpx2.AsyncBaseTransport):
    """A model that runs what a user says after `run `, and otherwise says one thing."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        last = json.loads(await request.aread())["messages"][-1]
        runs = last["role"] == "user" and str(last["content"]).startswith("run ")
        turn = call("terminal", {"command": str(last["content"])[4:]}) if runs else say("Fine.")
        return httpx2.Response(200, headers=dict(turn.headers), content=b"".join(turn.pieces))


class Ticker:
    """The longest that the loop's thread computed between two turns of the loop."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        before = time.thread_time()
        while True:
            await anyio.lowlevel.checkpoint()
            now = time.thread_time()
            self.longest, before = max(self.longest, now - before), now


def stretch() -> float:
    """Processor seconds of a fixed piece of work, the median of 50: how fast this machine is just now."""
    taken = []
    for _ in range(50):
        begun = time.thread_time()
        sum(range(30_000))
        taken.append(time.thread_time() - begun)
    return sorted(taken)[25]


@asynccontextmanager
async def runtime(environ: dict[str, str]) -> AsyncIterator[Runtime]:
    http = httpx2.AsyncClient(transport=Answering())
    secrets = {f"KEY_{number}": f"sk-{number}-kf83jDk2mQp0xZ7vT4nB9wLs" for number in range(20)}
    async with open_runtime(environ={**environ, **secrets}, http=http) as opened:
        yield opened


async def talker(opened: Runtime, cwd: Path, *toolsets: str) -> Session:
    options = SessionOptions(
        toolsets=toolsets, cwd=cwd, base_url="http://own/v1", model="mine", attended=False
    )
    return await opened.session(options)


async def test_fifty_sessions_talk_while_one_floods(environ: dict[str, str], tmp_path: Path) -> None:
    shown: list[int] = []
    async with runtime(environ) as opened:
        flooding = await talker(opened, tmp_path, "terminal")
        talking = [await talker(opened, tmp_path) for _ in range(50)]
        await flooding.send(f"run {WARM_UP}")  # what is imported and compiled once
        await talking[0].send("hello")
        gc.collect()
        gc.freeze()  # the heap that other tests left is not walked while this one measures
        ticker, done = Ticker(), anyio.Event()

        async def look_on() -> None:
            with flooding.watch() as listener:
                async for event in listener:
                    shown.extend([len(event.text)] if isinstance(event, ToolProgress) else [])

        async def talk(session: Session, number: int) -> None:
            await anyio.sleep(number / 50)
            while not done.is_set():
                await session.send("hello")
                await anyio.sleep(0.5)

        async with anyio.create_task_group() as tasks:
            for number, session in enumerate(talking):
                tasks.start_soon(talk, session, number)
            tasks.start_soon(look_on)
            tasks.start_soon(ticker.run)
            await flooding.send("run sh flood.sh")
            done.set()
            await anyio.sleep(0.1)
            tasks.cancel_scope.cancel()
        gc.unfreeze()
    longest = LONGEST * max(1.0, stretch() / STRETCH)
    assert (ticker.longest < longest, 0 < sum(shown) < 1_000_000) == (True, True), (
        ticker.longest,
        sum(shown),
    )
