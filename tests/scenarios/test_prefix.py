"""What a provider has read once is sent again byte for byte, on every wire, whatever happens in between (invariant 10)."""

import base64
import itertools
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
import msgspec
import pytest
from msgspec.structs import replace

import hermes
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.composition import SYSTEM_PORTS
from hermes.runtime import Runtime, open_runtime
from hermes.tools.registry import registry, tool_result
from hermes.types.event import Attempted, Event, PrefixBroken
from hermes.types.message import Attachment
from tests.scenarios.wires import FAMILIES, PRICED, Recorder, Said, extends

pytestmark = pytest.mark.anyio

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n not really").decode()
PICTURE = Attachment(media_type="image/png", data=PNG, name="a.png")
TURNS = 50
CHILD = b"# Task\\n\\ncount the stars"
"""What stands in the requests of a child, which are of another session."""
KEYS = {"ONE_KEY": "first-key-of-one", "PATH": "/usr/bin:/bin"}


@hermes.tool(outside=False)
def look(at: str) -> str:
    """Look at something."""
    return f"I see {at}."


@hermes.tool(outside=False)
def stumble() -> str:
    """Fail."""
    raise ValueError("it is dark")


@dataclass
class Talk:
    """A session on one wire, and what it sent and told."""

    wire: str
    environ: dict[str, str]
    server: Recorder
    now: float = 1_700_000_000.0
    told: list[Event] = field(default_factory=list)
    resumed: str = ""

    @asynccontextmanager
    async def open(self, **config: Any) -> AsyncIterator[tuple[Runtime, Session]]:
        """Start the process, with these changes to its settings, on the same session."""
        home = Path(self.environ["HERMES_HOME"])
        home.mkdir(exist_ok=True)
        (home / "config.yaml").write_bytes(msgspec.json.encode({**self._config(), **config}))
        ports = replace(SYSTEM_PORTS, now=lambda: self.now, uniform=lambda _low, _high: 0.0)
        http = httpx2.AsyncClient(transport=self.server)
        async with open_runtime(environ={**self.environ, **KEYS}, http=http, ports=ports) as runtime:
            options = SessionOptions(
                toolsets=("terminal", "memory", "delegation"),
                functions=(look, stumble),
                cwd=home.parent,
                attended=False,
                yolo=True,
                resume=self.resumed,
            )
            session = await runtime.session(options)
            self.resumed = session.id
            with session.watch() as listener:
                yield runtime, session
                await session.close()
            self.told += [event async for event in listener]

    def _config(self) -> dict[str, Any]:
        model = FAMILIES[self.wire]
        one = {
            "base_url": "http://one/v1",
            "protocol": self.wire,
            "api_key_env": "ONE_KEY",
            "models": {model: {"price": PRICED}},
        }
        two = {
            "base_url": "http://two/v1",
            "protocol": self.wire,
            "api_key_env": "ONE_KEY",
            "models": {f"{model}-b": {"price": PRICED}},
        }
        return {
            "providers": {"one": one, "two": two},
            "model": {"default": f"one/{model}"},
            "terminal": {"sandbox": "off"},
        }

    @property
    def breaks(self) -> list[PrefixBroken]:
        """The breaks that were told."""
        return [event for event in self.told if isinstance(event, PrefixBroken)]

    @property
    def unannounced(self) -> list[int]:
        """The numbers of requests that do not extend the one before them."""
        every = zip(self.server.addresses, self.server.bodies, strict=True)
        sent = [one for one in every if CHILD not in one[1]]
        pairs = enumerate(itertools.pairwise(sent), start=1)
        return [
            number
            for number, (old, new) in pairs
            if old[0] != new[0] or not extends(self.wire, old[1], new[1])
        ]

    def second_key(self) -> None:
        """Put another key of the provider in auth.json."""
        home = Path(self.environ["HERMES_HOME"])
        home.mkdir(exist_ok=True)
        rows = [
            {"id": "x", "kind": "api_key", "label": "second", "secret": "second-key-of-one", "priority": 20}
        ]
        (home / "auth.json").write_bytes(msgspec.json.encode({"version": 1, "providers": {"one": rows}}))
        (home / "auth.json").chmod(0o600)


@pytest.fixture(params=FAMILIES)
def talk(request: pytest.FixtureRequest, environ: dict[str, str]) -> Talk:
    return Talk(wire=request.param, environ=environ, server=Recorder(request.param))


