"""No credential that the process knows is in anything that comes out of it (invariant 16)."""

import itertools
import json
import subprocess
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from msgspec.structs import replace

import hermes
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.composition import SYSTEM_PORTS
from hermes.models.reliability.route import OneKey
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, ScriptedServer
from hermes.testing.script import Turn, call, calls, fail, raw, say
from hermes.types.event import Event, TextDelta, ThinkingDelta, ToolProgress
from hermes.types.message import ToolResult
from tests.scenarios import canaries
from tests.scenarios.canaries import (
    DOTENV,
    FRESH,
    KEPT,
    LATER,
    PRINTED,
    SECRETS,
    all_shapes,
    everything,
    hits,
)
from tests.scenarios.wires import FAMILIES, Recorder, Said, extends

pytestmark = pytest.mark.anyio

CARRIERS = {"authorization", "proxy-authorization", "x-api-key"}
RENEWAL = "sign-in did not renew the sign-in: Refresh token [redacted] is not known. Sign in again with: hermes auth add one"
PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass
class Providers(httpx2.AsyncBaseTransport):
    """Model servers and a target to sign in; `sent` is every byte that came, but for the headers that carry credentials."""

    replies: deque[Turn] = field(default_factory=deque)
    sign_ins: deque[httpx2.Response] = field(default_factory=deque)
    sent: list[bytes] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "sign-in":
            return self.sign_ins.popleft()
        if request.method != "POST":
            return httpx2.Response(404)
        self.seen.append(request.headers.get("authorization", "").removeprefix("Bearer "))
        others = [f"{name}: {value}" for name, value in request.headers.items() if name not in CARRIERS]
        self.sent.append("\n".join([str(request.url), *others]).encode() + await request.aread())
        turn = self.replies.popleft()
        return httpx2.Response(turn.status, headers=dict(turn.headers), content=b"".join(turn.pieces))


@dataclass
class Talk:
    """What a session with secrets all around it did and told."""

    home: Path
    work: Path
    environ: dict[str, str]
    server: Providers = field(default_factory=Providers)
    events: list[Event] = field(default_factory=list)

    @asynccontextmanager
    async def open(self, **config: Any) -> AsyncIterator[Session]:
        tree = {**canaries.settle(self.home, self.work / "print-key"), **config}
        (self.home / "config.yaml").write_bytes(msgspec.json.encode(tree))
        ports = replace(SYSTEM_PORTS, uniform=lambda _low, _high: 0.0)
        async with open_runtime(
            environ=self.environ, http=httpx2.AsyncClient(transport=self.server), ports=ports
        ) as runtime:
            options = SessionOptions(
                toolsets=("terminal", "file"),
                functions=(give, stumble, heap),
                cwd=self.work,
                attended=False,
                yolo=True,
            )
            session = await runtime.session(options)
            with session.watch() as listener:
                yield session
                await session.close()
            self.events += [event async for event in listener]

    async def ask(self, session: Session, *replies: Turn) -> None:
        self.server.replies = deque(replies)
        await session.send("go on")
        assert not self.server.replies

    def leaks(self) -> Mapping[str, Mapping[str, int]]:
        """Where something came out, and how many secrets in which form."""
        sinks: dict[str, str | bytes] = {
            "events": repr(self.events),
            "text": "".join(event.text for event in self.events if isinstance(event, TextDelta)),
            "thinking": "".join(event.text for event in self.events if isinstance(event, ThinkingDelta)),
            "progress": "".join(event.text for event in self.events if isinstance(event, ToolProgress)),
            "requests": b"\n".join(self.server.sent),
            **dict(canaries.kept_elsewhere(self.home)),
        }
        found = {name: hits(value) for name, value in sinks.items()}
        return {name: Counter(form.name for form in forms) for name, forms in found.items() if forms}


@pytest.fixture
def talk(environ: dict[str, str], tmp_path: Path) -> Talk:
    work = tmp_path / "work"
    work.mkdir()
    for kind in ("", "raw", "base64"):
        (work / f"leak{kind}.txt").write_text("\n".join(everything(kind)))
    return Talk(
        home=Path(environ["HERMES_HOME"]), work=work, environ={**environ, **canaries.ENVIRON, "PATH": PATH}
    )


@hermes.tool
def give(what: str) -> dict[str, Any]:
    """Give it all, as data in data."""
    return {
        "what": what,
        "found": everything(),
        "again": json.dumps(everything("raw")),
        "by": dict.fromkeys(SECRETS, 1),
    }


@hermes.tool
def stumble(at: int) -> str:
    """Fail over a secret."""
    raise ValueError(f"cannot log in with {everything()[at]}")


@hermes.tool
def heap(lines: int) -> str:
    """More than a model can take."""
    return "\n".join(["x" * 70] * lines + everything() + ["y" * 70] * lines)


