"""A process that is killed while it makes, takes over or removes a worktree leaves the user's repository whole, and what it leaves can be
seen and removed.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.environments.worktree_copy import tip
from hermes.environments.worktree_records import WorktreeRecords
from hermes.environments.worktrees import Worktrees
from hermes.types.error import HermesError

STRIDE = int(os.environ.get("HERMES_TEST_STRIDE", "3"))
"""Of how many steps one is tried."""
MAKER = Path(__file__).with_name("worktree_maker.py")
pytestmark = pytest.mark.timeout(600)


def git(folder: Path, *words: str) -> str:
    words = ("-c", "user.name=a", "-c", "user.email=b", "-c", "init.defaultBranch=main", *words)
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def killed_at(folder: Path, step: int) -> str:
    words = [sys.executable, MAKER, folder / "project", folder / "home", str(step)]
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False).stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return folder


def test_whenever_it_is_killed_the_repository_is_whole_and_the_worktree_can_be_removed(project: Path) -> None:
    before, step = git(project, "rev-parse", "main"), 1
    while not killed_at(project.parent, step):
        found = Worktrees(project, dict(os.environ), project.parent / "home")
        assert (git(project, "fsck", "--strict", "--no-dangling"), git(project, "status", "--short")) == (
            "",
            "",
        ), step
        assert git(project, "rev-parse", "main") == before
        path = project.with_name("project.worktrees") / "fix"
        known = found.all()
        if known:
            if tip(known[0]) not in {"", known[0].base}:
                try:
                    assert found.take_over(known[0]).commits == 1, step
                except HermesError:  # half of it was removed, after its commits were taken over
                    assert "hermes/fix" in git(project, "branch"), step
            found.remove(known[0])
        elif path.exists():  # it was killed right after its first step
            path.rmdir()
        with WorktreeRecords(project.parent / "home").room():  # what others have left goes
            pass
        left = [one.name for one in (project.parent / "home/worktrees").iterdir()]
        half_written = [name for name in left if name.startswith(".")]
        assert (git(project, "branch"), path.exists(), left) == ("* main\n", False, half_written), step
        assert git(project, "for-each-ref", "--format=%(refname)") == "refs/heads/main\n", step
        step += STRIDE
    assert step > 60
