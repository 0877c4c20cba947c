"""A memory provider in the original's form works as one of ours."""

from pathlib import Path

import pytest

from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.types.message import ToolResult, User
from tests.scenarios.planted_plugins import Plant, options

pytestmark = pytest.mark.anyio
MEMORY = """
import json
from pathlib import Path
from agent.memory_provider import MemoryProvider

class Diary(MemoryProvider):
    name = "diary"

    def is_available(self):
        from hermes_cli.config import get_env_value
        return get_env_value("DIARY") != "off"

    def initialize(self, session_id, **keywords):
        self.file = Path(keywords["hermes_home"]) / "diary.txt"
        self.told = ["initialize"]

    def get_tool_schemas(self):
        return [{"name": "diary_read", "description": "Read the diary.", "parameters": {"type": "object", "properties": {}}}]

    def system_prompt_block(self):
        return "There is a diary."

    def prefetch(self, query, *, session_id=""):
        return "The user likes cats." if "pet" in query else ""

    def sync_turn(self, user_content, assistant_content, *, session_id=""):
        self.told.append(f"{user_content} -> {assistant_content}")

    def handle_tool_call(self, tool_name, args, **keywords):
        return json.dumps({"tool": tool_name, "pages": 3})

    def on_session_switch(self, new_session_id, **keywords):
        self.told.append("switch")

    def on_session_end(self, messages):
        self.told.append(f"end of {len(messages)}")

    def shutdown(self):
        self.file.write_text("\\n".join(self.told))

    def get_config_schema(self):
        return [{"key": "diary", "env_var": "DIARY", "required": True}]

def register(ctx):
    ctx.register_memory_provider(Diary())
"""


def chosen(environ: dict[str, str], plant: Plant) -> Path:
    plant("diary", MEMORY)
    home = Path(environ["HERMES_HOME"])
    (home / "config.yaml").write_text("plugins: {enabled: [diary]}\nmemory: {provider: diary}\n")
    return home


async def test_it_is_asked_and_told_and_what_it_recalls_is_from_outside(
    environ: dict[str, str], plant: Plant, tmp_path: Path
) -> None:
    home, model = (
        chosen(environ, plant),
        ScriptedModel(call("diary_read", {}), say("Three pages."), say("A cat.")),
    )
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(options(tmp_path))
        await session.send("Read it.")
        await session.send("Which pet do I want?")
        _, asked = [one for one in session.log if isinstance(one, User)]
        (read,) = [one for one in session.log if isinstance(one, ToolResult)]
        system = session.spec.system
        await session.close()
    assert [(one.kind, one.text, one.outside) for one in asked.blocks if one.source == "diary"] == [
        ("memory", "The user likes cats.", "memory of diary")
    ]
    assert (read.content, read.outside) == ('{"tool": "diary_read", "pages": 3}', "diary")
    assert "There is a diary." in system
    assert (home / "diary.txt").read_text().splitlines() == [
        "initialize",
        "switch",
        "Read it. -> Three pages.",
        "Which pet do I want? -> A cat.",
        "end of 4",
    ]


async def test_sessions_go_without_one_that_is_not_available_and_say_so(
    environ: dict[str, str], plant: Plant, tmp_path: Path
) -> None:
    chosen(environ, plant)
    model = ScriptedModel(say("No idea."))
    async with open_runtime(environ={**environ, "DIARY": "off"}, http=model.http()) as runtime:
        session = await runtime.session(options(tmp_path))
        async with session.stream("Which pet?") as stream:
            events = [event async for event in stream]
        await session.close()
    notices = [event.text for event in events if event.kind == "notice"]
    assert [text for text in notices if "diary" in text] == [
        "The memory provider diary is not in use: it says that it is not available; it needs DIARY."
    ]
