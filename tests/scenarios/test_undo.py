"""What a command in the sandbox deletes, or throws away of git's history, is saved before, and comes back."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hermes.agent.session import Session
from hermes.agent.undo import checkpoints_of
from hermes.safety.settings import CheckpointSettings
from hermes.store.checkpoints import Checkpoint, CheckpointStore
from hermes.testing import ScriptedModel, call, say
from hermes.types.event import Answered, Asked
from hermes.types.message import ToolResult
from hermes.types.question import Answer, Approve, Deny, Grant

from .conftest import Talk

pytestmark = pytest.mark.anyio


def results(session: Session) -> list[dict[str, Any]]:
    return [json.loads(message.content) for message in session.log if isinstance(message, ToolResult)]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with a commit, a branch, and a file that no commit has."""
    made = tmp_path / "work"
    (made / "src").mkdir(parents=True)
    (made / "src" / "a.py").write_text("a\n")
    for line in (
        "init -q -b main",
        "add .",
        "commit -qm one",
        "branch old",
        "checkout -q old",
        "commit -q --allow-empty -m two",
        "checkout -q main",
    ):
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@x.invalid", *line.split()]
        subprocess.run(git, cwd=made, check=True)
    (made / "src" / "a.py").write_text("changed\n")
    (made / "src" / "new.py").write_text("new\n")
    return made


@pytest.fixture
def kept(environ: Mapping[str, str]) -> CheckpointStore:
    return checkpoints_of(Path(environ["HERMES_HOME"]), CheckpointSettings(), Path(environ["HOME"]))


def of_commands(kept: CheckpointStore) -> list[Checkpoint]:
    """What was saved for single commands, besides the workspace before each turn."""
    return [one for one in kept.newest() if not one.tree]


async def test_a_deletion_runs_without_a_question_and_comes_back(
    talk: Talk, work: Path, kept: CheckpointStore
) -> None:
    model = ScriptedModel(call("terminal", {"command": "rm -rf src"}), say("ok"))
    async with talk(model, toolsets=("terminal",), attended=False) as session, session.stream("go") as stream:
        told = [event async for event in stream if isinstance(event, Asked | Answered)]
    (saved,) = of_commands(kept)
    assert (results(session)[0]["exit_code"], (work / "src").exists()) == (0, False)
    assert (saved.command, saved.paths, saved.session) == ("rm -rf src", (str(work / "src"),), session.id)
    by = f"checkpoint {saved.id}"
    assert [event.decided if isinstance(event, Asked) else event.by for event in told] == [by, by]
    questions = [event.question for event in told if isinstance(event, Asked)]
    assert [one.reasons for one in questions if isinstance(one, Approve)] == [
        ("it could lose src, which is saved first",)
    ]
    kept.restore(saved)
    assert [(work / "src" / name).read_text() for name in ("a.py", "new.py")] == ["changed\n", "new\n"]


async def test_where_the_user_is_asked_always_a_deletion_asks_and_is_saved_after_the_yes(
    talk: Talk, work: Path, kept: CheckpointStore, environ: dict[str, str]
) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text("approvals:\n  ask: always\n")
    turns = [call("terminal", {"command": "rm -rf src"}, call_id=one) for one in "ab"]
    model = ScriptedModel(*turns, say("ok"))
    answers: list[Answer] = [Deny(), Grant()]
    async with talk(model, toolsets=("terminal",)) as session, session.stream("go") as stream:
        async for event in stream:
            if isinstance(event, Asked):
                assert isinstance(event.question, Approve)
                assert ((work / "src").exists(), event.decided) == (True, "")
                assert session.answer(event.id, answers.pop(0))
    assert (answers, results(session)[0]["status"], (work / "src").exists()) == ([], "blocked", False)
    (saved,) = of_commands(kept)
    kept.restore(saved)
    assert (work / "src" / "a.py").read_text() == "changed\n"


