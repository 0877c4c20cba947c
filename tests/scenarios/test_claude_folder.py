"""What hooks in `.claude/hooks` load lies there, too: a session changes nothing in that folder without a yes."""

from pathlib import Path

import pytest

from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say
from tests.scenarios.planted_plugins import options

pytestmark = pytest.mark.anyio

PLANT = "mkdir -p .claude/hooks 2>&1; echo import os > .claude/hooks/json.py; echo {} > .claude/settings.json"


@pytest.mark.parametrize("is_there", [False, True])
async def test_no_command_and_no_tool_puts_a_module_beside_a_hook(
    environ: dict[str, str], tmp_path: Path, *, is_there: bool
) -> None:
    project = tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    if is_there:
        (project / ".claude/hooks").mkdir()
        (project / ".claude/hooks/guard.py").write_text("import json")
    before = sorted(project.rglob("*"))
    model = ScriptedModel(
        call("terminal", {"command": PLANT}),
        call("write_file", {"path": ".claude/hooks/json.py", "content": "import os"}),
        call("write_file", {"path": ".claude/settings.local.json", "content": "{}"}),
        say("done"),
    )
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(options(project, attended=False))
        end = await session.send("go")
        await session.close()
    assert (end.outcome, sorted(project.rglob("*"))) == ("refused", before)
