"""`hermes mcp serve`: real clients of both eras over stdio and HTTP, hostile ones, and a server that is killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from hermes.store.sqlite_store import open_store
from hermes.testing import ScriptedModel, ScriptedServer, Turn, call, say
from hermes.types.message import Assistant, User
from tests.apps.conftest import Run

pytestmark = pytest.mark.anyio
Era = Literal["legacy", "auto"]
OWN = [
    "sessions_list",
    "sessions_search",
    "session_read",
    "session_send",
    "questions_list",
    "question_answer",
]
eras = pytest.mark.parametrize("era", ["legacy", "auto"])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Place:
    """A home, a folder, and the words that start a server in them."""

    def __init__(self, environ: dict[str, str], work: Path) -> None:
        self.environ, self.work = environ, work

    def words(self, address: str, *more: str) -> list[str]:
        return ["-m", "hermes", "-m", "scripted", "--base-url", address, "mcp", "serve", *more]

    def client(self, address: str, *more: str, era: Era = "auto") -> Client:
        server = StdioServerParameters(
            command=sys.executable, args=self.words(address, *more), env=self.environ, cwd=self.work
        )
        return Client(server, mode=era)

    @contextmanager
    def program(self, address: str, *more: str, **streams: Any) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, *self.words(address, *more)]
        with subprocess.Popen(command, env=self.environ, cwd=self.work, **streams) as process:
            try:
                yield process
            finally:
                process.kill()

    @asynccontextmanager
    async def http(self, address: str, *more: str) -> AsyncIterator[str]:
        """The URL of a server whose token is `right`."""
        self.environ["HERMES_MCP_TOKEN"] = "right"
        with self.program(address, "--http", "0", *more, stderr=subprocess.PIPE) as process:
            assert process.stderr
            line = await anyio.to_thread.run_sync(process.stderr.readline)
            yield line.decode().split()[1]

    async def logs(self) -> list[list[tuple[str, str]]]:
        """What was said in each session."""
        home = Path(self.environ["HERMES_HOME"])
        async with open_store(home / "sessions.db", home / "search.db") as store:
            found = [await store.read(row.id) for row in await store.recent()]
        said = [[one for one in each.log if isinstance(one, User | Assistant)] for each in found]
        return [[(one.kind, one.text) for one in log] for log in said]


@pytest.fixture
def place(environ: dict[str, str], work: Path) -> Place:
    return Place(environ, work)


@asynccontextmanager
async def connected(url: str, era: Era = "auto", token: str = "right") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=era) as client,
    ):
        yield client


async def called(client: Client, name: str, /, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    return json.loads(result.content[0].text)  # type: ignore[union-attr]


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Wait for what another program does."""
    with anyio.fail_after(40):
        while not await is_so():  # noqa: ASYNC110
            await anyio.sleep(0.05)


async def talk(client: Client) -> None:
    """Begin a session, hear of its steps, and go on with it."""
    heard: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    first = await client.call_tool("session_send", {"text": "Hello"}, progress_callback=hear)
    told = json.loads(first.content[0].text)  # type: ignore[union-attr]
    number = told.pop("session_id")
    assert told == {"outcome": "done", "text": "Good day.", "refused": []}
    assert heard == ["step 1"]
    again = await called(client, "session_send", text="And?", session_id=number)
    assert again == {"session_id": number, "outcome": "done", "text": "That is all.", "refused": []}
    read = await called(client, "session_read", session_id=number)
    assert [(one["role"], one["text"]) for one in read["messages"]] == [
        ("user", "Hello"),
        ("assistant", "Good day."),
        ("user", "And?"),
        ("assistant", "That is all."),
    ]
    listed = await called(client, "sessions_list")
    assert [one["session_id"] for one in listed["sessions"]] == [number]
    found = await called(client, "sessions_search", words="day")
    assert [one["session_id"] for one in found["found"]] == [number]


@eras
async def test_a_client_of_the_standard_streams_talks_in_sessions_and_hears_of_progress(
    place: Place, era: Era
) -> None:
    with ScriptedServer(ScriptedModel("Good day.", "That is all.")).running() as server:
        async with place.client(server.base_url, era=era) as client:
            assert [one.name for one in (await client.list_tools()).tools] == OWN
            await talk(client)


@eras
async def test_clients_over_http_talk_in_sessions_two_at_once(place: Place, era: Era) -> None:
    with ScriptedServer(ScriptedModel("Good day.", "That is all.")).running() as server:
        async with place.http(server.base_url) as url, connected(url, era) as one, connected(url) as two:
            await talk(one)
            listed = await called(two, "sessions_list")
            assert [each["title"] for each in listed["sessions"]] == ["Hello"]