async def test_history_that_was_thrown_away_comes_back(talk: Talk, work: Path, kept: CheckpointStore) -> None:
    command = "git branch -q -D old && git reset -q --hard && git clean -qfd && git reflog expire --expire=now --all && git gc -q --prune=now"
    model = ScriptedModel(call("terminal", {"command": command}), say("ok"))
    async with talk(model, toolsets=("terminal",), attended=False) as session:
        await session.send("go")
    assert (results(session)[0]["exit_code"], (work / "src" / "new.py").exists()) == (0, False)
    kept.restore(kept.find("latest", str(work)))
    log = subprocess.run(
        ["git", "log", "--format=%s", "old"], cwd=work, capture_output=True, text=True, check=True
    )
    assert log.stdout == "two\none\n"
    assert [(work / "src" / name).read_text() for name in ("a.py", "new.py")] == ["changed\n", "new\n"]
    subprocess.run(["git", "fsck", "--strict"], cwd=work, check=True, capture_output=True)


LOSING = [
    "rm -rf q; mv src q; rm -rf q",
    "mv src gone && rm -rf gone",
    "mkdir q && mv src q && rm -rf q",
    "mv src/new.py z; rm -rf z",
    "(mv src zz); (rm -rf zz)",
    "ln -s src l && rm -rf l/*",
    'mv src "$(echo q)"; rm -rf q',
    "shopt -s extglob\nrm -rf !(keep)",
    "mkdir -p other/dir && ln -s other/dir link && rm -rf link/../../src",
    "bash -O extglob -c 'rm -rf src'",
    "rm -rf ~+/src",
    "mv src /tmp/ && rm -rf /tmp/src",
    "ln -sfn src build; rm -rf build/*",
    "mv src node_modules; rm -rf node_modules",
    "rm -rf @(src|sub)",
]


@pytest.mark.parametrize("command", LOSING)
async def test_what_a_line_makes_of_a_name_first_is_saved_too(
    talk: Talk, work: Path, kept: CheckpointStore, command: str
) -> None:
    model = ScriptedModel(call("terminal", {"command": command}), say("ok"))
    async with talk(model, toolsets=("terminal",), attended=False) as session:
        await session.send("go")
    if not list(work.rglob("new.py")) and not (work / "z").exists():
        kept.restore(kept.find("latest", str(work)))
    assert "new\n" in [path.read_text() for path in work.rglob("*.py")]


async def test_what_is_not_there_needs_neither(talk: Talk, work: Path, kept: CheckpointStore) -> None:
    model = ScriptedModel(call("terminal", {"command": "rm -rf notexisting"}), say("ok"))
    async with talk(model, toolsets=("terminal",), attended=False) as session:
        await session.send("go")
    assert (results(session)[0]["exit_code"], of_commands(kept)) == (0, [])


async def test_what_is_too_large_asks_as_before(
    talk: Talk, work: Path, kept: CheckpointStore, environ: Mapping[str, str]
) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("checkpoints: {max_megabytes: 1}\n")
    (work / "src" / "big").write_bytes(bytes(1_100_000))
    model = ScriptedModel(call("terminal", {"command": "rm -rf src"}), say("ok"))
    async with talk(model, toolsets=("terminal",), attended=False) as session:
        await session.send("go")
    assert (results(session)[0]["status"], (work / "src").exists(), kept.newest()) == ("blocked", True, [])
    assert "being larger than checkpoints.max_megabytes" in results(session)[0]["error"]


async def test_a_folder_behind_a_link_is_saved_where_it_leads(
    talk: Talk, work: Path, kept: CheckpointStore
) -> None:
    (work / "link").symlink_to("src")
    model = ScriptedModel(call("terminal", {"command": "rm -rf link/*"}), say("ok"))
    async with talk(model, toolsets=("terminal",), attended=False) as session:
        await session.send("go")
    assert list((work / "src").iterdir()) == []
    kept.restore(kept.find("latest", str(work)))
    assert (work / "src" / "new.py").read_text() == "new\n"