async def stopped(session: Session) -> Said:
    """The user stops the turn while the server thinks."""
    session.interrupt()
    await anyio.sleep_forever()
    raise AssertionError


async def steered(session: Session) -> Said:
    """The user speaks while the model does; the note rides on the next result."""
    session.steer("hurry up")
    return Said(calls=(("look", {"at": "the clock"}),))


async def late(talk: Talk) -> Said:
    """It is tomorrow when the reply comes."""
    talk.now += 86_400
    return Said(calls=(("look", {"at": "the calendar"}),))


async def ended(session: Session) -> Said:
    """The background process has ended before the reply comes."""
    with anyio.fail_after(5):
        while not any(  # noqa: ASYNC110  # it is another process
            one.code is not None for one in session.workspace.processes.list()
        ):  # it is another process
            await anyio.sleep(0.01)
    return Said(calls=(("look", {"at": "the process"}),))


def odd(talk: Talk, session: Session) -> dict[int, list[Any]]:
    """What happens before the last reply of a turn, by the last digit of its number; none of it may touch what was sent before."""
    start = ("terminal", {"command": "true", "background": True, "notify_on_complete": True})
    noted = {"target": "memory", "action": "add", "content": f"The sky was blue at {talk.now}."}
    return {
        0: [
            Said(calls=(("memory", noted),)),
            Said(calls=(("delegate_task", {"goal": "count the stars"}),)),
            Said("There are nine."),
        ],
        1: [
            Said(
                "Both.",
                (("look", {"at": "a", "n": 1.0, "m": {"z": 1e30, "a": [None]}}), ("look", {"at": 'ü\n"'})),
                "Two.",
            )
        ],
        2: [Said(calls=(("stumble", {}),)), Said(calls=(("nothing", {}), ("look", {"wrong": 1})))],
        3: [lambda: steered(session)],
        5: [Said("try later", status=503), Said("again", status=500)],
        6: [Said("bad key", status=401)],
        7: [Said(calls=(("look", {"at": "a"}),)), lambda: stopped(session)],
        8: [lambda: late(talk)],
        9: [Said(calls=(start,)), lambda: ended(session)],
    }


def script(number: int, talk: Talk, session: Session) -> list[Any]:
    """The replies of one turn; the seventh of ten has no last one."""
    last = [] if number % 10 == 7 else [Said(f"Turn {number} is done, ü 🎉.", thinking='Hm, "so"\n…')]
    return [*odd(talk, session).get(number % 10, []), *last]


async def converse(talk: Talk, session: Session, numbers: range) -> None:
    for number in numbers:
        talk.server.replies = deque(script(number, talk, session))
        await session.send(f"turn {number}", attachments=(PICTURE,) if number % 10 == 4 else ())
        assert not talk.server.replies


@contextmanager
def another_tool() -> Iterator[None]:
    schema = {
        "name": "aardvark",
        "description": "First in every list.",
        "parameters": {"type": "object", "properties": {}},
    }
    registry.register(
        name="aardvark",
        toolset="terminal",
        schema=schema,
        handler=lambda _args, **_keywords: tool_result(ok=True),
    )
    try:
        yield
    finally:
        registry.deregister("aardvark")


def by_hand(home: Path) -> None:
    """Somebody changes what a new session would be told."""
    (home / "memories" / "MEMORY.md").write_text("The sky was red.")
    (home / "SOUL.md").write_text("You are a pirate.")
    (home.parent / "AGENTS.md").write_text("Write tests first.")


