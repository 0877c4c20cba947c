"""File tools ask before they write what git runs, and about files of secrets no more often than need be."""

import subprocess
from pathlib import Path

import pytest

from hermes.testing import ScriptedModel, call, say
from hermes.types.event import Asked
from hermes.types.message import ToolResult
from hermes.types.question import Approve, Grant

from .test_execute_code import opened

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "path", ["store/config", "store/hooks/pre-commit", "link/config", "bare.git/hooks/update"]
)
async def test_settings_and_hooks_of_git_are_asked_about_whatever_its_folder_is_called(
    environ: dict[str, str], tmp_path: Path, path: str
) -> None:
    work = tmp_path / "project"
    for words in (["--separate-git-dir", f"{work}/store", f"{work}"], ["--bare", f"{work}/bare.git"]):
        subprocess.run(["git", "init", "-q", *words], check=True)
    (work / "link").symlink_to("store")
    before = (work / "store/config").read_bytes()
    model = ScriptedModel(call("write_file", {"path": path, "content": "x"}), call("write_file", {"path": "a.txt", "content": "x"}), say("done"))  # fmt: skip
    async with opened(environ, work, model, {}, toolsets=("file",), attended=False) as session:
        await session.send("go")
        refused, written = (one for one in session.log if isinstance(one, ToolResult))
    assert ("makes something run later" in refused.content, written.failed) == (True, False)
    assert ((work / "store/config").read_bytes(), (work / "a.txt").read_text()) == (before, "x")
    assert not (work / "bare.git/hooks/update").exists()


async def test_each_thing_that_is_done_to_a_file_of_secrets_is_asked_about_once(
    environ: dict[str, str], tmp_path: Path
) -> None:
    work = tmp_path / "project"
    work.mkdir()
    (work / ".env").write_text("A_TOKEN=abcdefghijkl123456\n")
    steps = [
        call("read_file", {"path": "new/.env"}),
        call("write_file", {"path": ".env", "content": "A_TOKEN=none\n"}),
    ]
    model = ScriptedModel(*steps, say("done"))
    asked = []
    async with (
        opened(environ, work, model, {}, toolsets=("file",), attended=True) as session,
        session.stream("go") as events,
    ):
        async for event in events:
            if isinstance(event, Asked) and isinstance(event.question, Approve):
                asked.append(event.question.command.replace(str(work), "."))
                session.answer(event.id, Grant())
    assert asked == ["read ./.env", "write ./.env"]
    assert (work / ".env").read_text() == "A_TOKEN=none\n"
