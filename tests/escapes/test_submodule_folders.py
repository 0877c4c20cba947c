"""Wherever git keeps a submodule of the workspace, no confined command has it run something later."""

import subprocess
from pathlib import Path

import pytest

from .test_worktrees import confined

pytestmark = pytest.mark.anyio
WHO = {f"GIT_{one}_{two}": "a@b" for one in ("AUTHOR", "COMMITTER") for two in ("NAME", "EMAIL")}
PLAIN = "git init -q -b main top && git -C top commit -q --allow-empty -m 1 && cd top"
LINKED = "git init -q -b main main && git -C main commit -q --allow-empty -m 1 && git -C main worktree add -q ../top && cd top"
INNER = "git init -q sub && git -C sub commit -q --allow-empty -m s && git add sub 2>/dev/null"
CLONED = (
    "git init -q {0}/other && git -C {0}/other commit -q --allow-empty -m o &&"
    " git -c protocol.file.allow=always submodule --quiet add {0}/other sub"
)
FOLDERS = {
    "in a linked worktree": (f"{LINKED} && {INNER}", "top/sub/.git"),
    "deep in one": (f"{LINKED} && mkdir a && cd a && {INNER}", "top/a/sub/.git"),
    "of a linked worktree, beside its own": (f"{LINKED} && {CLONED}", "main/.git/worktrees/top/modules/sub"),
    "of a worktree in the workspace": (
        f"{PLAIN} && git worktree add -q wt && cd wt && {CLONED}", "top/.git/worktrees/wt/modules/sub",
    ),
    "that a file leads to": (
        f"{PLAIN} && {INNER} && mkdir x && mv sub/.git x/gd && echo gitdir: ../x/gd > sub/.git", "top/x/gd",
    ),
    "that a file leads to by a link": (
        f"{PLAIN} && {INNER} && mkdir x && ln -s x y && mv sub/.git x/gd && echo gitdir: ../y/gd > sub/.git",
        "top/x/gd",
    ),
    "of the repository itself, apart from it": ("mkdir top && git init -q --separate-git-dir=top/gd top", "top/gd"),
}  # fmt: skip


def steering(git: Path) -> dict[str, str]:
    """What chooses there what git runs."""
    paths = [*git.glob("hooks/*"), git / "config", git / "commondir"]
    return {path.name: path.read_text() for path in paths if path.exists() and path.suffix != ".sample"}


@pytest.mark.parametrize("what", FOLDERS)
async def test_a_command_changes_nothing_that_steers_a_submodule(
    tmp_path: Path, environ: dict[str, str], what: str
) -> None:
    make, folder = FOLDERS[what]
    command = ["bash", "-ec", make.format(tmp_path)]
    subprocess.run(command, cwd=tmp_path, env={**environ, **WHO}, check=True)
    git = tmp_path / folder
    before = steering(git)
    async with confined(tmp_path / "top", environ) as space:
        await space.run(
            f"cd {git} && mkdir -p hooks; echo x > hooks/post-checkout; echo ../x > commondir;"
            " printf '[core]\\n\\tfsmonitor = x\\n' >> config",
            timeout=20,
        )
    assert (steering(git), "config" in before) == (before, True)


WORKTREE = f"{PLAIN} && git worktree add -q wt"
EVIL = "cp -r .git e2; rm -rf e2/worktrees; printf '[core]\\n\\tfsmonitor = echo ran >> ran; false\\n' >> e2/config"
LEADS = 'echo "gitdir: $PWD/e2" > wt/.git'
REWRITTEN = {
    "its .git file": [f"{EVIL}; {LEADS}"],
    "its .git file by another name": [f"{EVIL}; rm wt/.git; ln -s ../e2 wt/.git"],
    "its .git file as a folder": [f"{EVIL}; rm wt/.git; mv e2 wt/.git"],
    "its record, then its .git file": [f"{EVIL}; echo /nowhere/.git > .git/worktrees/wt/gitdir", LEADS],
    "its .git file, without its record": [f"{EVIL}; rm -r .git/worktrees/wt; {LEADS}"],
    "a repository that its index names": [
        f"cd wt && {INNER}; git -C sub config core.fsmonitor 'echo ran >> ran; false'"
    ],
}


@pytest.mark.parametrize("what", REWRITTEN)
async def test_a_command_has_git_run_nothing_in_a_linked_worktree_in_the_workspace(
    tmp_path: Path, environ: dict[str, str], what: str
) -> None:
    asked = {**environ, **WHO}
    subprocess.run(["bash", "-ec", WORKTREE], cwd=tmp_path, env=asked, check=True)
    top = tmp_path / "top"
    async with confined(top, environ) as space:
        for command in REWRITTEN[what]:
            await space.run(command, timeout=20)
    for place in (top, top / "wt"):
        subprocess.run(["git", "status"], cwd=place, env=asked, check=False, capture_output=True)
    assert list(top.rglob("ran")) == []


async def test_a_command_moves_and_removes_a_linked_worktree_of_the_user(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    subprocess.run(["bash", "-ec", WORKTREE], cwd=tmp_path, env={**environ, **WHO}, check=True)
    async with confined(tmp_path / "top", environ) as space:
        done = [
            (await space.run(command, timeout=20)).text
            for command in ("git worktree move wt b && git -C b status --short", "git worktree remove b; ls")
        ]
    assert done == ["", ""]
