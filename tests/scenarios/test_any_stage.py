"""Invariant 9, stage by stage: whatever a turn is busy with, an interrupt ends it and a note is taken, nothing said is lost, and the log
goes on with any model.
"""

import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec import Struct
from msgspec.structs import replace

import hermes
from hermes.agent.session import Session
from hermes.testing import ScriptedModel, Turn, call, calls, fail, say
from hermes.types.event import (
    Added,
    Asked,
    Attempted,
    ChildChanged,
    CompactionStarted,
    Event,
    StepStarted,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from hermes.types.message import Assistant, ToolResult, User
from hermes.types.profile import Profile
from tests.wire import test_histories

from .conftest import Talk
from .family import task
from .test_room import counted, is_record, part, settings

pytestmark = pytest.mark.anyio

AGES = 1_000.0
NOTE = "and look at the second one, too"
CHILD = "the work of a child"


@hermes.tool
async def look(seconds: float) -> str:
    """Look for some seconds."""
    await anyio.sleep(seconds)
    return "seen"


@hermes.tool
def think(seconds: float) -> str:
    """A function that nothing can stop."""
    time.sleep(seconds)
    return "thought"


@hermes.tool(parallel=True)
async def glance(seconds: float) -> str:
    """Look, side by side with others."""
    await anyio.sleep(seconds)
    return "seen"


class Stage(Struct, frozen=True, kw_only=True):
    """What a turn is busy with: the replies that lead there, and the event by which it is there."""

    replies: tuple[Turn, ...]
    there: Callable[[Event], bool]
    child: tuple[Turn, ...] = ()


def is_a(*kinds: type[Event]) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, kinds)


def from_child(kind: type[Event]) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, kind) and bool(event.stamp.parent)


def trap(command: str) -> Turn:
    return call("terminal", {"command": command, "timeout": 500})


WORDS = "It is in the second file, as far as I can see. " * 20
STAGES: Mapping[str, Stage] = {
    "the beginning": Stage(replies=(say("ok"),), there=is_a(TurnStarted)),
    "connecting": Stage(replies=(replace(say("ok"), pause=AGES),), there=is_a(StepStarted)),
    "waiting to try again": Stage(
        replies=(fail(503, headers={"retry-after": "300"}),), there=is_a(Attempted)
    ),
    "thinking": Stage(replies=(say(WORDS, thinking="Hm. " * 9, pause=0.02),), there=is_a(ThinkingDelta)),
    "words": Stage(replies=(say(WORDS, size=4, pause=0.005),), there=is_a(TextDelta)),
    "a call half written": Stage(
        replies=(replace(call("look", {"seconds": 1}, text="I look."), pause=0.02),), there=is_a(TextDelta)
    ),
    "a tool": Stage(replies=(call("look", {"seconds": AGES}),), there=is_a(ToolStarted)),
    "a tool in a thread": Stage(replies=(call("think", {"seconds": 2}),), there=is_a(ToolStarted)),
    "a command": Stage(replies=(trap("echo begun; sleep 500"),), there=is_a(ToolProgress)),
    "a command that does not want to end": Stage(
        replies=(trap("trap '' TERM INT; echo begun; sleep 500 & while :; do wait; done"),),
        there=is_a(ToolProgress),
    ),
    "a batch": Stage(
        replies=(calls(*[("glance", {"seconds": AGES if at else 0}) for at in range(4)], text="All four."),),
        there=is_a(ToolStarted),
    ),
    "between two steps": Stage(
        replies=(call("look", {"seconds": 0}), say(WORDS, pause=0.01)),
        there=lambda event: isinstance(event, Added) and isinstance(event.message, ToolResult),
    ),
    "an approval": Stage(replies=(trap("rm -rf plans"),), there=is_a(Asked)),
    "a question": Stage(replies=(call("clarify", {"question": "Which?"}),), there=is_a(Asked)),
    "a child": Stage(
        replies=(call(*task(CHILD)),), child=(replace(say("ok"), pause=AGES),), there=is_a(ChildChanged)
    ),
    "the tool of a child": Stage(
        replies=(call(*task(CHILD)),), child=(trap("echo begun; sleep 500"),), there=from_child(ToolStarted)
    ),
    "a script": Stage(
        replies=(call("execute_code", {"code": "import time\nprint('on', flush=True)\ntime.sleep(500)"}),),
        there=is_a(ToolProgress),
    ),
    "a summary": Stage(
        replies=tuple(call("part", {"number": at}, call_id=f"p{at}") for at in range(2, 10)),
        there=is_a(CompactionStarted),
    ),
    "the last words": Stage(
        replies=(say("ok"),),
        there=lambda event: isinstance(event, Added) and isinstance(event.message, Assistant),
    ),
}
FUNCTIONS = (look, think, glance, part)
SETS = ("terminal", "clarify", "delegation", "code_execution", "file")