def in_words(size: int) -> Turn:
    return say("\n".join(everything()), size=size, thinking="I see " + "\n".join(everything()))


async def test_what_tools_print_is_shown_sent_and_kept_without_secrets(talk: Talk) -> None:
    slowly = "; ".join(
        f"head -c {size} leakraw.txt | tail -c 25; sleep 0.002" for size in range(25, 3000, 25)
    )
    async with talk.open() as session:
        await talk.ask(session, call("terminal", {"command": "cat leak.txt"}), say("done"))
        await talk.ask(session, call("terminal", {"command": slowly}), say("done"))
        await talk.ask(session, call("terminal", {"command": "env; export -p; printenv; set"}), say("done"))
        await talk.ask(
            session,
            calls(("read_file", {"path": "leak.txt", "limit": 2000}), ("give", {"what": "x"})),
            say("done"),
        )
        await talk.ask(session, call("search_files", {"pattern": ".", "path": "leakraw.txt"}), say("done"))
        await talk.ask(
            session, *[call("stumble", {"at": at}) for at in range(0, len(everything()), 25)], say("done")
        )
        await talk.ask(session, call("heap", {"lines": 2000}), say("done"))
        await talk.ask(
            session, call("terminal", {"command": "seq 30000; cat leak.txt; seq 30000"}), say("done")
        )
        await talk.ask(
            session, call("terminal", {"command": "cat leak.txt; sleep 5", "background": True}), say("done")
        )
        (process,) = [one.id for one in session.workspace.processes.list()]
        asked: list[dict[str, Any]] = [
            {"action": "wait", "timeout": 1},
            {"action": "log", "limit": 5000},
            {"action": "poll"},
            {"action": "kill"},
        ]
        await talk.ask(
            session, *[call("process", {"session_id": process, **one}) for one in asked], say("done")
        )
    assert talk.leaks() == {}


async def test_the_secrets_of_a_workspace_are_known_and_a_broken_file_of_them_stops_nothing(
    talk: Talk,
) -> None:
    own = canaries.made("workspace", 20)
    (talk.work / ".env").write_text(f"SHOP_PASSWORD={own}\nPORT=8080\n")
    (talk.work / "copy.txt").write_text(f"{own}\n{own[::-1]}\n8080\n")
    async with talk.open() as session:
        await talk.ask(session, call("terminal", {"command": "cat copy.txt"}), say("done"))
        (result,) = [message.content for message in session.log if isinstance(message, ToolResult)]
    assert json.loads(result)["output"] == "[redacted]\n[redacted]\n8080\n"
    (talk.work / ".env").write_bytes(b"\xff\xfe\0=")
    async with talk.open() as session:
        await talk.ask(session, say("done"))


async def test_a_secret_that_a_model_repeats_in_pieces_is_not_shown_and_not_kept(talk: Talk) -> None:
    async with talk.open() as session:
        for size in (1, 3, 11, 10_000):
            await talk.ask(session, in_words(size))
    assert talk.leaks() == {}


async def test_what_servers_say_of_secrets_in_their_errors_goes_nowhere(talk: Talk) -> None:
    lines = everything()
    pages = ["\n".join(lines[at : at + 12]) for at in range(0, len(lines), 12)]
    bodies = [fail(400, page[:450]) for page in pages]
    odd = [
        fail(400, "x", headers={"x-secret": SECRETS[0]}),
        replace(
            fail(400, ""),
            pieces=(f"<html>{pages[0]}</html>".encode(),),
            headers={"content-type": "text/html"},
        ),
        replace(fail(400, ""), pieces=(pages[1].encode(),), headers={"content-type": "text/plain"}),
        raw(
            b"data: "
            + json.dumps({"error": {"message": f"bad key {KEPT['first']}", "code": 400}}).encode()
            + b"\n\n"
        ),
        raw(f"<html>{SECRETS[3]}".encode(), content_type="text/html"),
        raw(f"{{{SECRETS[4]}".encode(), content_type="application/json"),
        raw(f"data: {SECRETS[5]}\n\n".encode()),
    ]
    async with talk.open(model={"default": "one/m", "max_retries": 0}) as session:
        for turn in (*bodies, *odd):
            await talk.ask(session, turn)
    assert talk.leaks() == {}


