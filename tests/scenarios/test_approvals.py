import json
from pathlib import Path
from typing import Any

import anyio
import pytest

import hermes
from hermes.agent.session import Session
from hermes.config import edit
from hermes.testing import ScriptedModel, call, calls, say
from hermes.types.event import Added, Answered, Asked, Event
from hermes.types.message import Message, ToolResult
from hermes.types.question import Answer, Approve, Deny, Grant

from .conftest import Talk

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("nothing_saved")]
DELETE = {"command": "rm -rf plans"}


@pytest.fixture
def plans(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "plans"
    folder.mkdir(parents=True)
    (folder / "one.txt").write_text("precious")
    return folder


async def answered(session: Session, text: str, *answers: Answer) -> list[Event]:
    """Run a turn, giving the answers in order to what is asked."""
    waiting = list(answers)
    events: list[Event] = []
    async with session.stream(text) as stream:
        async for event in stream:
            events.append(event)
            if isinstance(event, Asked):
                assert session.answer(event.id, waiting.pop(0))
    assert waiting == []
    return events


def results(session: Session) -> list[dict[str, Any]]:
    return [json.loads(message.content) for message in session.log if isinstance(message, ToolResult)]


async def test_a_question_shows_the_whole_command_where_and_why(talk: Talk, plans: Path) -> None:
    async with talk(ScriptedModel(call("terminal", DELETE), say("ok")), toolsets=("terminal",)) as session:
        events = await answered(session, "clean up", Deny(reason="keep them"))
    (asked,) = [event for event in events if isinstance(event, Asked)]
    assert isinstance(asked.question, Approve)
    assert (asked.question.command, asked.question.cwd) == ("rm -rf plans", str(plans.parent))
    assert asked.question.reasons
    (result,) = results(session)
    assert (result["status"], result["exit_code"]) == ("blocked", -1)
    assert "keep them" in result["error"]
    assert plans.exists()


async def test_with_patterns_a_yes_for_good_covers_the_danger_and_asks_for_others(
    talk: Talk, plans: Path, environ: dict[str, str]
) -> None:
    file = Path(environ["HERMES_HOME"]) / "config.yaml"
    edit.set_key(file, "approvals.scope", "pattern")
    for name in ("drafts", "lists"):
        (plans.parent / name).mkdir()
    lines = ("rm -rf plans", "rm -rf drafts", "rm -rf lists && git reset --hard")
    turns = [call("terminal", {"command": one}, call_id=one[7:8]) for one in lines]
    async with talk(ScriptedModel(*turns, say("ok")), toolsets=("terminal",)) as session:
        events = await answered(session, "clean up", Grant(scope="always"), Deny())
    asked = [event.question for event in events if isinstance(event, Asked)]
    assert [one.command for one in asked if isinstance(one, Approve)] == [lines[0], lines[2]]
    assert sorted(one.name for one in plans.parent.iterdir()) == ["lists"]
    assert "- any command (" in file.read_text()


async def test_yes_lets_exactly_this_run_once(talk: Talk, plans: Path) -> None:
    model = ScriptedModel(call("terminal", DELETE), call("terminal", DELETE), say("ok"))
    async with talk(model, toolsets=("terminal",)) as session:
        events = await answered(session, "clean up", Grant(), Deny())
    assert not plans.exists()
    assert [event.by for event in events if isinstance(event, Answered)] == ["person", "person"]
    assert [result["exit_code"] for result in results(session)] == [0, -1]


async def test_yes_for_the_session_does_not_ask_again_for_the_same_and_asks_for_another(
    talk: Talk, plans: Path
) -> None:
    model = ScriptedModel(
        call("terminal", DELETE),
        call("terminal", DELETE),
        call("terminal", {"command": "rm -rf ../work/others"}),
        say("ok"),
    )
    async with talk(model, toolsets=("terminal",)) as session:
        await answered(session, "clean up", Grant(scope="session"), Deny())
    assert [result["exit_code"] for result in results(session)] == [0, 0, -1]


async def test_always_is_kept_in_the_settings_for_exactly_that_command(
    talk: Talk, environ: dict[str, str], plans: Path
) -> None:
    async with talk(ScriptedModel(call("terminal", DELETE), say("ok")), toolsets=("terminal",)) as session:
        await answered(session, "clean up", Grant(scope="always"))
    kept = (Path(environ["HERMES_HOME"]) / "config.yaml").read_text()
    assert "rm -rf plans" in kept
    plans.mkdir()
    async with talk(
        ScriptedModel(call("terminal", DELETE), say("ok")), toolsets=("terminal",), attended=False
    ) as again:
        await again.send("clean up again")
    assert not plans.exists()


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("pty", [False, True])
async def test_no_human_and_no_rule_means_no_at_once(
    talk: Talk, plans: Path, background: bool, pty: bool
) -> None:
    model = ScriptedModel(
        call("terminal", {**DELETE, "background": background, "pty": pty}), say("could not")
    )
    async with talk(model, toolsets=("terminal",), attended=False) as session:
        with anyio.fail_after(10):
            end = await session.send("clean up")
    assert plans.exists()
    assert (end.outcome, end.refused) == ("refused", ("rm -rf plans",))


@pytest.mark.parametrize(
    "command", ["rm -rf /", "rm -rf ~", "mkfs.ext4 /dev/sda1", ":(){ :|:& };:", "shutdown -h now"]
)
async def test_nothing_lets_the_hard_limits_through(talk: Talk, command: str) -> None:
    async with talk(
        ScriptedModel(call("terminal", {"command": command}), say("no")), toolsets=("terminal",), yolo=True
    ) as session:
        events = await answered(session, "go")
    assert not [event for event in events if isinstance(event, Asked)]
    assert results(session)[0]["status"] == "blocked"


async def test_an_answer_counts_once_and_only_for_an_open_question(talk: Talk, plans: Path) -> None:
    model = ScriptedModel(call("terminal", DELETE), say("ok"))
    async with talk(model, toolsets=("terminal",)) as session, session.stream("clean up") as stream:
        async for event in stream:
            if isinstance(event, Asked):
                assert session.answer("another", Grant()) is False
                assert session.answer(event.id, Deny()) is True
                assert session.answer(event.id, Grant()) is False
    assert plans.exists()


async def test_a_call_that_is_stopped_while_its_question_is_open_was_not_run(talk: Talk, plans: Path) -> None:
    async with (
        talk(ScriptedModel(call("terminal", DELETE)), toolsets=("terminal",)) as session,
        session.stream("clean up") as stream,
    ):
        async for event in stream:
            if isinstance(event, Asked):
                session.interrupt()
    assert plans.exists()
    assert results(session) == [
        {
            "error": "The call was not run: the user stopped the turn first.",
            "status": "not_run",
        }
    ]


async def test_a_call_that_is_stopped_at_its_second_question_had_begun(talk: Talk, plans: Path) -> None:
    text = "*** Begin Patch\n*** Add File: in.txt\n+a\n*** Add File: /elsewhere/b.txt\n+b\n*** End Patch\n"
    model = ScriptedModel(call("patch", {"mode": "patch", "patch": text}))
    async with talk(model, toolsets=("file",)) as session, session.stream("make both") as stream:
        async for event in stream:
            if isinstance(event, Asked):
                session.interrupt()
    assert (plans.parent / "in.txt").read_text() == "a\n"
    assert results(session) == [
        {
            "error": "The call was interrupted by the user before it ended; what it had done until then stands.",
            "status": "interrupted",
        }
    ]


async def test_file_tools_write_inside_and_ask_outside(talk: Talk, plans: Path) -> None:
    outside = Path("/hermes-test-elsewhere/a.txt")
    model = ScriptedModel(
        calls(
            ("write_file", {"path": "in.txt", "content": "a"}),
            ("write_file", {"path": str(outside), "content": "b"}),
        ),
        say("ok"),
    )
    async with talk(model, toolsets=("file",)) as session:
        await answered(session, "write", Deny())
    assert (plans.parent / "in.txt").read_text() == "a"
    assert not outside.exists()


async def test_a_commands_directory_and_exports_live_on(talk: Talk) -> None:
    model = ScriptedModel(
        call("terminal", {"command": "mkdir -p sub && cd sub && export COLOUR=green"}),
        call("terminal", {"command": "echo $COLOUR ${PWD##*/}"}),
        say("ok"),
    )
    async with talk(model, toolsets=("terminal",)) as session:
        await session.send("go")
    assert results(session)[1]["output"].strip() == "green sub"


async def test_a_background_process_that_ends_is_told_with_the_next_message(talk: Talk) -> None:
    start = call("terminal", {"command": "sleep 0.2; exit 3", "background": True, "notify_on_complete": True})
    model = ScriptedModel(start, say("started"), say("it ended"))
    async with talk(model, toolsets=("terminal",)) as session:
        await session.send("start it")
        await anyio.sleep(0.8)
        await session.send("and?")
    told = model.requests[2]["messages"][-1]["content"]
    assert "ended with exit code 3: sleep 0.2; exit 3)" in told
    assert told.endswith("\n\nand?")


async def test_a_secret_of_the_environment_is_in_no_result(talk: Talk, environ: dict[str, str]) -> None:
    environ["WEATHER_API_KEY"] = "k3y-that-nobody-may-see"
    model = ScriptedModel(call("terminal", {"command": "echo k3y-that-nobody-may-see; env"}), say("ok"))
    async with talk(model, toolsets=("terminal",)) as session:
        events = await answered(session, "show")
    assert "k3y-that-nobody-may-see" not in str(results(session))
    assert "WEATHER_API_KEY" not in results(session)[0]["output"]
    assert "[redacted]" in results(session)[0]["output"]
    assert [event for event in events if event.kind == "tool_progress" and "k3y-that" in event.text] == []


async def test_the_time_limit_of_the_settings_ends_a_command(talk: Talk, environ: dict[str, str]) -> None:
    environ["TERMINAL_TIMEOUT"] = "1"
    async with talk(
        ScriptedModel(call("terminal", {"command": "echo early; sleep 60"}), say("ok")),
        toolsets=("terminal",),
    ) as session:
        with anyio.fail_after(15):
            await session.send("go")
    assert results(session)[0]["exit_code"] == 124
    assert "early" in results(session)[0]["output"]


async def test_an_interrupt_ends_a_command_that_ignores_term_within_a_second(talk: Talk) -> None:
    command = "trap '' TERM INT; echo started; while true; do sleep 0.05; done"
    async with talk(ScriptedModel(call("terminal", {"command": command})), toolsets=("terminal",)) as session:
        async with session.stream("go") as stream:
            async for event in stream:
                if event.kind == "tool_progress":
                    asked = anyio.current_time()
                    session.interrupt()
        assert anyio.current_time() - asked < 1


async def test_a_result_that_was_cut_can_be_paged_through_with_the_path_it_names(talk: Talk) -> None:
    paged: list[str] = []

    def page(request: dict[str, Any]) -> Any:
        told = json.loads(request["messages"][-1]["content"])
        paged.append(told["path"])
        return call("read_file", {"path": told["path"], "limit": 1})

    @hermes.tool(outside=False)
    def flood() -> str:
        """Say much."""
        return "word " * 40_000

    model = ScriptedModel(call("flood", {}), page, say("ok"))
    async with talk(model, toolsets=("file",), functions=(flood,)) as session:
        await session.send("go")
    assert '{"result": "word word' in results(session)[1]["content"]
    assert len(paged) == 1


async def test_the_uncut_output_of_a_command_can_be_read(talk: Talk) -> None:
    def page(request: dict[str, Any]) -> Any:
        told = json.loads(request["messages"][-1]["content"])
        return call("read_file", {"path": told["full_output"], "offset": 30000, "limit": 1})

    model = ScriptedModel(call("terminal", {"command": "seq 1 60000"}), page, say("ok"))
    async with talk(model, toolsets=("file", "terminal")) as session:
        await session.send("go")
    assert results(session)[1]["content"] == "30000|30000"


async def test_what_is_revoked_while_a_session_runs_asks_again(talk: Talk, environ: dict[str, str]) -> None:
    config = Path(environ["HERMES_HOME"]) / "config.yaml"
    model = ScriptedModel(
        call("terminal", {"command": "id -u", "needs": {"unconfined": True}}, call_id="1"),
        call("terminal", {"command": "id -u", "needs": {"unconfined": True}}, call_id="2"),
        say("done"),
    )
    async with talk(model, toolsets=("terminal",), attended=False) as session:
        entry = f"{session.spec.cwd}$ id -u {{needs unconfined}}"
        edit.append_to_list(config, "command_allowlist", entry)

        def revoke(message: Message) -> None:
            if isinstance(message, ToolResult) and message.call_id == "1":
                edit.remove_from_list(config, "command_allowlist", entry)

        async with session.stream("go") as stream:
            async for event in stream:
                if isinstance(event, Added):
                    revoke(event.message)
        first, second = (one.content for one in session.log if isinstance(one, ToolResult))
        assert '"exit_code": 0' in first
        assert "Nobody can be asked here" in second
