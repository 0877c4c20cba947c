"""A context engine written for the original makes room in our sessions."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.agent.compaction.compactor import Compactor
from hermes.agent.compaction.settings import CompressionSettings
from hermes.agent.compaction.summary import numbered, pinned
from hermes.agent.compaction.view import parting, visible
from hermes.agent.log import Log, replay
from hermes.compat.adapted_context import AdaptedContext
from hermes.compat.agent.context_engine import ContextEngine
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.types.message import Assistant, Compaction, User
from tests.scenarios.planted_plugins import Plant, options
from tests.scenarios.planted_plugins import opened as opened_plugins
from tests.unit.agent.compaction.logs import Made, logs, request
from tests.unit.agent.compaction.test_any_session import (
    answered,
    answering,
    no_neighbours,
    ports,
    renamed,
    said,
)

pytestmark = pytest.mark.anyio

Tables = list[dict[str, Any]]


class Shortening(ContextEngine):
    """Shortens by a function, and keeps what it was told."""

    name = "shortening"

    def __init__(self, shorten: Callable[[Tables], Any]) -> None:
        self._shorten = shorten
        self.asked: list[tuple[int, str | None, bool]] = []
        self.used: dict[str, Any] = {}

    def update_from_response(self, usage: dict[str, Any]) -> None:
        self.used = usage

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        return (prompt_tokens or 0) > self.threshold_tokens

    def compress(
        self,
        messages: Tables,
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        force: bool = False,
        memory_context: str = "",
    ) -> Tables:
        self.asked.append((len(messages), focus_topic, force))
        found: Tables = self._shorten(messages)
        return found


def keeping(first: int, last: int) -> Callable[[Tables], Tables]:
    record = {"role": "user", "content": "They built the moon. SECRET-4711"}
    return lambda given: [*given[:first], record, *(given[-last:] if last else [])]


def adapted(engine: ContextEngine) -> AdaptedContext:
    return AdaptedContext(engine, Compactor(CompressionSettings()))


SHORTENERS: Mapping[str, Callable[[Tables], Any]] = {
    "keeps both ends": keeping(2, 3),
    "keeps the last": keeping(0, 1),
    "keeps the first": keeping(3, 0),
    "keeps nothing": keeping(0, 0),
    "cuts results off": lambda given: [one for one in given if one["role"] != "tool"],
    "turns it round": lambda given: given[::-1],
    "halves each": lambda given: [
        {**one, "content": one["content"][: len(one["content"]) // 2]} for one in given
    ],
    "leaves out every second": lambda given: given[::2],
    "gives it back": lambda given: given,
    "gives parts": lambda given: [
        {"role": "user", "content": [{"type": "text", "text": "Moon."}]},
        given[-1],
    ],
    "gives numbers": lambda given: [1, 2, 3],
    "gives nothing": lambda given: None,
    "fails": lambda given: given[10_000],
}


def made_room(log: Log, shortener: str, window: int, focus: str | None) -> Log:
    engine = adapted(Shortening(SHORTENERS[shortener]))
    wanted = request(log, answering("## Goal\n- Build it [1]"), ports(), window=window)
    entry = anyio.run(lambda: engine.make_room(wanted, focus=focus))
    return log.add(entry) if entry else log


@settings(max_examples=150)
@given(
    log=logs(),
    more=logs(turns=2),
    shortener=st.sampled_from(sorted(SHORTENERS)),
    window=st.sampled_from([4_000, 20_000, 60_000]),
    focus=st.sampled_from([None, "", "the tests"]),
)
def test_whatever_an_engine_gives_the_log_stays_whole_and_what_is_seen_is_a_conversation(
    log: Made, more: Made, shortener: str, window: int, focus: str | None
) -> None:
    first = made_room(log.log, shortener, window, focus)
    holds(log.log, first)
    longer = first.add(Assistant(id="answer", at=0.0, text="done"))
    for message in more.log.messages:
        longer = longer.add(renamed(message))
    holds(longer, made_room(longer, shortener, window, focus))


def holds(before: Log, after: Log) -> None:
    view = visible(after)
    assert after.messages[: len(before.messages)] == before.messages
    assert visible(replay(after.messages)) == view
    assert no_neighbours(view)
    assert answered(view)
    assert parting(after.messages) is None
    assert isinstance(view[-1], User)
    assert "what the user wants now" in view[-1].text
    words = "\n".join(said(one) for one in view)
    assert all(fact in words for fact in pinned(numbered(after.messages, 0, len(after.messages))))
    assert "SECRET-4711" not in words.replace("uncited SECRET-4711", "")


def conversation(turns: int) -> Log:
    log = Log()
    for number in range(turns):
        log = log.add(User(id=f"u{number}", at=0.0, text=f"question {number} " + "word " * 200))
        log = log.add(Assistant(id=f"a{number}", at=0.0, text=f"answer {number} " + "word " * 200))
    return log.add(User(id="last", at=0.0, text="and now?"))


async def test_first_and_last_messages_stay_and_the_engine_s_words_stand_between() -> None:
    log, engine = conversation(6), Shortening(keeping(2, 3))
    entry = await adapted(engine).make_room(request(log, answering(None), ports()), focus="the moon")
    assert entry is not None
    assert engine.asked == [(13, "the moon", True)]
    assert (entry.summary, entry.head, entry.first_kept) == ("They built the moon. [REDACTED]", 2, "u5")
    assert (entry.dropped, entry.focus, entry.fallback) == (8, "the moon", False)
    assert entry.after < entry.before


async def test_an_engine_hears_of_the_model_and_of_what_was_used() -> None:
    engine = Shortening(keeping(1, 3))
    room = adapted(engine)
    wanted = request(conversation(6), answering(None), ports(), window=1_000)
    assert room.is_full(wanted)
    assert (engine.context_length, engine.threshold_tokens, engine.used) == (1_000, 750, {})


def leaves(_: Tables) -> Tables:
    raise SystemExit(1)


@pytest.mark.parametrize(
    ("fails", "told"),
    [(SHORTENERS["fails"], "IndexError: list index out of range"), (leaves, "SystemExit: 1")],
)
async def test_an_engine_that_fails_is_named_and_ours_stands_in(
    caplog: pytest.LogCaptureFixture, fails: Callable[[Tables], Any], told: str
) -> None:
    engine = adapted(Shortening(fails))
    wanted = request(conversation(40), answering("## Goal\n- Build it [1]"), ports(), window=4_000)
    entry = await engine.make_room(wanted)
    assert isinstance(entry, Compaction)
    assert entry.after < entry.before
    (record,) = caplog.records
    assert record.getMessage() == (f"The context engine shortening failed, and ours stands in: {told}")


PLUGIN = """
import json
from agent.context_engine import ContextEngine
from hermes_constants import get_hermes_home

