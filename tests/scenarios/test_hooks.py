"""Every hook point that has a place is called there, with all that it offers, and its answers do what they say."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

import hermes
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.commands.run import run_command
from hermes.hooks import SPECS, HookCallback
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, fail, say
from hermes.types.event import Asked, Event, ReplyRestarted
from hermes.types.message import Assistant, ToolResult, User
from hermes.types.question import Answer, Approve, Deny, Grant

from .conftest import HASTY
from .family import FamilyModel, task

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("nothing_saved")]
OPEN: dict[str, Any] = {"base_url": "http://127.0.0.1:1/v1", "model": "m"}


class Person:
    """Somebody who begins a new session."""

    def __init__(self, runtime: Any, options: SessionOptions, session: Session) -> None:
        self.session, self.runtime, self._options = session, runtime, options

    async def open(self) -> None:
        """Put a new session in front of the person."""
        await self.session.close()
        self.session = await self.runtime.session(self._options)


async def events(session: Session, text: str, *answers: Answer | None) -> list[Event]:
    """Run a turn, giving the answers in order to what is asked."""
    waiting, heard = [*answers], list[Event]()
    async with session.stream(text) as stream:
        async for event in stream:
            heard.append(event)
            is_open = isinstance(event, Asked) and not event.decided
            if isinstance(event, Asked) and is_open and (answer := waiting.pop(0)) is not None:
                session.answer(event.id, answer)
    return heard


async def test_each_point_offers_all_that_it_promises_where_it_is_called(
    environ: dict[str, str], tmp_path: Path
) -> None:
    offered: dict[str, set[frozenset[str]]] = defaultdict(set)

    def noting(point: str) -> HookCallback:
        def note(**given: Any) -> None:
            offered[point].add(frozenset(given))

        return note

    model = FamilyModel(
        {
            "parent": [
                fail(500),
                call("terminal", {"command": "rm -rf plans"}),
                call(*task("look around")),
                say("done"),
            ],
            "look around": [say("seen")],
        }
    )
    (tmp_path / "plans").mkdir()
    options = SessionOptions(**OPEN, toolsets=("terminal", "delegation"), cwd=tmp_path, attended=True)
    async with open_runtime(environ=environ, http=model.http(), ports=HASTY) as runtime:
        for point in SPECS:
            runtime.hooks.register(point, noting(point))
        session = await runtime.session(options)
        await events(session, "parent", Grant())
        person: Any = Person(runtime, options, session)
        await run_command("/new", person)
        await person.session.close()
    called = {point: spec.arguments for point, spec in SPECS.items() if not spec.waits}
    assert offered == {point: {arguments} for point, arguments in called.items()}


@pytest.fixture
def ask(environ: dict[str, str], tmp_path: Path) -> Any:
    """Run one turn with callbacks at points; the session with its log, and what was heard."""

    async def asked(
        model: ScriptedModel, callbacks: dict[str, HookCallback], *answers: Answer | None, **more: Any
    ) -> tuple[Session, list[Event]]:
        chosen = {"toolsets": (), "cwd": tmp_path, "attended": True, **more}
        async with open_runtime(environ=environ, http=model.http(), ports=HASTY) as runtime:
            for point, callback in callbacks.items():
                runtime.hooks.register(point, callback)
            session = await runtime.session(SessionOptions(**OPEN, **chosen))
            heard = await events(session, "go", *answers)
            await session.close()
        return session, heard

    return asked


def results(session: Session) -> list[Any]:
    return [json.loads(one.content) for one in session.log if isinstance(one, ToolResult)]


@hermes.tool
async def look(where: str) -> str:
    """Look.

    where: at what
    """
    return f"seen {where}"


WISH = {"action": "approve", "message": "it looks far away", "rule_key": "far"}


@pytest.mark.parametrize(
    ("attended", "answers", "found"),
    [
        (True, [Grant()], {"result": "seen moon"}),
        (True, [Deny(reason="stay")], {"error": "The user refused this call: stay"}),
        (
            False,
            [],
            {"error": "The user refused this call: Nobody can be asked here, so the answer is no."},
        ),
    ],
)
async def test_a_hook_may_have_a_person_asked_and_nobody_there_is_a_no(
    ask: Any, attended: bool, answers: list[Answer], found: Any
) -> None:
    model = ScriptedModel(call("look", {"where": "moon"}), say("ok"))
    wishes = {"pre_tool_call": lambda: WISH}
    session, heard = await ask(model, wishes, *answers, functions=(look,), attended=attended)
    assert results(session) == [found]
    (asked,) = [one.question for one in heard if isinstance(one, Asked)]
    assert isinstance(asked, Approve)
    assert replace(asked, digest="") == Approve(
        command='look {"where": "moon"}', cwd="", reasons=("it looks far away",), rule="far"
    )


async def test_a_hook_that_wants_a_person_asked_allows_nothing_that_is_refused(
    ask: Any, tmp_path: Path
) -> None:
    model = ScriptedModel(call("terminal", {"command": "rm -rf /"}), say("ok"))
    session, _ = await ask(model, {"pre_tool_call": lambda: WISH}, Grant(), toolsets=("terminal",))
    (found,) = results(session)
    assert (found["status"], "never allowed" in found["error"]) == ("blocked", True)


@pytest.mark.parametrize(
    "answer", [{"action": "block", "message": "not now"}, {"decision": "block", "reason": "not now"}]
)
async def test_who_blocks_a_call_sees_the_arguments_that_it_would_run_with(ask: Any, answer: Any) -> None:
    seen: list[Any] = []

    def blocks(args: Any) -> Any:
        seen.append(args)
        return answer

    model = ScriptedModel(call("look", {"where": "moon"}), say("ok"))
    changed = {"transform_tool_args": lambda: {"where": "sun"}, "pre_tool_call": blocks}
    session, _ = await ask(model, changed, functions=(look,))
    assert (seen, results(session)) == ([{"where": "sun"}], [{"error": "not now"}])


async def test_hooks_give_the_output_of_a_command_and_the_last_words_of_a_turn_other_words(
    ask: Any,
) -> None:
    model = ScriptedModel(call("terminal", {"command": "echo red"}), say("it is red"))
    callbacks = {
        "transform_terminal_output": lambda output: output.replace("red", "blue"),
        "transform_llm_output": lambda response_text: response_text.replace("red", "blue"),
    }
    session, heard = await ask(model, callbacks, toolsets=("terminal",))
    assert [one["output"] for one in results(session)] == ["blue\n"]
    assert [one.text for one in session.log if isinstance(one, Assistant)] == ["", "it is blue"]
    assert [one.void for one in heard if isinstance(one, ReplyRestarted)] == ["it is red"]


async def test_a_hook_has_a_turn_go_on_at_most_three_times(ask: Any) -> None:
    attempts: list[tuple[int, str]] = []

    def verify(attempt: int, final_response: str) -> Any:
        attempts.append((attempt, final_response))
        return {"action": "continue", "message": f"check {attempt}"}

    model = ScriptedModel(say("one"), say("two"), say("three"), say("four"))
    session, _ = await ask(model, {"pre_verify": verify})
    assert attempts == [(1, "one"), (2, "two"), (3, "three")]
    blocks = [one.text for message in session.log if isinstance(message, User) for one in message.blocks]
    assert (blocks, session.log[-1].text) == (["check 1", "check 2", "check 3"], "four")


async def test_what_hooks_say_to_the_model_holds_no_known_secret(ask: Any, environ: dict[str, str]) -> None:
    environ["OPENROUTER_API_KEY"] = "sk-or-v1-0123456789abcdef0123456789abcdef"
    says = {"action": "continue", "message": f"check {environ['OPENROUTER_API_KEY']}"}
    callbacks = {"pre_llm_call": lambda: environ["OPENROUTER_API_KEY"], "pre_verify": lambda: says}
    model = ScriptedModel(*(say(word) for word in "abcd"))
    session, heard = await ask(model, callbacks)
    blocks = [one.text for message in session.log if isinstance(message, User) for one in message.blocks]
    assert blocks == ["[redacted]", *["check [redacted]"] * 3]
    assert "0123456789abcdef" not in json.dumps(model.requests) + repr(heard)


async def test_requests_are_told_before_they_are_sent_and_how_they_ended(ask: Any) -> None:
    told: list[Any] = []
    keys = ("api_call_count", "user_message", "provider", "message_count")

    def pre(**given: Any) -> None:
        told.append(("pre", *(given[key] for key in keys)))

    def post(finish_reason: str, response: Any) -> None:
        told.append(("post", finish_reason, response))

    def error(status_code: int, retry_count: int, reason: str, retryable: bool) -> None:
        told.append(("error", status_code, retry_count, reason, retryable))

    points = {"pre_api_request": pre, "post_api_request": post, "api_request_error": error}
    await ask(ScriptedModel(fail(500), say("hello")), points)
    assert told == [
        ("pre", 1, "go", "custom", 1),
        ("error", 500, 0, "server_error", True),
        ("pre", 2, "go", "custom", 1),
        ("post", "end", {"role": "assistant", "content": "hello"}),
    ]


async def test_questions_and_their_answers_are_told(ask: Any, tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    told: list[Any] = []
    points = {
        "pre_approval_request": lambda command, surface: told.append((command, surface)),
        "post_approval_response": lambda choice, decided_by: told.append((choice, decided_by)),
    }
    model = ScriptedModel(call("terminal", {"command": "rm -rf plans"}), say("ok"))
    await ask(model, points, Deny(), toolsets=("terminal",))
    assert told == [("rm -rf plans", "cli"), ("deny", "person")]


async def test_a_question_that_nobody_can_be_asked_or_answers_is_told_as_such(
    environ: dict[str, str], ask: Any, tmp_path: Path
) -> None:
    (tmp_path / "plans").mkdir()
    told: list[Any] = []
    points = {"post_approval_response": lambda choice, decided_by: told.append((choice, decided_by))}
    with (Path(environ["HERMES_HOME"]) / "config.yaml").open("a") as file:
        file.write("\napprovals: {timeout: 0.01}\n")
    for attended in (False, True):
        model = ScriptedModel(call("terminal", {"command": "rm -rf plans"}), say("ok"))
        await ask(model, points, None, toolsets=("terminal",), attended=attended)
    assert told == [("deny", "policy"), ("timeout", "time limit")]


async def test_a_yes_that_nobody_was_asked_for_is_told_with_what_gave_it(
    environ: dict[str, str], ask: Any, tmp_path: Path
) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "one.txt").write_text("precious")
    (Path(environ["HERMES_HOME"]) / "config.yaml").unlink()  # deletions are saved
    told, heard = list[Any](), anyio.Event()

    async def note(choice: str, decided_by: str, surface: str) -> None:
        told.append((choice, decided_by.split(maxsplit=1)[0], surface))
        heard.set()

    async def waits() -> None:
        with anyio.fail_after(20):
            await heard.wait()

    model = ScriptedModel(call("terminal", {"command": "rm -rf plans"}), say("ok"))
    points = {"post_approval_response": note, "on_session_end": waits}
    await ask(model, points, toolsets=("terminal",))
    assert told == [("once", "checkpoint", "smart")]


async def test_a_failing_hook_is_named_with_its_plugin(
    environ: dict[str, str], caplog: pytest.LogCaptureFixture, ask: Any
) -> None:
    home = Path(environ["HERMES_HOME"])
    folder = home / "plugins" / "faulty"
    folder.mkdir(parents=True)
    (folder / "plugin.yaml").write_text("name: faulty\n")
    (folder / "__init__.py").write_text(
        "def falls(**_):\n    1 / 0\ndef register(ctx):\n    ctx.register_hook('pre_llm_call', falls)\n"
    )
    (home / "config.yaml").write_text("plugins: {enabled: [faulty]}\n")
    _, heard = await ask(ScriptedModel(say("hello")), {})
    assert heard[-1].kind == "turn_finished"
    [told] = [one for one in caplog.records if one.levelname == "ERROR"]
    words = "Hook pre_llm_call: falls of the plugin faulty failed: ZeroDivisionError: division by zero"
    assert (told.getMessage(), told.exc_info) == (words, None)
