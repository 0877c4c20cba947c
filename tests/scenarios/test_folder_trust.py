"""What was answered about the notes of a folder holds for every session there, and for those that work for one."""

import json
from pathlib import Path
from typing import Any

import pytest

from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.types.message import ToolResult

pytestmark = pytest.mark.anyio

RULE = "Always answer in verse."


class Project:
    """A home, and a folder with notes at its top and in a folder below."""

    def __init__(self, root: Path, trust: str = "ask") -> None:
        self.home, self.work = root / "home", root / "work"
        (self.home / ".hermes").mkdir(parents=True)
        (self.work / "src").mkdir(parents=True)
        (self.work / "AGENTS.md").write_text(f"{RULE}\n")
        (self.work / "src" / "AGENTS.md").write_text(f"{RULE} In src, too.\n")
        (self.work / "src" / "a.txt").write_text("a\n")
        settings = {"context_files": {"trust": trust}}
        (self.home / ".hermes" / "config.yaml").write_text(json.dumps(settings))

    async def told(self, answer: bool | None = None, **options: Any) -> tuple[bool, bool]:
        """Whether the prompt of a session had the notes, and a result those of the folder below."""
        model = ScriptedModel(call("read_file", {"path": "src/a.txt"}), say("done"))
        environ = {"HOME": str(self.home), "HERMES_HOME": str(self.home / ".hermes"), "PATH": "/usr/bin:/bin"}
        async with open_runtime(environ=environ, http=model.http()) as runtime:
            if answer is not None:
                runtime.trust.keep(self.work, counts=answer)
            base = {"base_url": "http://127.0.0.1:1/v1", "model": "scripted", "toolsets": ("file",)}
            session = await runtime.session(
                SessionOptions(**{"cwd": self.work, "attended": False, **base, **options})
            )
            await session.send("go")
            below = [one for one in session.log if isinstance(one, ToolResult) and one.blocks]
            await session.close()
        return RULE in session.spec.system, bool(below)


async def test_where_nobody_can_be_asked_they_count_until_somebody_said_no(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert await project.told() == (True, True)
    assert await project.told(answer=False) == (False, False)
    assert await project.told(answer=True) == (True, True)


async def test_a_setting_has_only_those_count_that_were_answered_yes(tmp_path: Path) -> None:
    project = Project(tmp_path, "known")
    assert await project.told() == (False, False)
    assert await project.told(answer=True) == (True, True)


async def test_an_opener_may_leave_them_out(tmp_path: Path) -> None:
    assert await Project(tmp_path).told(notes=False) == (False, False)


async def test_a_question_is_for_new_sessions_whose_model_would_be_told(tmp_path: Path) -> None:
    project = Project(tmp_path)
    environ = {
        "HOME": str(project.home),
        "HERMES_HOME": str(project.home / ".hermes"),
        "PATH": "/usr/bin:/bin",
    }
    async with open_runtime(environ=environ, http=ScriptedModel().http()) as runtime:
        options = SessionOptions(base_url="http://127.0.0.1:1/v1", model="scripted", cwd=project.work)
        assert runtime.notes_in_question(options) is not None
        for other in ({"notes": False}, {"system": "Be brief."}):
            assert runtime.notes_in_question(SessionOptions(**{**_fields(options), **other})) is None


def _fields(options: SessionOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("base_url", "model", "cwd")}
