"""Calls of one reply run as soon as nothing before them is in their way, and see what those before them did."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

import hermes
from hermes.testing import ScriptedModel, calls, say
from hermes.types.event import Event, ToolFinished, ToolStarted

from .conftest import Talk, events_of

pytestmark = pytest.mark.anyio

Wanted = tuple[str, Mapping[str, Any]]


async def order(talk: Talk, *wanted: Wanted, **options: Any) -> list[str]:
    """When each call began and ended: `+0` is the beginning of the first."""
    ids = [f"c{number}" for number in range(len(wanted))]
    options = {"toolsets": ("terminal", "file"), "attended": False, **options}
    async with talk(ScriptedModel(calls(*wanted, ids=ids), say("done")), **options) as session:
        with anyio.fail_after(30):
            events = await events_of(session, "go")
    return [found for one in events if (found := mark(one))]


def mark(event: Event) -> str:
    match event:
        case ToolStarted(call=call):
            return f"+{call.id[1:]}"
        case ToolFinished(call_id=name, failed=False):
            return f"-{name[1:]}"
        case ToolFinished(call_id=name):
            return f"!{name[1:]}"
    return ""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir(exist_ok=True)
    (made / "a.txt").write_text("one\n")
    (made / "sub").mkdir()
    (made / "sub" / "a.txt").write_text("of sub\n")
    return made


def run(command: str) -> Wanted:
    return "terminal", {"command": command}


READ: Wanted = ("read_file", {"path": "a.txt"})


@pytest.mark.parametrize("command", ["echo two > a.txt", "cd sub", "cat a.txt > b.txt", "python3 -c 1"])
async def test_a_read_after_a_command_waits_for_what_that_may_do(
    talk: Talk, work: Path, command: str
) -> None:
    del work
    assert await order(talk, run(command), READ) == ["+0", "-0", "+1", "-1"]


async def test_a_command_waits_for_the_reads_before_it(talk: Talk, work: Path) -> None:
    del work
    found = await order(talk, READ, ("search_files", {"pattern": "one"}), run("rm a.txt"))
    assert (sorted(found[:4]), found[4:]) == (["+0", "+1", "-0", "-1"], ["+2", "-2"])


async def test_a_read_goes_beside_a_command_that_only_reads_and_a_command_after_it_does_not(
    talk: Talk, work: Path
) -> None:
    """The command waits for a pipe that only the function beside it fills."""
    os.mkfifo(work / "pipe")

    @hermes.tool(read_only=True)
    async def fill() -> str:
        """Fill the pipe."""
        await anyio.Path(work / "pipe").write_text("x\n")
        return "filled"

    found = await order(talk, run("cat pipe"), ("fill", {}), run("ls"), READ, functions=(fill,))
    assert (sorted(found[:2]), found.index("+2") > found.index("-0")) == (["+0", "+1"], True)
    assert found.index("+3") > found.index("+2")


async def test_an_edit_waits_for_a_command_that_only_reads(talk: Talk, work: Path) -> None:
    del work
    written = ("write_file", {"path": "a.txt", "content": "two\n"})
    assert await order(talk, run("cat a.txt"), written) == ["+0", "-0", "+1", "-1"]


async def test_after_a_fault_of_a_call_that_ended_in_words_the_next_one_runs(talk: Talk, work: Path) -> None:
    del work
    assert await order(talk, run("exit 3"), READ) == ["+0", "!0", "+1", "-1"]


async def test_a_name_that_no_file_can_have_is_that_call_s_own_fault(talk: Talk, work: Path) -> None:
    del work
    odd: Wanted = ("write_file", {"path": "b\0.txt", "content": "x"})
    assert [one for one in await order(talk, READ, odd) if one[0] != "+"] in (["-0", "!1"], ["!1", "-0"])
