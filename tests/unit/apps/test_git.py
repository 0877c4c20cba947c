"""A repository's own settings can name programs; looking at it runs none of them, since nobody was asked."""

import os
import subprocess
from pathlib import Path

import pytest

from hermes.apps.tui.files import list_files
from hermes.apps.tui.git import git_branch

pytestmark = pytest.mark.anyio


def git(folder: Path, *words: str) -> None:
    own = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z"}
    named = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *named, *words], cwd=folder, env=own, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One with a file that is committed and has changed, of the same length."""
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / ".gitattributes").write_text("*.txt filter=own\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    (tmp_path / "a.txt").write_text("two")
    return tmp_path


async def test_the_branch_is_told_and_whether_files_have_changed(repository: Path) -> None:
    assert await git_branch(repository) == "main*"
    (repository / "a.txt").write_text("one")
    assert await git_branch(repository) == "main"
    assert await git_branch(repository.parent) == ""


@pytest.mark.parametrize(
    ("setting", "told"),
    [("core.fsmonitor", "main*"), ("filter.own.clean", "main"), ("filter.own.process", "main")],
)
async def test_nothing_that_a_repository_names_is_run(repository: Path, setting: str, told: str) -> None:
    program, ran = repository / "program", repository / "ran"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    git(repository, "config", setting, str(program))
    assert (await git_branch(repository), ran.exists()) == (told, False)
    assert (await list_files(repository), ran.exists()) == ([".gitattributes", "a.txt", "program"], False)
