"""Text that its length cut is continued: one answer to people, an unbroken prefix to every wire (invariants 10, 16, 35)."""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

import hermes
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.models.reliability.continuation import ANSWER, GO_ON
from hermes.runtime import open_runtime
from hermes.types.event import Event, Notice, PrefixBroken, ReplyRestarted, TextDelta, TurnFinished
from hermes.types.message import Assistant
from tests.scenarios.test_ends import LENGTH
from tests.scenarios.wires import FAMILIES, FORMS, Recorder, Said, extends

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("wire", FORMS)]
ran: list[str] = []


@hermes.tool
def note(word: str) -> str:
    """Note a word.

    Args:
        word: the word.
    """
    ran.append(word)
    return "noted"


@dataclass
class Talk:
    """A session on one wire, opened as often as one likes, and what it told."""

    environ: dict[str, str]
    wire: str
    server: Recorder
    settings: dict[str, Any] = field(default_factory=dict)
    resumed: str = ""
    events: list[Event] = field(default_factory=list)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Session]:
        """Start the process."""
        ran.clear()
        home, family = Path(self.environ["HERMES_HOME"]), FAMILIES[self.wire]
        home.mkdir(exist_ok=True)
        own = {"base_url": "http://own/v1", "protocol": self.wire, "models": [family]}
        config = {"providers": {"own": own}, **self.settings}
        (home / "config.yaml").write_bytes(msgspec.json.encode(config))
        http = httpx2.AsyncClient(transport=self.server)
        async with open_runtime(environ=self.environ, http=http) as runtime:
            session = await runtime.session(
                SessionOptions(
                    toolsets=(),
                    functions=(note,),
                    cwd=home,
                    model=f"own/{family}",
                    resume=self.resumed,
                )
            )
            self.resumed = session.id
            yield session
            await session.close()

    async def say(self, session: Session, text: str) -> TurnFinished:
        """One turn, whose events are kept."""
        async with session.stream(text) as stream:
            self.events = [event async for event in stream]
        (end,) = (event for event in self.events if isinstance(event, TurnFinished))
        return end

    @property
    def shown(self) -> str:
        """What the last turn showed as it came."""
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def warned(self) -> list[str]:
        """The beginnings of what the user was told besides."""
        return [event.text.partition(":")[0] for event in self.events if isinstance(event, Notice)]


def talk(environ: dict[str, str], wire: str, *replies: Said, **settings: Any) -> Talk:
    return Talk(environ, wire, Recorder(wire, deque(replies)), settings)


def cut(wire: str, text: str = "", **more: Any) -> Said:
    return Said(text=text, end=LENGTH[wire], **more)


async def test_a_cut_answer_is_continued_into_one(environ: dict[str, str], wire: str) -> None:
    one = talk(environ, wire, cut(wire, "Half of an ans"), cut(wire, "wer, and"), Said(text=" the rest."))
    async with one.open() as session:
        end = await one.say(session, "hi")
        (reply,) = (message for message in session.log if isinstance(message, Assistant))
        in_context = session.context_tokens
    assert (end.outcome, end.text, one.shown) == ("done", "Half of an answer, and the rest.", end.text)
    assert (reply.text, reply.stop, reply.usage.requests, one.warned) == (end.text, "end", 3, [])
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3000, 30)
    assert (end.usage, in_context) == (reply.usage, 1010)
    assert [body.count(GO_ON.encode()) for body in one.server.bodies] == [0, 1, 2]


@pytest.mark.parametrize("thinking", ["", "let me see"])
@pytest.mark.parametrize("resumed", [False, True], ids=["open", "resumed"])
async def test_a_continued_answer_keeps_the_prefix_also_when_it_is_resumed(
    environ: dict[str, str], wire: str, thinking: str, resumed: bool
) -> None:
    parts = (cut(wire, "Half of an ans", thinking=thinking), Said(text="wer.", thinking=thinking))
    one = talk(environ, wire, *parts, Said(text="Bye."))
    async with one.open() as session:
        await one.say(session, "hi")
        if not resumed:
            await one.say(session, "and now?")
    if resumed:
        async with one.open() as session:
            await one.say(session, "and now?")
    first, second, third = one.server.bodies
    assert extends(wire, first, second)
    assert extends(wire, second, third)
    assert not [event for event in one.events if isinstance(event, PrefixBroken)]