async def test_keys_that_are_refused_in_turn_are_not_repeated(talk: Talk) -> None:
    """The key of the environment, those of auth.json, and a sign-in whose renewal is refused with its own words."""
    refusal = {
        "error": "invalid_grant",
        "error_description": f"Refresh token {KEPT['other refresh']} is not known.",
    }
    talk.server.sign_ins.append(httpx2.Response(400, json=refusal))
    keys = (DOTENV["ONE_API_KEY"], KEPT["first"], KEPT["second"], KEPT["spare"])
    async with talk.open(model={"default": "one/m", "max_retries": 0}) as session:
        await talk.ask(session, *[fail(401, f"Incorrect key {key}") for key in keys])
    assert talk.server.seen == list(keys)
    assert talk.leaks() == {}
    errors = [
        row["last_error"] for row in json.loads((talk.home / "auth.json").read_text())["providers"]["one"]
    ]
    assert errors == [*["Incorrect key [the key]"] * 3, RENEWAL, "Incorrect key [the key]"]


async def test_what_a_sign_in_and_a_command_gave_is_known_from_then_on(talk: Talk) -> None:
    fresh = {"access_token": FRESH["access"], "refresh_token": FRESH["refresh"], "expires_in": 3600}
    talk.server.sign_ins.append(httpx2.Response(200, json=fresh))
    later = "\n".join(form.text for form in all_shapes(*LATER))
    (talk.work / "later.txt").write_text(later)
    async with talk.open(model={"default": "two/m", "max_retries": 0}) as session:
        await talk.ask(
            session,
            fail(402, f"no money for {PRINTED}"),
            fail(402, f"none for {FRESH['access']} and {FRESH['refresh']}"),
        )
        assert talk.server.seen == [PRINTED, FRESH["access"]]
        session.route.targets[0].keys = OneKey("another key")
        await talk.ask(
            session, call("terminal", {"command": "cat later.txt"}), say(later, size=5, thinking=later)
        )
    assert talk.leaks() == {}


@pytest.mark.parametrize("wire", FAMILIES)
async def test_no_wire_gets_back_what_its_model_repeated(talk: Talk, wire: str) -> None:
    """Signed reasoning and the wire's own items included; the next requests extend the one before all the same."""
    said = "\n".join(everything("raw"))
    server, model = Recorder(wire), FAMILIES[wire]
    settings = canaries.settle(talk.home, talk.work / "print-key")
    one = {**settings["providers"]["one"], "protocol": wire}
    (talk.home / "config.yaml").write_bytes(
        msgspec.json.encode({**settings, "providers": {"one": one}, "model": {"default": f"one/{model}"}})
    )
    async with open_runtime(environ=talk.environ, http=httpx2.AsyncClient(transport=server)) as runtime:
        session = await runtime.session(
            SessionOptions(toolsets=(), functions=(give,), cwd=talk.work, attended=False)
        )
        with session.watch() as listener:
            server.replies = deque(
                [
                    Said(said, (("give", {"what": "x"}),), thinking=said),
                    Said("well", thinking=said),
                    Said(said),
                    Said("bye"),
                ]
            )
            ends = [await session.send(text) for text in ("go", "on", "and on")]
            await session.close()
        talk.events = [event async for event in listener]
    talk.server.sent = server.bodies
    assert [end.outcome for end in ends] == ["done"] * 3
    assert [extends(wire, before, after) for before, after in itertools.pairwise(server.bodies)] == [True] * 3
    assert talk.leaks() == {}


def test_the_command_line_prints_no_secret(talk: Talk) -> None:
    """Programs that show what is kept, over a server that repeats what it is told."""
    settings = canaries.settle(talk.home, talk.work / "print-key")
    replies = [
        call("terminal", {"command": "cat leak.txt"}),
        fail(429, f"slow down, {KEPT['first']}"),
        in_words(7),
    ]
    script = [replace(turn, headers={**turn.headers, "retry-after": "0"}) for turn in replies]
    with ScriptedServer(ScriptedModel(*script)).running() as server:
        settings["providers"]["one"]["base_url"] = server.base_url
        (talk.home / "config.yaml").write_bytes(msgspec.json.encode(settings))
        printed = [hermes_says(talk, "-z", "go on", "--json", "--yolo")]
    shows = (
        ("sessions", "show"),
        ("sessions", "export", "--format", "jsonl"),
        ("auth", "list"),
        ("config", "list"),
        ("doctor",),
    )
    printed += [hermes_says(talk, *words) for words in shows]
    assert [len(one) > 20 for one in printed] == [True] * 6
    assert [Counter(form.name for form in hits(one)) for one in printed] == [Counter()] * 6
    assert [Counter(form.name for form in hits(json.dumps(one))) for one in server.model.requests] == [
        Counter()
    ] * 3
    assert talk.leaks() == {}


def hermes_says(talk: Talk, *words: str) -> bytes:
    """What a program writes on both streams."""
    command = [sys.executable, "-m", "hermes", *words]
    done = subprocess.run(
        command,
        cwd=talk.work,
        env=talk.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=170,
        check=False,
    )
    return done.stdout + done.stderr
