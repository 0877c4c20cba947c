"""Notes for agents in folders that work moves into come with the result that led there, once."""

from pathlib import Path

import pytest

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
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


@pytest.mark.parametrize(("prompt", "told"), [("auto", False), ("full", True)])
async def test_a_model_with_a_small_window_gets_notes_where_that_is_set(
    environ: dict[str, str], tmp_path: Path, prompt: str, told: bool
) -> None:
    (tmp_path / "AGENTS.md").write_text("Say heron.\n")
    model = ScriptedModel("ok")
    flags = {"agent.prompt": prompt, "model.context_window": 8_000}
    async with open_runtime(environ=environ, flags=flags, http=model.http()) as runtime:
        session = await runtime.session(
            SessionOptions(base_url="http://127.0.0.1:1/v1", model="m", cwd=tmp_path)
        )
        await session.send("hi")
        await session.close()
    assert ("Say heron." in str(model.requests[0]["messages"][0])) is told
