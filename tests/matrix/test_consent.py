"""Every path that can execute × every way in which a yes can be missing: nothing runs that nobody allowed."""

import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import anyio
import pytest

from hermes.agent.questions import Questions
from hermes.composition import SYSTEM_PORTS
from hermes.safety.decide import Policy, Verdict
from hermes.safety.grants import Grants
from hermes.store.protocol import SessionRow
from hermes.testing import MemoryStore, ScriptedModel, call, say
from hermes.types.action import Action
from hermes.types.actor import Actor
from hermes.types.error import Refused
from hermes.types.event import Asked, Event
from hermes.types.message import User
from hermes.types.question import Answer, Approve, Deny, Grant, Question, Reply
from tests.scenarios.conftest import Talk, talk  # noqa: F401  # a fixture

from .conftest import Bench, Open

pytestmark = pytest.mark.anyio
DELETE: Final = "rm -rf plans"
Way = Callable[[Bench], Awaitable[object]]


async def run(bench: Bench) -> object:
    return await bench.space.run(DELETE, timeout=10)


async def run_elsewhere(bench: Bench) -> object:
    return await bench.space.run("rm -rf ../work/plans", timeout=10, cwd=str(bench.root / "plans"))


async def run_on_terminal(bench: Bench) -> object:
    return await bench.space.run(DELETE, timeout=10, pty=True)


async def run_with_input(bench: Bench) -> object:
    return await bench.space.run("xargs rm -rf", timeout=10, stdin=b"plans\n")


async def run_code(bench: Bench) -> object:
    return await bench.space.run("python3 -c 'import shutil; shutil.rmtree(\"plans\")'", timeout=10)


async def start(bench: Bench) -> object:
    started = await bench.space.start(DELETE)
    await anyio.sleep(0.3)
    return started


async def start_on_terminal(bench: Bench) -> object:
    started = await bench.space.start(DELETE, pty=True)
    await anyio.sleep(0.3)
    return started


async def write_outside(bench: Bench) -> object:
    return await bench.space.write("../outside/new.txt", b"x")


async def delete_outside(bench: Bench) -> object:
    await bench.space.delete("../outside/old.txt")
    return None


async def write_variables(bench: Bench) -> object:
    return await bench.space.write(".env", b"A=c\n")


async def read_variables(bench: Bench) -> object:
    return await bench.space.read(".env")


async def write_hook(bench: Bench) -> object:
    return await bench.space.write(".git/hooks/pre-commit", b"x")


WAYS: Final[tuple[Way, ...]] = (
    run, run_elsewhere, run_on_terminal, run_with_input, run_code, start, start_on_terminal, write_outside, delete_outside,
    write_variables, read_variables, write_hook,
)  # fmt: skip


async def questions(emit: Callable[[Event], None], *, attended: bool, seconds: float = 0.05) -> Questions:
    """The questions of a session that is in a store."""
    store = MemoryStore()
    row = SessionRow(id="s", cwd="", model="", source="cli", created=0.0, updated=0.0)
    await store.create(row, system="", tools=())
    await store.append("s", User(id="u", at=0.0, text="go"))
    return Questions(
        emit=emit, ports=SYSTEM_PORTS, store=store, spawn=lambda _: None, session="s", actor=Actor(),
        attended=attended, seconds=seconds,
    )  # fmt: skip


def unheard(_: Event) -> None: ...


async def nobody(question: Question) -> Answer:
    return await (await questions(unheard, attended=False)).ask(question)


async def silence(question: Question) -> Answer:
    return await (await questions(unheard, attended=True)).ask(question)


async def crash(question: Question) -> Answer:
    raise RuntimeError(f"the screen broke over {question.kind}")


async def no(_question: Question) -> Answer:
    return Deny()


async def words(_question: Question) -> Answer:
    return Reply(text="yes")


async def another(question: Question) -> Answer:
    """A yes that comes for another question, of this session and of another one."""
    come = anyio.Event()
    events: list[Event] = []

    def emit(event: Event) -> None:
        events.append(event)
        come.set()

    here, there = await questions(emit, attended=True), await questions(unheard, attended=True)
    async with anyio.create_task_group() as group:

        async def answer() -> None:
            await come.wait()
            asked = events[0]  # on a busy machine its time may be over already
            assert isinstance(asked, Asked)
            assert not here.answer("another", Grant())
            assert not there.answer(asked.id, Grant())

        group.start_soon(answer)
        return await here.ask(question)
    raise AssertionError


