"""A script whose Hermes was killed does not go on; its call is answered once, with what it had called, and no folder stays."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from hermes.agent.recovery import UNKNOWN
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.types.message import ToolResult

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
SCRIPTER = Path(__file__).with_name("scripter.py")
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mode", ["project", "strict", "project kernel", "project free"])
async def test_a_script_of_a_killed_process_is_gone_and_its_call_answered(tmp_path: Path, mode: str) -> None:
    (tmp_path / "work").mkdir()
    with subprocess.Popen(
        [sys.executable, SCRIPTER, tmp_path, *mode.split()], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        under = psutil.Process(process.pid).children(recursive=True)
        assert any("python3" in one.name() for one in under)
        assert any("618" in one.cmdline() for one in under)
        process.kill()
    assert psutil.wait_procs(under, timeout=60)[1] == []
    environ = {"HOME": str(tmp_path), "HERMES_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    model = ScriptedModel(call("execute_code", {"code": "print('again')"}), say("I see"))
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        options = SessionOptions(
            resume=told["session"], base_url="http://127.0.0.1:1/v1", model="m", cwd=tmp_path / "work"
        )
        session = await runtime.session(options)
        await session.send("what became of it?")
        cut, again = (json.loads(one.content) for one in session.log if isinstance(one, ToolResult))
        await session.close()
    assert cut == {"error": UNKNOWN, "status": "outcome_unknown", "calls_ended": 1, "calls_cut": 1}
    assert [one.parent.name for one in tmp_path.rglob("pid")] == (["work"] if mode != "strict" else [])
    assert (again["output"], list((tmp_path / "home").rglob("tools-*"))) == ("again\n", [])
