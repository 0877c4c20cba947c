"""What a command declares is asked for, given by the yes, and nothing else; what it lacked is told in a sentence."""

import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from hermes.agent.session import Session
from hermes.testing import ScriptedModel, call, say
from hermes.types.event import Asked
from hermes.types.message import ToolCall, ToolResult
from hermes.types.question import Approve, Grant

from .conftest import Talk

pytestmark = pytest.mark.anyio


def results(session: Session) -> list[dict[str, Any]]:
    return [json.loads(message.content) for message in session.log if isinstance(message, ToolResult)]


async def granted(session: Session, answer: Grant) -> list[Approve]:
    """Run a turn, with one answer to all that is asked; the questions."""
    asked: list[Approve] = []
    async with session.stream("go") as stream:
        async for event in stream:
            if isinstance(event, Asked):
                assert isinstance(event.question, Approve)
                asked.append(event.question)
                assert session.answer(event.id, answer)
    return asked


async def test_a_folder_outside_is_written_after_a_yes_and_only_that_one(talk: Talk, tmp_path: Path) -> None:
    near, far = tmp_path / "near", tmp_path / "far"
    near.mkdir()
    far.mkdir()
    command = f"echo x > {near}/a; echo y > {far}/b; echo z > /usr/z"
    model = ScriptedModel(
        call("terminal", {"command": command}),
        call("terminal", {"command": command, "needs": {"paths": ["../near"]}}),
        say("ok"),
    )
    async with talk(model, toolsets=("terminal",)) as session:
        (question,) = await granted(session, Grant())
    without, with_it = results(session)
    assert (without["exit_code"], sorted(tmp_path.glob("*/[ab]"))) == (1, [near / "a"])
    assert 'writing there: needs {"paths": ["…"]}' in without["denied"]
    assert question.reasons == (f"it asks to write in {near}",)
    assert question.session_pattern == f"{tmp_path / 'work'}$ {command} {{needs path {near}}}"
    assert (with_it["exit_code"], far.joinpath("b").exists()) == (1, False)


SEND: Final = call("terminal", {"command": "sh send > log", "needs": {"paths": ["../near"]}})


async def test_a_yes_to_a_script_that_needs_more_is_none_to_what_it_is_by_then(
    talk: Talk, tmp_path: Path
) -> None:
    near, script = tmp_path / "near", tmp_path / "work" / "send"
    near.mkdir()
    script.write_text(f"echo a > {near}/a\n")
    async with (
        talk(ScriptedModel(SEND, say("ok")), toolsets=("terminal",)) as session,
        session.stream("go") as stream,
    ):
        async for event in stream:
            if isinstance(event, Asked):
                script.write_text(f"echo b > {near}/b\n")
                session.answer(event.id, Grant())
    (result,) = results(session)
    assert ("changed while this was decided" in result["error"], list(near.iterdir())) == (True, [])


@pytest.mark.parametrize(
    "command",
    ['sh "se"nd', "sh s*d", "sh sen[[:alpha:]]", 'sh "$PWD/send"', "D=sen; sh ${D}d", "cd ../w*; sh send"],
)
async def test_it_is_bound_to_the_file_however_its_name_is_spelled(
    talk: Talk, tmp_path: Path, command: str
) -> None:
    near, script = tmp_path / "near", tmp_path / "work" / "send"
    near.mkdir()
    script.write_text(f"echo a > {near}/a\n")
    model = ScriptedModel(call("terminal", {"command": command, "needs": {"paths": ["../near"]}}), say("ok"))
    async with (
        talk(model, toolsets=("terminal",)) as session,
        session.stream("go") as stream,
    ):
        async for event in stream:
            if isinstance(event, Asked):
                script.write_text(f"echo b > {near}/b\n")
                session.answer(event.id, Grant())
    (result,) = results(session)
    assert ("changed while this was decided" in result.get("error", ""), list(near.iterdir())) == (True, [])


async def test_a_lasting_yes_to_a_script_that_needs_more_is_for_what_is_in_it(
    talk: Talk, tmp_path: Path
) -> None:
    near, script = tmp_path / "near", tmp_path / "work" / "send"
    near.mkdir()
    script.write_text("echo a\n")
    change = call("terminal", {"command": "echo 'echo b' > send"})
    model = ScriptedModel(SEND, SEND, change, SEND, say("ok"))
    async with talk(model, toolsets=("terminal",)) as session:
        asked = await granted(session, Grant(scope="session"))
    assert ([one.command for one in asked], results(session)[1]["exit_code"]) == (["sh send > log"] * 2, 0)


async def test_where_nobody_is_asked_what_is_declared_is_refused_and_the_rest_runs(talk: Talk) -> None:
    model = ScriptedModel(
        call("terminal", {"command": "id", "needs": {"unconfined": True}}),
        call("terminal", {"command": "id", "needs": {"hosts": ["example.org"]}}),
        call("terminal", {"command": "id -u"}),
        say("ok"),
    )
    async with talk(model, toolsets=("terminal",), attended=False) as session:
        await session.send("go")
    first, second, third = results(session)
    assert "it asks to run id outside the sandbox" in first["error"]
    assert "it asks for the network, to reach example.org" in second["error"]
    assert (third["exit_code"], third["error"]) == (0, None)


async def test_a_network_error_in_the_sandbox_says_what_to_declare(talk: Talk) -> None:
    code = 'import socket; socket.create_connection(("example.org", 443))'
    model = ScriptedModel(call("terminal", {"command": f"python3 -c '{code}'"}), say("ok"))
    async with talk(model, toolsets=("terminal",)) as session:
        await session.send("go")
    (result,) = results(session)
    assert 'the network: needs {"hosts": ["…"]} or {"network": true}' in result["denied"]