def played(stage: Stage) -> ScriptedModel:
    """The replies of a stage, its child's, a summary that never comes, and after the interrupt a last word."""
    own, below = list(stage.replies), list(stage.child)

    def reply(request: dict[str, Any]) -> Turn:
        told = [str(one.get("content")) for one in request["messages"] if one["role"] == "user"]
        if is_record(request):
            return replace(say("- nothing [1]", breaks_prefix=True), pause=AGES)
        if "go on" in told[-1]:
            return say("all right", breaks_prefix=True)
        left = below if CHILD in told[0] else own
        return counted(left.pop(0) if left else replace(say("never"), pause=AGES), request)

    return ScriptedModel(*[reply] * 40)


class AtStage:
    """Interrupts a session some time after it has reached a stage; with a note before that."""

    def __init__(self, session: Session, stage: Stage, delay: float) -> None:
        self._session, self._stage, self._delay = session, stage, delay
        self._reached = anyio.Event()
        self.heard: list[Event] = []
        self.taken = False

    def put(self, event: Event) -> None:
        self.heard.append(event)
        if self._stage.there(event):
            self._reached.set()

    async def run(self, told: str) -> tuple[TurnFinished, float]:
        """The end of the turn, and the seconds from the interrupt to it."""
        ends: list[TurnFinished] = []

        async def turn() -> None:
            ends.append(await self._session.send(told))

        self._session.listeners.attach(self)
        async with anyio.create_task_group() as group:
            group.start_soon(turn)
            await self._reached.wait()
            await anyio.sleep(self._delay)
            self.taken = self._session.steer(NOTE)
            self._session.interrupt()
            asked = anyio.current_time()
        return ends[0], anyio.current_time() - asked


def noted(session: Session, end: TurnFinished) -> int:
    """How often the note is in the log, or handed back."""
    blocks = [block for one in session.log if isinstance(one, User | ToolResult) for block in one.blocks]
    return sum(block.text == NOTE for block in (*blocks, *end.unsent))


async def stopped(talk: Talk, name: str, delay: float) -> float:
    stage = STAGES[name]
    async with talk(played(stage), functions=FUNCTIONS, toolsets=SETS) as session:
        at = AtStage(session, stage, delay)
        with anyio.fail_after(30):
            end, seconds = await at.run(f"do it: {name}")
        assert end.outcome in {"interrupted", "done"}, name
        assert noted(session, end) == at.taken, name
        log = session.log
        assert isinstance(log[-1], Assistant), name
        wanted = [one.id for message in log if isinstance(message, Assistant) for one in message.calls]
        assert [one.call_id for one in log if isinstance(one, ToolResult)] == wanted, name
        said = "".join(one.text for one in at.heard if isinstance(one, TextDelta) and not one.stamp.parent)
        kept = "".join(one.text for one in log if isinstance(one, Assistant))
        assert kept.startswith(said[: len(said) // 2]), name
        for kind in test_histories.KINDS:
            test_histories.check(kind, [(*log, User(id="n", at=0.0, text="?"))], Profile(), frozenset())
        assert (await session.send("go on")).text == "all right", name
        return seconds


@pytest.fixture
def small(environ: dict[str, str], tmp_path: Path) -> None:
    """A window that some results fill."""
    settings(environ, {"scripted": 20_500})
    config = Path(environ["HERMES_HOME"]) / "config.yaml"
    config.write_text(config.read_text() + "checkpoints: {max_megabytes: 0}\n")
    (tmp_path / "work" / "plans").mkdir(parents=True)
    (tmp_path / "work" / "plans" / "one.txt").write_text("precious")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", STAGES)
async def test_an_interrupt_at_any_stage_ends_the_turn_and_loses_nothing(talk: Talk, name: str) -> None:
    await stopped(talk, name, random.Random(name).uniform(0.0, 0.05))


@pytest.mark.slow
@pytest.mark.usefixtures("small")
async def test_two_hundred_interrupts_at_all_stages_end_within_a_second(
    talk: Talk, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(12)
    took = sorted(
        [(await stopped(talk, name, chance.uniform(0.0, 0.3)), name) for _ in range(11) for name in STAGES]
    )
    with capsys.disabled():
        print(f"{len(took)} interrupts: median {took[len(took) // 2][0]:.3f} s, longest {took[-1]}")  # noqa: T201
    assert took[-1][0] < 1.0
