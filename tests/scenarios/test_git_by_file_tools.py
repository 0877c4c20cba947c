"""File tools ask before they write what git runs."""

import subprocess
from pathlib import Path

import pytest

from hermes.testing import ScriptedModel, call, say
from hermes.types.message import ToolResult

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