async def test_over_fifty_turns_of_a_session_each_request_extends_the_one_before_byte_for_byte(
    talk: Talk,
) -> None:
    talk.second_key()
    async with talk.open() as (_, session):
        await converse(talk, session, range(1, 15))
        with another_tool():
            await converse(talk, session, range(15, 25))
        by_hand(Path(talk.environ["HERMES_HOME"]))
    edited = {
        "agent": {"max_turns": 30, "disabled_toolsets": ["terminal"]},
        "toolsets": ["todo"],
        "terminal": {"sandbox": "off", "cwd": "/"},
    }
    with another_tool():
        async with talk.open(**edited) as (_, session):
            await converse(talk, session, range(25, TURNS + 1))
    assert len(talk.server.bodies) > 80
    assert len(set(talk.server.keys)) == 2
    assert (talk.unannounced, talk.breaks) == ([], [])
    assert (Path(talk.environ["HERMES_HOME"]) / "memories" / "MEMORY.md").read_text().count("blue") == 3
    children = len([body for body in talk.server.bodies if CHILD in body])
    attempts = len([event for event in talk.told if isinstance(event, Attempted)])
    assert (children, attempts) == (TURNS // 10, len(talk.server.bodies) - children)


async def test_a_tool_result_is_repeated_with_its_news_and_notes(talk: Talk) -> None:
    """The turns above would prove little if what is odd about them never reached the server."""
    talk.second_key()
    async with talk.open() as (_, session):
        await converse(talk, session, range(1, 10))
    last = talk.server.bodies[-1]
    assert all(
        words in last
        for words in (b"hurry up", b"it is dark", b"stopped by the user", b"Background process", PNG.encode())
    )


async def send(
    talk: Talk, session: Session, text: str, *replies: Said, attachments: tuple[Attachment, ...] = ()
) -> None:
    talk.server.replies = deque(replies)
    await session.send(text, attachments=attachments)


async def test_an_undo_is_one_break_with_its_price(talk: Talk) -> None:
    async with talk.open() as (_, session):
        for number in range(3):
            await send(talk, session, f"turn {number}", Said("ok"))
        await session.undo()
        for number in range(3):
            await send(talk, session, f"other turn {number}", Said("ok"))
    assert talk.unannounced == [3]
    assert talk.breaks == [PrefixBroken(reason="earlier messages were dropped or summed up", cost=0.01)]


async def test_a_switch_of_the_model_is_one_break_with_its_price(talk: Talk) -> None:
    model = FAMILIES[talk.wire]
    async with talk.open() as (runtime, session):
        await send(talk, session, "hi", Said("ok"))
        await session.switch_model(runtime.endpoint(f"two/{model}-b"))
        await send(talk, session, "still there?", Said(calls=(("look", {"at": "a"}),)), Said("ok"))
    assert talk.unannounced == [1]
    assert [(event.reason, bool(event.cost)) for event in talk.breaks] == [
        (f"the model is two/{model}-b now", True)
    ]


async def test_a_fallback_is_one_break_and_the_way_back_another(talk: Talk) -> None:
    model = FAMILIES[talk.wire]
    async with talk.open(fallback_providers=[f"two/{model}-b"]) as (_, session):
        await send(talk, session, "hi", Said("ok"))
        await send(
            talk,
            session,
            "again",
            Said("pay first", status=402),
            Said(calls=(("look", {"at": "a"}),)),
            Said("ok"),
        )
        await send(talk, session, "home", Said("ok"))
    assert talk.unannounced == [2, 4]
    assert talk.breaks == [
        PrefixBroken(reason=f"the model is two/{model}-b now", cost=0.01),
        PrefixBroken(reason=f"the model is one/{model} now", cost=0.01),
    ]


async def test_a_part_that_the_server_refuses_is_one_break(talk: Talk) -> None:
    async with talk.open() as (_, session):
        await send(talk, session, "hi", Said("ok"))
        await send(
            talk,
            session,
            "see",
            Said("This model does not support image input", status=400),
            Said("ok"),
            attachments=(PICTURE,),
        )
        await send(talk, session, "again", Said("ok"))
    assert talk.unannounced == [2]
    assert talk.breaks == [PrefixBroken(reason="the server refused a part of the request: images", cost=0.01)]


async def test_the_limit_of_a_turn_and_its_summary_break_nothing(talk: Talk) -> None:
    look = Said(calls=(("look", {"at": "a"}),))
    async with talk.open(agent={"max_turns": 1}) as (_, session):
        await send(talk, session, "hi", look, look, Said("enough"))
        await send(talk, session, "again", Said("ok"))
    assert (talk.unannounced, talk.breaks) == ([], [])


async def test_without_a_price_a_break_has_no_cost(talk: Talk) -> None:
    async with talk.open(
        providers={"one": {"base_url": "http://one/v1", "protocol": talk.wire, "api_key_env": "ONE_KEY"}}
    ) as (_, session):
        await send(talk, session, "hi", Said("ok"))
        await session.undo()
        await send(talk, session, "ho", Said("ok"))
    assert [event.cost for event in talk.breaks] in ([None], [pytest.approx(0.003, rel=0.9)])