async def test_where_nobody_can_say_yes_no_failure_tells_to_declare_anything(talk: Talk) -> None:
    model = ScriptedModel(call("terminal", {"command": "touch /usr/x"}), say("ok"))
    async with talk(model, toolsets=("terminal",), attended=False) as session:
        await session.send("go")
    (result,) = results(session)
    assert result["denied"] == (
        "The sandbox may have kept this from writing there, which this session cannot have: do without it."
    )


async def test_what_is_no_need_at_all_is_called_an_error_and_no_refusal(talk: Talk) -> None:
    model = ScriptedModel(call("terminal", {"command": "id", "needs": {"hosts": ["bad host!"]}}), say("ok"))
    async with talk(model, toolsets=("terminal",)) as session:
        await session.send("go")
    (result,) = results(session)
    assert (result["status"], "get around" in result["error"]) == ("error", False)


@pytest.mark.parametrize("command", ["git config user.name U", "echo x > .git/hooks/post-commit"])
async def test_what_only_the_outside_can_write_of_git_is_not_asked_about_and_says_so(
    talk: Talk, tmp_path: Path, command: str
) -> None:
    (tmp_path / "work").mkdir(exist_ok=True)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path / "work", check=True)
    model = ScriptedModel(call("terminal", {"command": command}), say("ok"))
    async with talk(model, toolsets=("terminal",)) as session:
        assert await granted(session, Grant()) == []
    (result,) = results(session)
    assert 'which are read-only here: needs {"unconfined": true}' in result["denied"]


async def test_a_listed_address_of_this_machine_is_reached_by_ordinary_programs(
    talk: Talk, served: int
) -> None:
    fetch = f"curl -sS http://127.0.0.1:{served}/"
    model = ScriptedModel(
        call("terminal", {"command": fetch}),
        call("terminal", {"command": fetch, "needs": {"hosts": [f"127.0.0.1:{served}"]}}),
        say("ok"),
    )
    async with talk(model, toolsets=("terminal",)) as session:
        await granted(session, Grant())
    without, with_it = results(session)
    assert "Each command here has a loopback of its own" in without["denied"]
    assert (with_it["exit_code"], with_it["output"]) == (0, "hello")


@pytest.fixture
def served() -> Iterator[int]:
    """The port of a server of this machine that says hello."""

    class Hello(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-length", "5")
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("needs", "sentence"),
    [
        ({"foo": 1, "hosts": []}, "needs has no foo; it takes network, hosts, paths, unconfined"),
        ({"hosts": ["https://example.org/x"]}, "'https://example.org/x' is no host"),
        ({"hosts": [""]}, "'' is no host"),
    ],
)
async def test_a_need_that_is_none_is_refused_in_a_sentence(
    talk: Talk, needs: dict[str, Any], sentence: str
) -> None:
    model = ScriptedModel(call("terminal", {"command": "id", "needs": needs}), say("ok"))
    async with talk(model, toolsets=("terminal",)) as session:
        assert await granted(session, Grant()) == []
    (result,) = results(session)
    assert sentence in result["error"]


async def test_where_the_directory_is_gone_nothing_runs_anywhere_else(talk: Talk, tmp_path: Path) -> None:
    precious = tmp_path / "work" / "precious"
    precious.mkdir(parents=True)
    model = ScriptedModel(
        call("terminal", {"command": "rm -rf precious", "workdir": "/tmp/nowhere"}),
        call("terminal", {"command": "mkdir /tmp/foo; cd /tmp/foo; rmdir /tmp/foo"}),
        call("terminal", {"command": "rm -rf precious"}),
        call("terminal", {"command": "pwd"}),
        say("ok"),
    )
    async with talk(model, toolsets=("terminal",), attended=False) as session:
        await session.send("go")
    first, _, third, last = results(session)
    assert "/tmp/nowhere is gone, so this did not run" in first["output"]
    assert "/tmp/foo is gone, so this did not run" in third["output"]
    assert (precious.exists(), last["output"]) == (True, f"{tmp_path}/work\n")


async def test_a_new_file_of_variables_is_asked_about_once(talk: Talk, tmp_path: Path) -> None:
    model = ScriptedModel(call("write_file", {"path": ".env", "content": "A=1\n"}), say("ok"))
    async with talk(model, toolsets=("file",)) as session:
        questions = await granted(session, Grant())
    assert [one.command for one in questions] == [f"write {tmp_path}/work/.env"]
    assert (tmp_path / "work" / ".env").read_text() == "A=1\n"


async def test_a_file_in_the_sessions_own_tmp_is_said_to_be_there(talk: Talk) -> None:
    model = ScriptedModel(call("write_file", {"path": "/tmp/report.txt", "content": "x"}), say("ok"))
    async with talk(model, toolsets=("file",)) as session:
        await session.send("go")
    (result,) = results(session)
    note = f"/tmp/report.txt is the session's own; outside it is {result['note'].rpartition(' ')[2]}"
    assert (result["note"], Path(note.rpartition(" ")[2]).read_text()) == (note, "x")


async def test_a_folder_of_a_name_that_no_system_takes_is_refused_in_a_sentence(talk: Talk) -> None:
    wanted = f"/{'x' * 300}/y"
    call_of_it = ToolCall(
        id="1", name="terminal", arguments={"command": "true", "needs": {"paths": [wanted]}}
    )
    async with talk(ScriptedModel(), toolsets=("terminal",), attended=False) as session:
        (result,) = await session.run_calls(call_of_it)
    assert json.loads(result.content)["status"] in {
        "blocked",
        "error",
    }  # whether the user may write in / or not