async def test_over_http_who_has_no_token_or_comes_from_elsewhere_is_refused(place: Place) -> None:
    async with place.http("http://127.0.0.1:9/v1") as url, httpx2.AsyncClient() as http:
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        right = {"authorization": "Bearer right", "accept": "application/json, text/event-stream"}
        refused = [
            {},
            {"authorization": "Bearer wrong"},
            {**right, "origin": "https://elsewhere.example"},
            {**right, "host": "elsewhere.example"},
        ]
        codes = [(await http.post(url, json=body, headers=one)).status_code for one in refused]
    assert codes == [401, 401, 403, 421]


async def test_over_http_a_token_is_made_and_told_where_none_is_given(place: Place) -> None:
    place.environ["HERMES_MCP_TOKEN"] = ""
    with place.program("http://127.0.0.1:9/v1", "--http", "0", stderr=subprocess.PIPE) as process:
        assert process.stderr
        lines = [await anyio.to_thread.run_sync(process.stderr.readline) for _ in range(2)]
        url, token = (line.decode().split()[-1] for line in lines)
        async with connected(url, token=token) as client:
            assert await called(client, "sessions_list") == {"sessions": []}


async def test_a_question_waits_for_the_client_and_for_no_other(place: Place, nothing_saved: None) -> None:
    (place.work / "plans").mkdir()
    model = ScriptedModel(call("terminal", {"command": "rm -rf plans"}), say("It stays."))
    with ScriptedServer(model).running() as server:
        async with place.http(server.base_url) as url, connected(url) as client:
            ended: list[Any] = []

            async def send() -> None:
                ended.append(await called(client, "session_send", text="Tidy up"))

            async with anyio.create_task_group() as group:
                group.start_soon(send)
                asked: list[Any] = []

                async def is_asked() -> bool:
                    asked[:] = (await called(client, "questions_list"))["questions"]
                    return bool(asked)

                await until(is_asked)
                async with place.client(server.base_url, "--name", "other") as other:
                    assert (await called(other, "questions_list")) == {"questions": []}
                    given = await called(other, "question_answer", question_id=asked[0]["id"], allow=True)
                    assert given == {"error": f"There is no open question {asked[0]['id']} for you."}
                assert (asked[0]["kind"], asked[0]["action"]) == ("approve", "rm -rf plans")
                answer = {"question_id": asked[0]["id"], "allow": False, "text": "keep it"}
                assert await called(client, "question_answer", **answer) == {"answered": True}
    assert (ended[0]["text"], (place.work / "plans").is_dir()) == ("It stays.", True)


async def test_tools_of_toolsets_run_in_an_unattended_session_and_what_needs_a_yes_is_refused(
    place: Place, nothing_saved: None
) -> None:
    (place.work / "plans").mkdir()
    async with place.client("http://127.0.0.1:9/v1", "--toolsets", "terminal") as client:
        names = [one.name for one in (await client.list_tools()).tools]
        assert names == [*OWN, "process", "terminal"]
        assert (await called(client, "terminal", command="cd plans; echo $0 | cat"))["exit_code"] == 0
        assert (await called(client, "terminal", command="pwd"))["output"] == f"{place.work}/plans\n"
        refused = await client.call_tool("terminal", {"command": "cd ..; rm -rf plans"})
        wrong = await called(client, "terminal", comand="ls")
    assert (refused.is_error, json.loads(refused.content[0].text)["status"]) == (True, "blocked")  # type: ignore[union-attr]
    assert wrong["error"].startswith("Invalid arguments for terminal: 'command' is a required property.")
    assert (place.work / "plans").is_dir()


SLOW = Turn(pieces=(b'data: {"choices":[{"delta":{"content":"Once "}}]}\n\n',) * 100, pause=0.3)


async def gives_up(client: Client, place: Place) -> None:
    with anyio.move_on_after(2):
        await called(client, "session_send", text="Tell a story")

    async def is_stopped() -> bool:
        return "stopped by the user" in str(await place.logs())

    await until(is_stopped)
    assert [one["title"] for one in (await called(client, "sessions_list"))["sessions"]]


@eras
async def test_a_client_that_gives_up_stops_the_turn(place: Place, era: Era) -> None:
    with ScriptedServer(ScriptedModel(SLOW)).running() as server:
        async with place.client(server.base_url, era=era) as client:
            await gives_up(client, place)


@eras
async def test_a_client_that_gives_up_over_http_stops_the_turn(place: Place, era: Era) -> None:
    with ScriptedServer(ScriptedModel(SLOW)).running() as server:
        async with place.http(server.base_url) as url, connected(url, era) as client:
            await gives_up(client, place)


async def test_over_http_garbage_and_bodies_without_an_end_stop_no_server(place: Place) -> None:
    async with place.http("http://127.0.0.1:9/v1") as url, httpx2.AsyncClient() as http:
        headers = {
            "authorization": "Bearer right",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
        }
        bodies = (b"garbage", b"\xff\xfe", b"[" * 100_000, b"{}", b"x" * (9 << 20))
        codes = [(await http.post(url, content=one, headers=headers)).status_code for one in bodies]
        assert [400 <= one < 500 for one in codes] == [True] * len(codes)
        async with connected(url) as client:
            assert await called(client, "sessions_list") == {"sessions": []}