async def test_calls_that_end_a_continuation_run_once(environ: dict[str, str], wire: str) -> None:
    call = Said(text=" note it.", calls=(("note", {"word": "blue"}),))
    one = talk(environ, wire, cut(wire, "I will"), call, Said(text="Done."))
    async with one.open() as session:
        end = await one.say(session, "note it")
        texts = [message.text for message in session.log if isinstance(message, Assistant)]
    assert (ran, end.outcome, texts) == (["blue"], "done", ["I will note it.", "Done."])
    assert all(extends(wire, *pair) for pair in zip(one.server.bodies, one.server.bodies[1:], strict=False))


async def test_a_call_that_the_continuation_cuts_never_runs(environ: dict[str, str], wire: str) -> None:
    call = cut(wire, " note it.", calls=(("note", {"word": "blue"}),))
    one = talk(environ, wire, cut(wire, "I will"), call, Said(text="Never mind."))
    async with one.open() as session:
        end = await one.say(session, "note it")
    assert (ran, end.outcome, end.text) == ([], "done", "Never mind.")
    assert b"not run" in one.server.bodies[2]


async def test_what_a_continuation_repeats_is_neither_shown_nor_kept(
    environ: dict[str, str], wire: str
) -> None:
    again = Said(text="rows of the table are these, and no others.")
    one = talk(environ, wire, cut(wire, "The rows of the table are these"), again)
    async with one.open() as session:
        end = await one.say(session, "hi")
    assert end.text == one.shown == "The rows of the table are these, and no others."


async def test_an_answer_that_does_not_end_is_cut_in_the_end(environ: dict[str, str], wire: str) -> None:
    one = talk(environ, wire, *(cut(wire, f"{number} ") for number in range(5)), Said(text="Bye."))
    async with one.open() as session:
        end = await one.say(session, "count")
        assert (end.outcome, end.text, one.shown) == ("cut", "0 1 2 3 4 ", end.text)
        assert (one.warned, end.usage.requests) == (["The answer is not whole"], 5)
        assert (await one.say(session, "stop")).outcome == "done"
    assert extends(wire, *one.server.bodies[-2:])


async def test_a_setting_leaves_answers_cut(environ: dict[str, str], wire: str) -> None:
    one = talk(environ, wire, cut(wire, "Half of an"), model={"continuations": 0})
    async with one.open() as session:
        end = await one.say(session, "hi")
    assert (end.outcome, end.text, len(one.server.bodies)) == ("cut", "Half of an", 1)


@pytest.mark.parametrize("fault", [Said(status=400, text="no"), Said()], ids=["refused", "nothing"])
async def test_an_answer_that_cannot_be_continued_is_kept_and_marked(
    environ: dict[str, str], wire: str, fault: Said
) -> None:
    one = talk(environ, wire, cut(wire, "Half of an"), fault, fault, Said(text="Bye."))
    async with one.open() as session:
        end = await one.say(session, "hi")
    assert (end.outcome, end.text, one.shown) == ("cut", "Half of an", "Half of an")
    assert one.warned == ["The answer could not be continued", "The answer is not whole"]


async def test_a_reply_that_was_cut_before_its_first_word_is_asked_for_its_answer(
    environ: dict[str, str], wire: str
) -> None:
    one = talk(environ, wire, cut(wire, thinking="let me see"), Said(text="42."), Said(text="Bye."))
    async with one.open() as session:
        end = await one.say(session, "what is it?")
    async with one.open() as session:
        await one.say(session, "thanks")
    assert (end.outcome, end.text, end.usage.requests) == ("done", "42.", 2)
    first, second, third = one.server.bodies
    assert (ANSWER.encode() in second, extends(wire, first, second), extends(wire, second, third)) == (
        True,
        True,
        True,
    )


async def test_a_continuation_that_is_cut_before_its_first_word_goes_on(
    environ: dict[str, str], wire: str
) -> None:
    replies = (cut(wire, "Half of an"), cut(wire, thinking="hm"), Said(text=" answer."), Said(text="Bye."))
    one = talk(environ, wire, *replies)
    async with one.open() as session:
        end = await one.say(session, "hi")
        in_context = session.context_tokens
        await one.say(session, "thanks")
    assert (end.outcome, end.text, end.usage.requests, in_context) == ("done", "Half of an answer.", 3, 1010)
    assert all(extends(wire, *pair) for pair in zip(one.server.bodies, one.server.bodies[1:], strict=False))
    assert not [event for event in one.events if isinstance(event, ReplyRestarted)]
