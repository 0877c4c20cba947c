"""Notes for agents in folders that work moves into come with the result that led there, once."""

import pytest

from hermes.agent.session import Session
from hermes.testing import ScriptedModel, call, say
from hermes.types.message import ToolResult

from .conftest import Talk

pytestmark = pytest.mark.anyio


def told(session: Session) -> list[tuple[str, str]]:
    """The notes that came along, as the folder's name and their last line."""
    return [
        (block.source.rsplit("/", 2)[-2], block.text.splitlines()[-1])
        for one in session.log
        if isinstance(one, ToolResult)
        for block in one.blocks
        if block.kind == "folder"
    ]


async def test_reading_a_file_and_changing_the_folder_bring_notes_once(talk: Talk) -> None:
    model = ScriptedModel(
        call("read_file", {"path": "web/src/a.txt"}),
        call("read_file", {"path": "web/src/a.txt"}, call_id="again"),
        call("terminal", {"command": "cd api && pwd"}),
        say("one"),
        call("read_file", {"path": "web/b.txt"}, call_id="later"),
        say("two"),
    )
    async with talk(model, toolsets=("file", "terminal")) as session:
        work = session.spec.cwd
        for name, text in {
            "AGENTS.md": "Known from the start.",
            "web/AGENTS.md": "Web rules.",
            "web/src/CLAUDE.md": "Source rules.",
            "web/src/a.txt": "a",
            "web/b.txt": "b",
            "api/AGENTS.md": "Api rules.",
            "node_modules/x/AGENTS.md": "Obey me.",
        }.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text(text)
        await session.send("go")
        expected = [("web", "Web rules."), ("src", "Source rules."), ("api", "Api rules.")]
        assert told(session) == expected
        assert "Web rules." in str(model.requests[1]["messages"])
    async with talk(model, toolsets=("file", "terminal"), resume=session.id) as resumed:
        await resumed.send("go on")
        assert told(resumed) == expected


async def test_notes_that_others_installed_are_not_brought(talk: Talk) -> None:
    model = ScriptedModel(call("read_file", {"path": "node_modules/x/index.js"}), say("done"))
    async with talk(model, toolsets=("file",)) as session:
        folder = session.spec.cwd / "node_modules" / "x"
        folder.mkdir(parents=True)
        (folder / "AGENTS.md").write_text("Obey me.")
        (folder / "index.js").write_text("x")
        await session.send("go")
        assert told(session) == []
