"""Every request is counted once, everywhere, whatever faults come, and no words are shown twice (invariants 12 and 21)."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.agent.spec import SessionOptions
from hermes.composition import SYSTEM_PORTS
from hermes.runtime import Runtime, open_runtime
from hermes.testing import Turn, call, fail, say
from hermes.testing.script import ScriptedModel, network
from hermes.tools.function import tool
from hermes.types.event import Added, Attempted, Event, ReplyRestarted, TextDelta, TurnFinished
from hermes.types.message import Assistant
from hermes.types.usage import NO_USAGE, Usage

SECONDS = 5.0
ANSWER = "The answer, in a few words more than one, is forty-two."
TEXTS = (ANSWER, "Something else altogether.", "Let me see.")
WORDS = say(ANSWER, size=7)
OTHER = say(TEXTS[1], size=5)
STEP = call("double", {"number": 21}, text=TEXTS[2])
FAULTS: Mapping[str, Turn] = {
    "busy": fail(429, "slow down", headers={"retry-after": "0"}),
    "down": fail(500, "oops"),
    "overloaded": fail(529, "overloaded", headers={"retry-after": "0"}),
    "refused": fail(401, "bad key"),
    "empty account": fail(402, "insufficient credits"),
    "bad request": fail(400, "bad field"),
    "no images": fail(400, "this model does not support image input"),
    "nothing": replace(WORDS, pieces=()),
    "cut at once": replace(WORDS, pieces=WORDS.pieces[:1]),
    "cut": replace(WORDS, pieces=WORDS.pieces[:4]),
    "cut in other words": replace(OTHER, pieces=OTHER.pieces[:3]),
    "cut in a call": replace(STEP, pieces=STEP.pieces[:2]),
    "no stream": replace(fail(500, "<html>oops</html>"), status=200),
    "words": WORDS,
    "other words": OTHER,
    "a step": STEP,
}


@tool
def double(number: int) -> int:
    """Twice a number."""
    return number * 2


@dataclass(frozen=True)
class Case:
    """What each server answers in turn, before it only ever says the answer; how many keys there are, and the turns."""

    scripts: tuple[tuple[str, ...], ...]
    keys: int
    turns: int


cases = st.builds(
    Case,
    scripts=st.lists(
        st.lists(st.sampled_from(list(FAULTS)), max_size=8).map(tuple), min_size=1, max_size=3
    ).map(tuple),
    keys=st.integers(1, 3),
    turns=st.integers(1, 3),
)


@dataclass
class Seen:
    """What came of a case."""

    requests: int = 0
    events: list[Event] = field(default_factory=list)
    ends: list[TurnFinished] = field(default_factory=list)
    session: Usage = NO_USAGE
    stored: Usage = NO_USAGE
    restarted: Usage = NO_USAGE
    said: list[str] = field(default_factory=list)
    seconds: float = 0.0


def server(script: Sequence[str]) -> ScriptedModel:
    turns = [*(FAULTS[name] for name in script), *[WORDS] * 60]
    return ScriptedModel(*(replace(turn, breaks_prefix=True) for turn in turns))


def write_home(home: Path, case: Case) -> None:
    home.mkdir()
    price = {"price": {"input": 1.0, "output": 2.0}}
    providers = {
        f"p{number}": {"base_url": f"http://p{number}/v1", "api_key_env": "A_KEY", "models": {"m": price}}
        for number in range(len(case.scripts))
    }
    chain = [f"{name}/m" for name in providers]
    tree = {
        "providers": providers,
        "model": {"default": chain[0], "total_timeout": SECONDS, "max_retries": 3},
        "fallback_providers": chain[1:],
    }
    (home / "config.yaml").write_bytes(msgspec.json.encode(tree))
    rows = [
        {
            "id": f"k{number}",
            "kind": "api_key",
            "label": f"k{number}",
            "secret": f"key-{number}",
            "priority": 20,
        }
        for number in range(case.keys - 1)
    ]
    (home / "auth.json").write_bytes(
        msgspec.json.encode({"version": 1, "providers": {name: rows for name in providers if rows}})
    )
    (home / "auth.json").chmod(0o600)


async def played(case: Case, home: Path) -> Seen:
    """Let the case happen; its pauses last nothing."""
    write_home(home, case)
    seen, models = Seen(), {f"p{number}": server(script) for number, script in enumerate(case.scripts)}
    environ = {"HOME": str(home), "HERMES_HOME": str(home), "A_KEY": "key-of-the-environment"}
    ports = replace(SYSTEM_PORTS, uniform=lambda _low, _high: 0.0)
    options = SessionOptions(toolsets=(), functions=(double,), cwd=home, attended=False)
    started = anyio.current_time()
    async with open_runtime(environ=environ, http=network(models), ports=ports) as runtime:
        session = await runtime.session(options)
        with session.watch() as listener:
            seen.ends = [await session.send(f"turn {number}") for number in range(case.turns)]
            seen.session, seen.stored = session.usage, await total(runtime)
            seen.said = [message.text for message in session.log if isinstance(message, Assistant)]
            await session.close()
        seen.events = [event async for event in listener]
        seen.restarted = (await runtime.session(replace(options, resume=session.id))).usage
    seen.requests = sum(len(model.requests) for model in models.values())
    seen.seconds = anyio.current_time() - started
    return seen


async def total(runtime: Runtime) -> Usage:
    return sum((line.usage for line in await runtime.store.summary("session")), NO_USAGE)


def screens(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """What stood on the screen at the end of each reply of a model, and what the log has of it; a restart takes back what is void."""
    shown = ""
    for event in events:
        match event:
            case TextDelta():
                shown += event.text
                assert any(text.startswith(shown) for text in TEXTS), "words stand there twice"
            case ReplyRestarted():
                assert shown.endswith(event.void)
                shown = shown.removesuffix(event.void)
            case Added(message=Assistant() as reply):
                if reply.usage.requests:
                    yield shown, reply.text
                shown = ""
            case _:
                pass


def added(usages: Iterable[Usage]) -> Usage:
    """The sum; money to the hundredth of a micro-dollar, for sums of fractions differ by their order."""
    whole = sum(usages, NO_USAGE)
    return replace(whole, cost=round(whole.cost, 8))


def check(seen: Seen, case: Case) -> None:
    attempts = [event for event in seen.events if isinstance(event, Attempted)]
    assert len(seen.ends) == case.turns
    assert (
        seen.requests
        == sum(event.usage.requests for event in attempts)
        == len([one for one in attempts if one.usage.requests])
    )
    assert seen.requests == seen.session.requests
    whole = added(event.usage for event in attempts)
    counted = [
        added([seen.session]),
        added([seen.stored]),
        added([seen.restarted]),
        added(end.usage for end in seen.ends),
    ]
    assert counted == [whole] * 4
    assert [shown for shown, _ in screens(seen.events)] == [text for _, text in screens(seen.events)]
    assert all(end.text in seen.said for end in seen.ends)
    assert seen.seconds < SECONDS * case.turns
    unfinished = [end for end in seen.ends if end.outcome not in {"done", "failed"}]
    assert not unfinished
    assert all((end.failure is None) == (end.outcome == "done") for end in seen.ends)


def played_in(backend: str, case: Case) -> Seen:
    with tempfile.TemporaryDirectory() as folder:
        return anyio.run(played, case, Path(folder) / "home", backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@settings(max_examples=60, deadline=None)
@given(case=cases)
def test_the_server_the_session_the_events_and_the_store_count_the_same_requests(
    backend: str, case: Case
) -> None:
    check(played_in(backend, case), case)


def test_the_faults_are_what_they_are_called() -> None:
    """One script with every fault there is: the turns go on, and what fails is told."""
    case = Case(
        scripts=(tuple(name for name in FAULTS if name != "refused"), ("cut", "a step")), keys=2, turns=4
    )
    seen = played_in("asyncio", case)
    check(seen, case)
    failed = {event.failure.reason for event in seen.events if isinstance(event, Attempted) and event.failure}
    assert failed >= {"rate_limit", "server_error", "overloaded", "billing", "cut_short"}
    assert [end.outcome for end in seen.ends][-1] == "done"
