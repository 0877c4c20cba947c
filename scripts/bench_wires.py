"""The model layer beside the same by hand: each wire, the executor on its good path, the way to the next
endpoint.
"""

import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import httpx2
from bench_floor import Conversation

from hermes.agent.spec import SessionOptions
from hermes.models import client
from hermes.models.budget import Budget
from hermes.models.reliability.executor import RequestExecutor
from hermes.models.reliability.listener import ReplyListener
from hermes.models.reliability.route import Breakers, OneKey, Route, Target
from hermes.models.transports.registry import transport_for
from hermes.runtime import Runtime, open_runtime
from hermes.testing import ScriptedModel, fail, network, say
from hermes.types.event import Attempted
from hermes.types.message import User
from hermes.types.request import Endpoint, Request

SYSTEM = "You are a helpful assistant."


@asynccontextmanager
async def runtime(path: Path, url: str, wire: str) -> AsyncIterator[Runtime]:
    """A runtime on an empty home whose model speaks `wire`; the window is known, so that nothing is asked."""
    home = path / ".hermes"
    home.mkdir()
    (home / "config.yaml").write_text(
        json.dumps({"model": {"default": "m", "base_url": url, "protocol": wire, "context_window": 200_000}})
    )
    async with open_runtime(
        environ={"HOME": str(path), "HERMES_HOME": str(home), "PATH": os.defpath}
    ) as opened:
        yield opened


def options() -> SessionOptions:
    """A session without tools, so that both sides send the same."""
    return SessionOptions(toolsets=(), system=SYSTEM, attended=False)


async def _cpu(job: Callable[[], Awaitable[Any]]) -> float:
    started = time.process_time()
    await job()
    return time.process_time() - started


async def turns(wire: str, url: str, path: Path, text: str) -> list[tuple[int, float, float]]:
    """History, and processor milliseconds of a turn after it, ours and by hand."""
    found = []
    async with runtime(path, url, wire) as opened, httpx2.AsyncClient() as http:
        session = await opened.session(options())
        floor, done = Conversation(http, url, path / "floor.db", wire), 0
        for history in (50, 400):
            while done < history:
                await session.send(text)
                await floor.turn(text)
                done += 1
            pairs = [
                (await _cpu(partial(session.send, text)), await _cpu(partial(floor.turn, text)))
                for _ in range(25)
            ]
            done += 25
            ours, by_hand = (median(column) * 1e3 for column in zip(*pairs, strict=True))
            found.append((history, ours, by_hand))
        assert session.log[-1].kind == "assistant"
    return found


async def replies(wire: str, url: str, path: Path) -> tuple[float, float]:
    """Processor seconds of one reply, ours and by hand."""
    async with runtime(path, url, wire) as opened, httpx2.AsyncClient() as http:
        session = await opened.session(options())
        floor = Conversation(http, url, None, wire)
        await session.send("hi")
        await floor.turn("hi")
        pairs = [
            (await _cpu(partial(session.send, "hi")), await _cpu(partial(floor.turn, "hi"))) for _ in range(9)
        ]
    ours, by_hand = zip(*pairs, strict=True)
    return median(ours), median(by_hand)


def _ladder(http: httpx2.AsyncClient) -> RequestExecutor:
    return RequestExecutor(
        http=http, timeouts=client.Timeouts(), retries=4, now=time.time, monotonic=time.perf_counter,
        uniform=lambda low, _: low
    )  # fmt: skip


def _endpoint(host: str) -> Endpoint:
    return Endpoint(provider=host, base_url=f"http://{host}/v1", model="m", credential="k")


def _route(*hosts: str) -> Route:
    targets = [Target(endpoint=_endpoint(host), keys=OneKey("k")) for host in hosts]
    return Route(targets=targets, make=transport_for, breakers=Breakers(time.perf_counter))


async def good_path(count: int = 400) -> tuple[float, float]:
    """Microseconds of one reply through the executor, and of the same request sent without it."""
    model = ScriptedModel(*[say("hi", breaks_prefix=True)] * (count * 2 + 2))
    route, budget = _route("one"), Budget(name="turn")
    request = Request(
        endpoint=route.target.endpoint, system=SYSTEM, messages=(User(id="u", at=0.0, text="hi"),)
    )
    listener = ReplyListener(emit=lambda _: None, tell=lambda _: None, broken=lambda _: None)
    async with network({"one": model}) as http:
        executor = _ladder(http)
        transport = transport_for(request.endpoint)
        with_it, without = [], []
        for _ in range(count):
            with_it.append(await _wall(lambda: executor.stream(request, route, listener, budget)))
            without.append(
                await _wall(
                    lambda: client.send(
                        http,
                        transport.render(request),
                        transport.reader(request),
                        executor.timeouts,
                        listener.emit,
                    )
                )
            )
    return median(with_it) * 1e6, median(without) * 1e6


async def switching(count: int = 60) -> float:
    """Milliseconds from a refusal to the end of the request at the next endpoint, less what that request
    takes alone.
    """
    told: list[Attempted] = []
    listener = ReplyListener(emit=lambda _: None, tell=told.append, broken=lambda _: None)
    request = Request(endpoint=_endpoint("one"), system=SYSTEM, messages=(User(id="u", at=0.0, text="hi"),))
    spent = []
    for _ in range(count):
        async with network({"one": ScriptedModel(fail(402)), "two": ScriptedModel("hi")}) as http:
            wall = await _wall(
                partial(_ladder(http).stream, request, _route("one", "two"), listener, Budget(name="turn"))
            )
        spent.append((wall - told[-1].seconds - told[-2].seconds) * 1e3)
    return median(spent)


async def _wall(job: Callable[[], Awaitable[Any]]) -> float:
    started = time.perf_counter()
    await job()
    return time.perf_counter() - started
