"""Words of a session go to nobody the user did not choose for it, whatever keys there are (invariant 34)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

import anyio
import httpx2
import msgspec
import pytest

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.models.catalog.catalogue import providers
from hermes.models.side_calls import SideQuestion, Task
from hermes.runtime import Runtime, open_runtime
from hermes.testing import say

pytestmark = pytest.mark.anyio

KEYS = {name: f"key-of-{name}" for one in providers().values() for name in one.keys}
SUM_UP = SideQuestion(instructions="Sum up.", text="what only we may read")


class Recorded(httpx2.AsyncBaseTransport):
    """A network in which every host answers; `hosts` are those of all requests, `words` of those that say something."""

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self.words: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.hosts.append(request.url.host)
        self.words += [request.url.host] if request.method == "POST" else []
        turn = say("Fine.")
        return httpx2.Response(200, headers=dict(turn.headers), content=b"".join(turn.pieces))


@asynccontextmanager
async def session_on_an_own_server(
    environ: dict[str, str], network: Recorded, **config: object
) -> AsyncIterator[tuple[Runtime, Session]]:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_bytes(msgspec.json.encode(config))
    http = httpx2.AsyncClient(transport=network)
    async with open_runtime(environ={**KEYS, **environ}, http=http) as runtime:
        session = await runtime.session(
            SessionOptions(toolsets=(), cwd=home, base_url="http://own/v1", model="mine", attended=True)
        )
        yield runtime, session
        await session.close()


async def test_turns_titles_and_every_side_task_ask_the_session_s_own_server(
    environ: dict[str, str],
) -> None:
    network = Recorded()
    async with session_on_an_own_server(environ, network) as (_, session):
        await session.send("a private matter")
        for task in get_args(Task):
            await session.ask_aside(task, SUM_UP)
        await anyio.wait_all_tasks_blocked()
    assert network.hosts
    assert set(network.hosts) == {"own"}


async def test_a_side_task_that_fails_at_home_goes_nowhere_else(environ: dict[str, str]) -> None:
    seen: list[str] = []

    class Refusing(Recorded):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            seen.append(request.url.host)
            return httpx2.Response(404, json={"error": {"message": "no such model"}})

    async with session_on_an_own_server(environ, Refusing()) as (_, session):
        assert {await session.ask_aside(task, SUM_UP) for task in get_args(Task)} == {None}
    assert set(seen) == {"own"}


async def test_a_provider_that_the_settings_name_for_a_task_is_asked_for_that_task_alone(
    environ: dict[str, str],
) -> None:
    network = Recorded()
    named = {"approval": {"provider": "openrouter", "model": "x/y"}}
    async with session_on_an_own_server(environ, network, auxiliary=named) as (_, session):
        for task in get_args(Task):
            await session.ask_aside(task, SUM_UP)
    assert network.words.count("openrouter.ai") == 1
    assert set(network.hosts) == {"own", "openrouter.ai"}


async def test_a_list_of_providers_opts_in_to_asking_them(environ: dict[str, str]) -> None:
    network = Recorded()
    async with session_on_an_own_server(environ, network, auxiliary={"chain": ["deepseek"]}) as (_, session):
        await session.ask_aside("title", SUM_UP)
    assert network.words == ["api.deepseek.com"]