@pytest.mark.parametrize("ask", [nobody, silence, crash, no, words, another], ids=lambda one: one.__name__)
@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
async def test_nothing_runs_without_a_yes(
    bench: Open, way: Way, ask: Callable[[Question], Awaitable[Answer]]
) -> None:
    here = bench(ask)
    with pytest.raises((Refused, RuntimeError)), anyio.fail_after(10):
        await way(here)
    assert (here.is_unharmed, len(here.asked)) == (True, 1)


@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
async def test_a_fault_of_the_judge_is_a_no(bench: Open, way: Way) -> None:
    def broken(_action: Action, _policy: Policy, _grants: Grants) -> Verdict:
        raise ZeroDivisionError

    here = bench(no)
    here.gate.judge = broken
    with pytest.raises(Refused, match="could not be judged"):
        await way(here)
    assert (here.is_unharmed, here.asked) == (True, [])


@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
async def test_what_a_session_starts_beside_itself_is_denied_without_a_question(
    bench: Open, way: Way
) -> None:
    here = bench(no, child=True)
    with pytest.raises(Refused, match="Nobody can be asked"), anyio.fail_after(5):
        await way(here)
    assert (here.is_unharmed, here.asked) == (True, [])


@pytest.mark.parametrize("way", [run, start, write_outside], ids=lambda one: one.__name__)
async def test_with_a_yes_it_runs(bench: Open, way: Way) -> None:
    async def yes(_question: Question) -> Answer:
        return Grant()

    here = bench(yes)
    await way(here)
    assert not here.is_unharmed


async def test_a_child_has_none_of_the_grants_of_its_session(bench: Open) -> None:
    async def yes(_question: Question) -> Answer:
        return Grant(scope="session")

    here = bench(yes)
    await here.space.run(DELETE, timeout=10)
    assert here.gate.grants.session
    assert here.gate.child().grants == Grants()


CALLS: Final[dict[str, tuple[str, dict[str, object]]]] = {
    "terminal": ("terminal", {"command": DELETE}),
    "background": ("terminal", {"command": DELETE, "background": True}),
    "terminal with a screen": ("terminal", {"command": DELETE, "pty": True}),
    "background with a screen": ("terminal", {"command": DELETE, "background": True, "pty": True}),
    "write_file": ("write_file", {"path": "/hermes-test-elsewhere/a.txt", "content": "x"}),
    "patch": ("patch", {"mode": "replace", "path": ".git/config", "old_string": "a", "new_string": "b"}),
    "read_file": ("read_file", {"path": ".env"}),
}


@pytest.mark.usefixtures("nothing_saved")
@pytest.mark.parametrize("source", ["library", "cli", "cron", "batch", "api"])
@pytest.mark.parametrize("name", CALLS)
async def test_a_session_without_a_person_refuses_at_once(
    talk: Talk,  # noqa: F811
    tmp_path: Path,
    name: str,
    source: str,
) -> None:
    git = tmp_path / "work" / ".git"
    git.mkdir()
    (git / "config").write_text("a")
    (tmp_path / "work" / ".env").write_text("A_TOKEN=abcdefghijkl123456\n")
    tool, arguments = CALLS[name]
    model = ScriptedModel(call(tool, arguments), say("could not"))
    async with talk(model, toolsets=("terminal", "file"), attended=False, source=source) as session:
        with anyio.fail_after(10):
            end = await session.send("clean up")
    assert (end.outcome, len(end.refused)) == ("refused", 1)
    assert (git / "config").read_text() == "a"


async def test_silence_ends_a_question_of_a_session_and_tells_everybody(
    talk: Talk,  # noqa: F811
    environ: dict[str, str],
) -> None:
    home = environ["HERMES_HOME"]
    await anyio.Path(home).mkdir(parents=True, exist_ok=True)
    await (anyio.Path(home) / "config.yaml").write_text(
        "approvals: {timeout: 0.2}\ncheckpoints: {max_megabytes: 0}\n"
    )
    model = ScriptedModel(call("terminal", {"command": DELETE}), say("could not"))
    async with talk(model, toolsets=("terminal",)) as session, session.stream("clean up") as stream:
        with anyio.fail_after(10):
            events = [event async for event in stream]
    (answered,) = [event for event in events if event.kind == "answered"]
    assert (answered.by, answered.answer) == (
        "time limit",
        Deny(reason="Nobody answered within 0.2 s, and silence is no consent."),
    )


async def test_an_open_question_may_wait_for_ever_where_that_is_set() -> None:
    waiting = await questions(unheard, attended=True, seconds=0)
    with anyio.move_on_after(0.2) as scope:
        await waiting.ask(Approve(command="x", cwd="/", reasons=(), rule=""))
    assert scope.cancelled_caught
    assert not math.isinf(scope.deadline)
