"""A tool that needs a secret names it, and gets that one; no other tool and no command does."""

import json
from pathlib import Path
from typing import Any

import pytest

import hermes
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.types.message import ToolResult
from hermes.types.tool import ToolContext

pytestmark = pytest.mark.anyio

SECRET = "open sesame 4711"  # under a name that says nothing, and in no form that a key has


@hermes.tool(requires_env=["PROBE_LOGIN"])
async def enter(ctx: ToolContext, by: str) -> dict[str, Any]:
    """Log in: by a command of its own, or in this process."""
    secret = ctx.secret("PROBE_LOGIN")
    if by == "command":
        done = await ctx.workspace.run(
            "cat >given; env -0 >seen-by-its-command", timeout=20, stdin=secret.encode()
        )
        return {"code": done.code}
    return {"secret": secret, "backwards": secret[::-1]}


@hermes.tool
def pry(ctx: ToolContext, name: str) -> str:
    """Ask for a secret of another tool."""
    return ctx.secret(name)


@hermes.tool(requires_env=["NOT_SET"])
def lame(ctx: ToolContext) -> str:
    """Needs what is not there."""
    return ctx.secret("NOT_SET")


async def test_a_secret_reaches_the_tool_that_names_it_and_nothing_else(
    environ: dict[str, str], tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    model = ScriptedModel(
        call("terminal", {"command": "env -0 >seen-before"}),
        call("pry", {"name": "PROBE_LOGIN"}),
        call("enter", {"by": "command"}),
        call("terminal", {"command": "env -0 >seen-after; set >>seen-after; export -p >>seen-after"}),
        call("enter", {"by": "itself"}),
        call("terminal", {"command": "cat given"}),
        say("done"),
    )
    options = SessionOptions(
        base_url="http://x/v1",
        model="m",
        toolsets=("terminal",),
        functions=(enter, pry, lame),
        cwd=work,
        attended=False,
        yolo=True,
    )
    async with open_runtime(environ={**environ, "PROBE_LOGIN": SECRET}, http=model.http()) as runtime:
        session = await runtime.session(options)
        await session.send("go on")
        results = [json.loads(one.content) for one in session.log if isinstance(one, ToolResult)]
        await session.close()
    offered = {tool["function"]["name"] for tool in model.requests[0]["tools"]}
    assert offered & {"enter", "pry", "lame"} == {"enter", "pry"}
    assert results[1]["error"] == (
        "Tool execution failed: SecretUnavailable: The tool pry asked for PROBE_LOGIN, which is not in its requires_env; name it there."
    )
    assert (results[2], results[4], results[5]["output"]) == (
        {"code": 0},
        {"secret": "[redacted]", "backwards": "[redacted]"},
        "[redacted]",
    )
    assert (work / "given").read_text() == SECRET
    assert [
        path.name for path in work.iterdir() if path.name.startswith("seen") and SECRET in path.read_text()
    ] == []
    assert SECRET not in json.dumps(model.requests)
