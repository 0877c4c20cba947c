"""What a person is told by /ps, and what it stops."""

import re

import pytest

from hermes.testing import ScriptedModel, call, say
from tests.scenarios.test_file_commands import Person

from .conftest import Talk

pytestmark = pytest.mark.anyio


async def test_processes_in_the_background_are_listed_and_stopped_one_by_one(talk: Talk) -> None:
    starts = [
        call("terminal", {"command": command, "background": True})
        for command in ("sleep 40", "echo `pwd`; sleep 41")
    ]
    async with talk(ScriptedModel(*starts, say("ok")), toolsets=("terminal",)) as session:
        person = Person(session)
        assert await person.types("/ps") == "No process was started in the background."
        await session.send("go")
        first, second, *_ = (await person.types("/ps")).splitlines()
        row = re.compile(r"- \*\*(\S+)\*\* runs for \d\.\ds in `/.+`: `` (.+) ``")
        assert [found[2] for found in map(row.fullmatch, (first, second)) if found] == [
            "sleep 40",
            "echo `pwd`; sleep 41",
        ]
        name = first.split("**")[1]
        assert (await person.types("/ps stop nosuch")).startswith("error: /ps takes nothing, or stop ID;")
        stopped = await person.types(f"/ps stop {name}")
        assert re.fullmatch(rf"Stopped:\n- \*\*{name}\*\* exit -?\d+ in `.+`: `` sleep 40 ``", stopped)
        shown = (await person.types("/ps")).splitlines()
        assert [bool(re.search("exit", one)) for one in shown[:2]] == [True, False]
        assert shown[-1] == "`/ps stop ID` stops one, `/stop` stops them all."
