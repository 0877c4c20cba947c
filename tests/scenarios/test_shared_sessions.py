"""Where several people speak in one session, what each has told it alone is told to nobody else."""

import itertools
import json
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import hermes
from hermes.agent.fact_memory import SEVERAL, SHARED
from hermes.agent.memory_provider import Recalled
from hermes.agent.session import Session
from hermes.agent.speakers import speakers_in, viewer_of
from hermes.agent.spec import SessionOptions
from hermes.runtime import Runtime, open_runtime
from hermes.testing import ScriptedModel, Turn, call, calls, say
from hermes.types.actor import Actor
from hermes.types.message import ToolResult

from .family import FamilyModel, task
from .test_file_commands import Person
from .test_recall import Heard, recalled
from .test_recall import runtime as slow_runtime

pytestmark = pytest.mark.anyio
NUMBERS = itertools.count()
SQLITE = {"memory.provider": "sqlite"}
ADA, BOB, OWNER = Actor(app="chat", id="ada"), Actor(app="chat", id="bob"), Actor()
ELM = "The elm of {} stands by the gate."


@asynccontextmanager
async def runtime(
    environ: dict[str, str], model: ScriptedModel, flags: Mapping[str, Any] | None = None
) -> AsyncIterator[Runtime]:
    async with open_runtime(environ=environ, http=model.http(), flags={**SQLITE, **(flags or {})}) as opened:
        yield opened


@asynccontextmanager
async def opened(home: Runtime, cwd: Path, **more: Any) -> AsyncIterator[Session]:
    given = {"toolsets": ("memory", "session_search"), "base_url": "http://127.0.0.1:1/v1", "model": "m"}
    session = await home.session(SessionOptions(**{"cwd": cwd, **given, **more}))
    try:
        yield session
    finally:
        await session.close()


def model(*turns: Turn) -> ScriptedModel:
    """A model for several sessions, each with a prefix of its own."""
    return ScriptedModel(*(replace(turn, breaks_prefix=True) for turn in turns))


def called(name: str, **arguments: Any) -> Turn:
    return call(name, arguments, call_id=f"c{next(NUMBERS)}")


def answers(session: Session) -> list[dict[str, Any]]:
    return [json.loads(one.content) for one in session.log if isinstance(one, ToolResult)]


def facts(home: Runtime) -> dict[str, str]:
    """All facts that are kept, each with whom it is for."""
    return {one.text: one.origin for one in home.services.recall._provider.noted()}  # type: ignore[union-attr]


async def each_notes_an_elm(environ: dict[str, str], cwd: Path) -> None:
    """Ada, Bob and the owner each have a fact noted, in a session of their own that says so."""
    script = [(called("remember", text=ELM.format(one.origin)), say("noted")) for one in (ADA, BOB, OWNER)]
    async with runtime(environ, model(*itertools.chain(*script))) as home:
        for one in (ADA, BOB, OWNER):
            async with opened(home, cwd, actor=one) as session:
                await session.send(f"elm of {one.origin}")


def look() -> list[Turn]:
    return [
        called("recall", query="elm"),
        called("session_search", query="elm of", role_filter="user"),
        called("remember", text="The pear is ripe."),
        say("done"),
    ]


NOTHING = {"success": True, "facts": [], "note": SHARED}


@pytest.mark.parametrize(
    ("opener", "first", "second", "sessions", "noted"),
    [
        (BOB, BOB, ADA, [], "chat:ada"),
        (BOB, None, ADA, [], "chat:ada"),  # who opened it may read along
        (OWNER, OWNER, ADA, ["elm of chat:ada"], "chat:ada"),
        (ADA, ADA, OWNER, ["elm of chat:ada"], ""),
    ],
)
async def test_who_joins_a_session_is_told_nothing_of_others_and_notes_for_herself(
    environ: dict[str, str],
    tmp_path: Path,
    opener: Actor,
    first: Actor | None,
    second: Actor,
    sessions: list[str],
    noted: str,
) -> None:
    await each_notes_an_elm(environ, tmp_path)
    script = model(*([say("hello")] if first else []), *look())
    async with runtime(environ, script) as home, opened(home, tmp_path, actor=opener) as shared:
        if first:
            await shared.send("good morning", by=first)
        await shared.send("where does the elm stand?", by=second)
        found, past, kept = answers(shared)
        assert (recalled(shared), found, kept["success"]) == ([], NOTHING, True)
        assert [one["messages"][0]["text"] for one in past["results"]] == sessions
        assert facts(home)["The pear is ripe."] == noted
        assert f"**Facts of sqlite**\n\n{SHARED}" in await Person(shared).types("/memory")