def hear(*words):
    with (get_hermes_home() / "heard").open("a") as file:
        file.write(json.dumps(words) + "\\n")

class Moon(ContextEngine):
    @property
    def name(self):
        return "moon"

    def update_from_response(self, usage):
        self.last_prompt_tokens = usage["prompt_tokens"]
        hear("used", usage["prompt_tokens"] > 0)

    def should_compress(self, prompt_tokens=None):
        return self.compression_count == 0 and self.last_prompt_tokens > 0

    def compress(self, messages, current_tokens=None, focus_topic=None):
        self.compression_count += 1
        return [{"role": "user", "content": "The moon was spoken of."}, *messages[-1:]]

    def on_session_start(self, session_id, **keywords):
        hear("start", bool(session_id))

    def on_session_end(self, session_id, messages):
        hear("end", messages)

    def get_tool_schemas(self):
        return [{"name": "moon_log", "description": "What was heard.", "parameters": {"type": "object", "properties": {}}}]

    def handle_tool_call(self, name, args, **keywords):
        return json.dumps([name, self.compression_count])

MOON = Moon()

def register(ctx):
    ctx.register_context_engine(MOON)
"""


def configured(environ: dict[str, str], engine: str) -> None:
    home = Path(environ["HERMES_HOME"])
    chosen = {"plugins": {"enabled": ["moon"]}, "context": {"engine": engine}}
    (home / "config.yaml").write_text(json.dumps(chosen))


async def test_a_session_is_shortened_by_the_engine_that_its_settings_choose(
    environ: dict[str, str], plant: Plant, tmp_path: Path
) -> None:
    plant("moon", PLUGIN)
    configured(environ, "moon")
    model = ScriptedModel(
        say(" ".join(map(str, range(4000)))), call("moon_log", {}, breaks_prefix=True), say("short")
    )
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(options(tmp_path))
        await session.send("hi")
        await session.send("and now?")
        await session.close()
    told = [one["content"] for one in model.requests[1]["messages"] if one["role"] != "system"]
    assert len(told) == 1
    assert "The moon was spoken of." in told[0]
    assert told[0].endswith("and now?")
    assert '["moon_log", 1]' in model.requests[2]["messages"][-1]["content"]
    assert [one for one in heard(environ) if one[0] != "used"] == [["start", True], ["end", []]]
    assert [one for one in heard(environ) if one[0] == "used"] == [["used", True]] * 3


async def test_an_engine_that_is_not_chosen_hears_nothing_and_offers_nothing(
    environ: dict[str, str], plant: Plant, tmp_path: Path
) -> None:
    plant("moon", PLUGIN)
    configured(environ, "compressor")
    async with opened_plugins(environ, say("hello")) as runtime:
        session = await runtime.session(options(tmp_path))
        await session.send("hi")
        names = [one["function"]["name"] for one in session.tools.definitions]
        await session.close()
        assert (heard(environ), "moon_log" in names) == ([], False)


def heard(environ: dict[str, str]) -> list[Any]:
    """What the engine of the plugin was told."""
    file = Path(environ["HERMES_HOME"]) / "heard"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