async def test_a_client_goes_on_only_with_sessions_that_clients_began(place: Place, program: Run) -> None:
    with ScriptedServer(ScriptedModel("Mine.")).running() as server:
        program("-m", "scripted", "--base-url", server.base_url, "-z", "Whose?")
        async with place.client(server.base_url) as client:
            (own,) = (await called(client, "sessions_list"))["sessions"]
            sent = await called(client, "session_send", text="x", session_id=own["session_id"])
    why = f"Session {own['session_id']} was not begun here; a client can only read it."
    assert sent == {"error": why}


def hello(stream: IO[bytes], number: int = 1) -> None:
    """The first message of an older client."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    tell(stream, {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": about})
    tell(stream, {"jsonrpc": "2.0", "method": "notifications/initialized"})


def tell(stream: IO[bytes], message: dict[str, Any]) -> None:
    stream.write(json.dumps(message).encode() + b"\n")
    stream.flush()


PIPES: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}


def test_garbage_and_lines_without_an_end_stop_no_server_and_stdout_has_messages_alone(place: Place) -> None:
    with place.program("http://127.0.0.1:9/v1", "--toolsets", "terminal", **PIPES) as process:
        assert process.stdin
        assert process.stdout
        hello(process.stdin)
        for line in (
            b"garbage",
            b"\xff\xfe\x00",
            b"[" * 5000,
            b"{}",
            b"x" * (9 << 20),
            b'{"jsonrpc": "2.0"}',
        ):
            process.stdin.write(line + b"\n")
        asked = {"name": "terminal", "arguments": {"command": "echo out; echo err >&2; read x"}}
        tell(process.stdin, {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": asked})
        answers: list[dict[str, Any]] = []
        while not answers or answers[-1].get("id") != 7:
            answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert {one["jsonrpc"] for one in answers} == {"2.0"}
        assert json.loads(answers[-1]["result"]["content"][0]["text"])["output"] == "out\nerr\n"
        assert process.wait(20) == 0


@pytest.mark.parametrize("end", ["closes", "is gone", "is killed"])
async def test_sessions_are_whole_when_a_client_leaves_in_the_middle_or_the_server_is_killed(
    place: Place, end: str
) -> None:
    with ScriptedServer(ScriptedModel(SLOW, say("Back.", breaks_prefix=True))).running() as server:
        with place.program(server.base_url, **PIPES) as process:
            assert process.stdin
            hello(process.stdin)
            asked = {"name": "session_send", "arguments": {"text": "Tell a story"}}
            tell(process.stdin, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked})

            async def is_asked() -> bool:
                return bool(server.model.requests)

            await until(is_asked)
            if end == "is killed":
                os.kill(process.pid, signal.SIGKILL)
            else:
                process.stdin.close()
                if end == "is gone":
                    assert process.stdout
                    process.stdout.close()
                await anyio.to_thread.run_sync(process.wait, 20)
        (left,) = await place.logs()
        assert left[0] == ("user", "Tell a story")
        assert len(left) == (1 if end == "is killed" else 2)
        async with place.client(server.base_url) as client:
            (row,) = (await called(client, "sessions_list"))["sessions"]
            sent = await called(client, "session_send", text="Go on", session_id=row["session_id"])
    assert sent["text"] == "Back."


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_server_that_is_told_to_end_ends_its_turns_in_words(
    place: Place, number: signal.Signals
) -> None:
    place.environ["HERMES_MCP_TOKEN"] = "right"
    with (
        ScriptedServer(ScriptedModel(SLOW)).running() as server,
        place.program(server.base_url, "--http", "0", stderr=subprocess.PIPE) as process,
    ):
        assert process.stderr
        url = (await anyio.to_thread.run_sync(process.stderr.readline)).decode().split()[1]

        async def is_asked() -> bool:
            return bool(server.model.requests)

        async def send() -> None:
            with contextlib.suppress(Exception):
                async with connected(url) as client:
                    await called(client, "session_send", text="Tell a story")

        async with anyio.create_task_group() as group:
            group.start_soon(send)
            await until(is_asked)
            await anyio.sleep(1)  # the turn has heard the first words
            process.send_signal(number)
            await anyio.to_thread.run_sync(process.wait, 30)
            group.cancel_scope.cancel()
    ((_, last),) = await place.logs()
    assert "stopped by the user" in last[1]


def test_without_the_library_a_sentence_says_what_to_install(
    place: Place, program: Run, tmp_path: Path
) -> None:
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").write_text("raise ModuleNotFoundError('No module named mcp')\n")
    done = program("mcp", "serve", PYTHONPATH=str(tmp_path))
    checkout = Path(__file__).parents[2]
    words = f"hermes: mcp.server.lowlevel is not installed; run: {checkout}/scripts/extra mcp.\n"
    assert (done.returncode, done.stderr) == (2, words)
