"""A question outlives the process that asked it, and an answer may come from another one; what it allows happens once."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.types.actor import Actor
from hermes.types.question import Answer, Deny, Grant, Reply

RUN = "rm -rf plans; echo x >> ran"
FLAGS = {"approvals.timeout": 0, "terminal.sandbox": "off"}
PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
ASKER = Path(__file__).with_name("asker.py")
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]
ANSWERS: dict[str, Answer] = {"clarify": Reply(text="green"), "approve": Grant()}


class Process:
    """One `asker.py`."""

    def __init__(self, folder: Path, *what: str) -> None:
        work = folder / "work"
        (work / "plans").mkdir(parents=True, exist_ok=True)
        self.child = subprocess.Popen(
            [sys.executable, ASKER, folder, *what], stdout=subprocess.PIPE, text=True, cwd=work
        )

    def next(self) -> dict[str, Any]:
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        return dict(json.loads(line)) if line else {}

    def kill(self) -> None:
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()


@contextmanager
def asking(folder: Path, *what: str) -> Iterator[Process]:
    process = Process(folder, *what)
    try:
        yield process
    finally:
        process.kill()
        assert process.child.stdout is not None
        process.child.stdout.close()


def environ(folder: Path) -> dict[str, str]:
    return {"HOME": str(folder), "HERMES_HOME": str(folder / "home"), "PATH": os.environ["PATH"]}


async def given(folder: Path, question: str, answer: Answer) -> list[bool]:
    """Whether a stranger's and the addressee's answer from this process are taken."""
    async with open_runtime(environ=environ(folder), http=ScriptedModel().http()) as runtime:
        assert [one.id for one in await runtime.questions()] == [question]
        taken = [
            await runtime.answer(question, answer, by=by)
            for by in (Actor(app="telegram", id="eve"), Actor(app="cli"))
        ]
        assert await runtime.questions() == []
        return taken


def ran(folder: Path) -> list[str]:
    file = folder / "work" / "ran"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.parametrize("kind", ["clarify", "approve"])
async def test_an_answer_from_another_process_reaches_the_one_that_waits(tmp_path: Path, kind: str) -> None:
    with asking(tmp_path, kind, "new") as asker:
        assert asker.next()["left"] == []
        asked = asker.next()
        assert (asked["to"], ran(tmp_path)) == ("cli", [])
        assert await given(tmp_path, asked["asked"], ANSWERS[kind]) == [False, True]
        assert asker.next() == {"answered": asked["asked"], "by": "person"}
        assert asker.next()["last"] == "assistant"
    assert ran(tmp_path) == ["green" if kind == "clarify" else "x"]


@pytest.mark.parametrize("kind", ["clarify", "approve"])
async def test_an_answer_that_came_after_the_asker_was_killed_is_used_when_the_call_is_made_again(
    tmp_path: Path, kind: str
) -> None:
    with asking(tmp_path, kind, "new") as asker:
        session, asked = asker.next()["session"], asker.next()["asked"]
        asker.kill()
    assert await given(tmp_path, asked, ANSWERS[kind]) == [False, True]
    with asking(tmp_path, kind, session) as again:
        assert again.next() == {"session": session, "left": []}
        assert [again.next(), again.next()] == [
            {"asked": asked, "to": "cli"},
            {"answered": asked, "by": "person"},
        ]
        first, second = (json.loads(content) for content in again.next()["contents"])
    assert (first["status"], "error" in second and second["error"]) == (
        "waited_for_answer",
        second.get("error", False),
    )
    assert "The answer has come: make the same call again" in first["error"]
    assert ran(tmp_path) == ["green" if kind == "clarify" else "x"]
    async with open_runtime(environ=environ(tmp_path), http=ScriptedModel().http()) as runtime:
        assert await runtime.store.questions() == []


async def test_a_question_that_stood_open_is_shown_at_resume_and_answered_there_or_elsewhere(
    tmp_path: Path,
) -> None:
    with asking(tmp_path, "clarify", "new") as asker:
        session, asked = asker.next()["session"], asker.next()["asked"]
        asker.kill()
    with asking(tmp_path, "clarify", session) as again:
        assert again.next() == {"session": session, "left": [asked]}
        assert again.next() == {"asked": asked, "to": "cli"}
        assert await given(tmp_path, asked, Deny(reason="no")) == [False, True]
        assert again.next() == {"answered": asked, "by": "person"}
        first, second = (json.loads(content) for content in again.next()["contents"])
    assert "It is still open: make the same call again" in first["error"]
    assert (second["result"], ran(tmp_path)) == ("none", ["none"])


async def test_an_answer_to_the_models_own_question_is_used_after_a_crash(tmp_path: Path) -> None:
    with asking(tmp_path, "tool", "new") as asker:
        session, asked = asker.next()["session"], asker.next()["asked"]
        asker.kill()
    assert await given(tmp_path, asked, Reply(text="teal")) == [False, True]
    with asking(tmp_path, "tool", session) as again:
        assert [again.next(), again.next(), again.next()] == [
            {"session": session, "left": []},
            {"asked": asked, "to": "cli"},
            {"answered": asked, "by": "person"},
        ]
        first, second = (json.loads(content) for content in again.next()["contents"])
    assert "The answer has come: make the same call again" in first["error"]
    assert second == {"question": "Which colour?", "choices_offered": ["red"], "user_response": "teal"}


@pytest.mark.parametrize("is_used_here_first", [True, False])
async def test_one_yes_is_for_one_run_where_the_asker_lost_its_session_while_it_waited(
    tmp_path: Path,
    is_used_here_first: bool,  # an order
) -> None:
    with asking(tmp_path, "approve", "new") as asker:
        session_id, asked = asker.next()["session"], asker.next()["asked"]
        model = ScriptedModel(call("terminal", {"command": RUN}), say("done"))
        async with open_runtime(environ=environ(tmp_path) | PATH, http=model.http(), flags=FLAGS) as runtime:
            await runtime.store.evict(session_id)
            session = await runtime.session(
                SessionOptions(
                    base_url="http://127.0.0.1:1/v1", model="m", toolsets=("terminal",), resume=session_id,
                    cwd=tmp_path / "work",
                )
            )  # fmt: skip
            assert session.answer(asked, Grant())
            if is_used_here_first:
                await session.send("go on")
            await anyio.to_thread.run_sync(asker.child.wait)
            if not is_used_here_first:
                assert ran(tmp_path) == []
                await session.send("go on")
            assert ran(tmp_path) == ["x"]
            await session.close()


async def test_a_no_that_was_accepted_is_never_followed_by_a_run(tmp_path: Path) -> None:
    with asking(tmp_path, "approve", "new") as asker:
        session_id, asked = asker.next()["session"], asker.next()["asked"]
        asker.kill()
    model = ScriptedModel(call("terminal", {"command": RUN}), say("done"))
    options = SessionOptions(
        base_url="http://127.0.0.1:1/v1",
        model="m",
        toolsets=("terminal",),
        resume=session_id,
        cwd=tmp_path / "work",
    )
    async with open_runtime(environ=environ(tmp_path) | PATH, http=model.http(), flags=FLAGS) as runtime:
        session = await runtime.session(options)
        assert session.answer(asked, Deny())
        assert not await runtime.answer(asked, Grant(), by=Actor(app="cli"))
        await session.send("go on")
        assert ran(tmp_path) == []
        await session.close()
