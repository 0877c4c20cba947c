"""A session finds what was said in earlier ones, as far as it may see them, and gains nothing by it."""

import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import hermes
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.runtime import Runtime, open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.testing.script import Turn
from hermes.types.actor import DELEGATION, Actor
from hermes.types.capabilities import Capabilities
from hermes.types.message import ToolResult

pytestmark = pytest.mark.anyio
NUMBERS = itertools.count()


@hermes.tool
def fetch() -> str:
    """Read something that others wrote."""
    return "the elm is sick"


@asynccontextmanager
async def runtime(environ: dict[str, str], *script: Turn) -> AsyncIterator[Runtime]:
    """A runtime whose sessions and side calls are answered in turn, whatever prefix each has."""
    model = ScriptedModel(*(replace(turn, breaks_prefix=True) for turn in script))
    async with open_runtime(environ=environ, http=model.http()) as opened:
        yield opened


@asynccontextmanager
async def opened(home: Runtime, cwd: Path, **more: Any) -> AsyncIterator[Session]:
    given = {
        "toolsets": ("session_search",),
        "cwd": cwd,
        "base_url": "http://127.0.0.1:1/v1",
        "model": "m",
        **more,
    }
    session = await home.session(SessionOptions(**given))
    try:
        yield session
    finally:
        await session.close()


def answers(session: Session) -> list[dict[str, Any]]:
    return [json.loads(one.content) for one in session.log if isinstance(one, ToolResult)]


def search(**arguments: Any) -> Turn:
    return call("session_search", arguments, call_id=f"c{next(NUMBERS)}")


async def test_what_was_said_is_found_with_what_stands_around_and_listed_and_read_on(
    environ: dict[str, str], tmp_path: Path
) -> None:
    script = (
        say("Plant it in March."),
        search(query="elm"), search(query="elm", role_filter="assistant"), search(), search(session_id="SELF"),
        search(role_filter="cat", query="x"), search(since="yesterday"), search(session_id="nobody"), say("done"),
    )  # fmt: skip
    async with runtime(environ, *script) as home:
        async with opened(home, tmp_path) as first:
            await first.send("When do I plant the elm?")
        async with opened(home, tmp_path) as second:
            await second.send("what did I ask of the elm?")
            found, by_role, listed, unknown, role, day, nobody = answers(second)
    (hit,) = found["results"]
    assert (hit["session_id"], hit["matched_role"], hit["match_message"], hit["more_hits"]) == (
        first.id,
        "user",
        1,
        0,
    )
    assert hit["messages"] == [
        {"number": 1, "role": "user", "text": "When do I plant the elm?"},
        {"number": 2, "role": "assistant", "text": "Plant it in March."},
    ]
    assert by_role["results"] == []
    assert [one["session_id"] for one in listed["sessions"]] == [first.id]
    assert listed["sessions"][0]["begins_with"] == "When do I plant the elm?"
    assert unknown["error"].startswith("There is no session SELF")
    assert role["error"] == "role_filter names cat; there are user, assistant, tool."
    assert day["error"] == "yesterday is no day such as 2026-05-01."
    assert nobody["error"].startswith("There is no session nobody")


async def test_a_stretch_of_a_session_is_read_by_the_numbers_that_a_hit_gives(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with runtime(environ, *(say(f"answer {at}") for at in range(4))) as home:
        first = await home.session(SessionOptions(cwd=tmp_path, base_url="http://127.0.0.1:1/v1", model="m"))
        for at in range(4):
            await first.send(f"question {at}")
        await first.close()
    script = (
        search(session_id=first.id, around_message=3, window=1),
        search(session_id=first.id, window=1),
        say("."),
    )
    async with runtime(environ, *script) as home, opened(home, tmp_path) as second:
        await second.send("go")
        middle, end = answers(second)
    assert [one["text"] for one in middle["messages"]] == ["answer 0", "question 1", "answer 1"]
    assert ([one["number"] for one in end["messages"]], end["of"]) == ([7, 8], 8)


async def test_hits_are_summed_up_by_the_side_model_on_request(
    environ: dict[str, str], tmp_path: Path
) -> None:
    script = (
        say("In March."),
        search(query="elm", summarize=True),
        say("In March, it was said."),
        say("done"),
    )
    async with runtime(environ, *script) as home:
        async with opened(home, tmp_path) as first:
            await first.send("When to plant the elm?")
        async with opened(home, tmp_path) as second:
            await second.send("go")
            (found,) = answers(second)
    assert found["summary"] == "In March, it was said."


async def test_what_a_session_had_read_from_outside_counts_as_from_outside(
    environ: dict[str, str], tmp_path: Path
) -> None:
    script = (call("fetch", {}), say("It is sick."), search(query="sick"), search(query="tidy"), say("done"))
    async with runtime(environ, *script, say("I see.")) as home:
        async with opened(home, tmp_path, functions=(fetch,), toolsets=()) as first:
            await first.send("look")
        async with opened(home, tmp_path) as second:
            await second.send("go")
            outside = [one.outside for one in second.log if isinstance(one, ToolResult)]
    assert outside == [f"the session {first.id}, which had read the tool fetch", ""]


async def test_nobody_sees_more_than_what_he_could_have_read_himself(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """Not a session of wider bounds, of another user, or of one in whose name no parent works."""
    ada, bob = Actor(app="chat", id="ada"), Actor(app="chat", id="bob")
    async with runtime(environ, *(say("canary") for _ in range(3))) as home:
        for actor in (Actor(), ada, bob):
            async with opened(home, tmp_path, actor=actor) as session:
                await session.send(f"canary of {actor.origin}")
                parent = session.id
    found = {}
    cases: dict[str, dict[str, Any]] = {
        "owner": {},
        "ada": {"actor": ada},
        "narrow": {"capabilities": Capabilities(read=(str(tmp_path),))},
        "child of bob": {"parent": parent, "actor": Actor(app=DELEGATION, id=parent)},
    }
    for name, options in cases.items():
        async with (
            runtime(
                environ, search(query="canary of", role_filter="user", limit=9), search(), say(".")
            ) as home,
            opened(home, tmp_path, **options) as session,
        ):
            await session.send("go")
            hits, listed = answers(session)
            found[name] = sorted(one["messages"][0]["text"] for one in hits["results"])
            assert (
                sorted(one["begins_with"] for one in listed["sessions"] if one["begins_with"] != "go")
                == found[name]
            )
    everything = ["canary of chat:ada", "canary of chat:bob", "canary of cli"]
    assert found == {
        "owner": everything,
        "ada": everything[:1],
        "narrow": [],
        "child of bob": everything[1:2],
    }