async def test_one_who_speaks_alone_is_told_what_is_hers_whoever_opened_the_session(
    environ: dict[str, str], tmp_path: Path
) -> None:
    await each_notes_an_elm(environ, tmp_path)
    async with runtime(environ, model(*look())) as home, opened(home, tmp_path, actor=OWNER) as session:
        await session.send("where does the elm stand?", by=ADA)
        found, past, _ = answers(session)
        assert [one["text"] for one in found["facts"]] == [ELM.format("chat:ada")]
        assert [one["messages"][0]["text"] for one in past["results"]] == ["elm of chat:ada"]
        assert facts(home)["The pear is ripe."] == "chat:ada"


async def test_those_who_share_a_session_find_what_they_said_there_together(
    environ: dict[str, str], tmp_path: Path
) -> None:
    script = model(say("."), say("."), say("."), called("session_search", query="plum"), say("."))
    async with runtime(environ, script) as home:
        for number in range(2):
            async with opened(home, tmp_path, actor=BOB) as session:
                await session.send(f"plum {number}")
                await session.send("plum and pear", by=ADA)
    ((found,),) = [one["results"] for one in answers(session)]
    assert found["messages"][0]["text"] in {"plum 0", "plum and pear"}


async def test_in_a_turn_that_two_speak_in_nothing_is_noted_or_forgotten(
    environ: dict[str, str], tmp_path: Path
) -> None:
    await each_notes_an_elm(environ, tmp_path)

    @hermes.tool(outside=False)
    def wait() -> str:
        """Wait until somebody says something."""
        session.steer("remember that the key is under the elm", by=ADA)
        return "said"

    script = (
        called("wait"), called("remember", text="The key is under the elm."), say("."),
        called("remember", text="The plum is Bob's."), say("."),
    )  # fmt: skip
    async with (
        runtime(environ, model(*script)) as home,
        opened(home, tmp_path, actor=BOB, functions=(wait,)) as session,
    ):
        before = facts(home) if home.services.recall._provider else {}
        await session.send("good morning")
        assert answers(session)[-1] == {"error": SEVERAL}
        await session.send("go on")
        assert facts(home) == {**before, "The plum is Bob's.": "chat:bob"}


async def test_what_was_looked_for_beforehand_for_one_is_not_told_to_another(
    environ: dict[str, str], tmp_path: Path
) -> None:
    free = threading.Event()

    def prefetch(query: str) -> list[Recalled]:
        if query == "second":
            free.wait()
        return [Recalled(text=query)]

    flags = {"memory.recall_timeout": 0.2}
    async with slow_runtime(environ, ScriptedModel("one", "two"), flags, 0.1) as home:
        home.services.recall.use(Heard(prefetch))
        async with opened(home, tmp_path, actor=BOB, toolsets=()) as session:
            try:
                await session.send("first")
                await home.services.recall._heard[session.id].wait()
                await session.send("second", by=ADA)
            finally:
                free.set()
        assert recalled(session) == ["first"]


@pytest.mark.parametrize(
    ("speakers", "found", "origins"),
    [
        ((ADA,), [ELM.format("chat:ada")], {"chat:ada"}),
        ((OWNER,), [ELM.format("cli")], {""}),
        ((BOB, ADA), [], {"chat:ada", "chat:bob"}),
    ],
)
async def test_a_child_looks_up_what_those_may_see_who_speak_above_it(
    environ: dict[str, str], tmp_path: Path, speakers: tuple[Actor, ...], found: list[str], origins: set[str]
) -> None:
    await each_notes_an_elm(environ, tmp_path)
    family = FamilyModel(
        {
            "good morning": [
                *[say("hello")] * (len(speakers) - 1),
                calls(task("find the oak", role="orchestrator")),
                say("."),
            ],
            "find the oak": [calls(task("find the ash")), say(".")],
            "find the ash": [called("recall", query="elm"), say(".")],
        }
    )
    given = {"toolsets": ("memory", "delegation"), "actor": speakers[0]}
    async with (
        runtime(environ, family, {"delegation.max_spawn_depth": 2}) as home,
        opened(home, tmp_path, **given) as session,
    ):
        for one in speakers:
            await session.send("good morning", by=one)
        (told,) = [json.loads(one["content"]) for one in family.told("find the ash") if one["role"] == "tool"]
        assert [one["text"] for one in told["facts"]] == found
        (child,) = await home.store.children(session.id)
        (below,) = await home.store.children(child.id)
    async with (
        runtime(environ, model(say("."))) as home,
        opened(home, tmp_path, resume=below.id) as again,
    ):
        await again.send("once more")
        assert (await viewer_of(again)).origins == origins
        assert (await speakers_in(again)).one == next(iter(origins - {"chat:bob"}))
