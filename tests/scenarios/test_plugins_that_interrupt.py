"""A KeyboardInterrupt that a plugin raises by itself is a fault of the plugin, and ends nothing of ours."""

from pathlib import Path

import pytest

from hermes.testing import call, say
from hermes.types.message import ToolResult
from tests.scenarios.planted_plugins import Plant, configure, opened, options, plant

__all__ = ["plant"]
pytestmark = pytest.mark.anyio

CODE = """
SCHEMA = {"parameters": {"type": "object", "properties": {}}}
def plain(*args, **told):
    raise KeyboardInterrupt
async def awaiting(*args, **told):
    raise KeyboardInterrupt
async def grouped(*args, **told):
    raise BaseExceptionGroup("both", [KeyboardInterrupt(), ValueError()])
def register(ctx):
    for one in (plain, awaiting, grouped):
        ctx.register_tool(one.__name__, "own", {"name": one.__name__, **SCHEMA}, one, is_async=one is not plain)
        ctx.register_command(one.__name__, one)
    if HOOKS:
        for one in (plain, awaiting, grouped):
            for kind in ("llm_request", "llm_execution", "tool_request", "tool_execution"):
                ctx.register_middleware(kind, one)
            ctx.register_hook("pre_llm_call", one)
            ctx.register_hook("post_tool_call", one)
"""


@pytest.mark.parametrize("hooks", [False, True])
async def test_what_a_plugin_interrupts_is_its_own_part(
    environ: dict[str, str], plant: Plant, tmp_path: Path, hooks: bool
) -> None:
    plant("own", f"HOOKS = {hooks}\n{CODE}")
    configure(environ, enabled=["own"])
    names = ("plain", "awaiting", "grouped")
    replies = [*(call(name, {}) for name in names), say("done")]
    async with opened(environ, *replies) as runtime:
        assert [(one.state, one.faults) for one in runtime.plugins] == [("loaded", ())]
        session = await runtime.session(options(tmp_path))
        end = await session.send("go")
        await session.close()
    assert (end.outcome, end.text) == ("done", "done")
    assert [one.content for one in session.log if isinstance(one, ToolResult)] == [
        f'{{"error": "{name} failed: it raised KeyboardInterrupt."}}' for name in names
    ]
