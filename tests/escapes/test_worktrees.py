"""In a worktree for sessions a confined command commits to its own branch, and reaches nothing else of the repository."""

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.environments.worktrees import Worktree, Worktrees
from hermes.types.action import Action, Permit

from .test_planted_files import SPRING, git

pytestmark = pytest.mark.anyio
NAMED = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a"


@asynccontextmanager
async def confined(folder: Path, environ: dict[str, str]) -> AsyncIterator[LocalWorkspace]:
    home = Path(environ["HOME"])
    scratch = home / f"scratch-{folder.name}"
    sandbox = open_sandbox(
        workspace=folder, home=home, hermes_home=home / ".hermes", scratch=scratch, environ=environ
    )

    async def allowed(action: Action) -> Permit:
        return Permit.of(action, confined=True)

    space = LocalWorkspace(folder, authorize=allowed, environ=environ, scratch=scratch, sandbox=sandbox)
    await space.run(NAMED, timeout=20)
    yield space
    await space.close()


@pytest.fixture
def repository(tmp_path: Path, environ: dict[str, str]) -> Path:
    work = tmp_path / "repo"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "one"]):
        git(work, environ, *words)
    return work


def made(repository: Path, environ: dict[str, str], name: str) -> Worktree:
    return Worktrees(repository, environ).make(name)


async def test_two_at_once_commit_amend_rebase_and_reset_each_on_its_own_branch(
    repository: Path, environ: dict[str, str]
) -> None:
    for name in ("x", "y"):
        async with confined(made(repository, environ, name).path, environ) as space:
            done = await space.run(
                f"echo {name} > {name}.txt && git add -A && git commit -qm a && git commit -q --amend -m {name}"
                " && git commit -q --allow-empty -m more && git reset -q --hard HEAD~1"
                " && git rebase -q --force-rebase HEAD~1 2>/dev/null; git status --short; git log --format=%s",
                timeout=20,
            )
            assert (done.text, done.code) == (f"{name}\none\n", 0)
    logs = [git(repository, environ, "log", "--format=%s", one) for one in ("main", "hermes/x", "hermes/y")]
    assert logs == ["one\n", "x\none\n", "y\none\n"]


async def test_a_branch_that_was_packed_takes_commits(repository: Path, environ: dict[str, str]) -> None:
    tree = made(repository, environ, "x")
    git(repository, environ, "pack-refs", "--all")
    assert not (repository / ".git/refs/heads/hermes").exists()
    async with confined(tree.path, environ) as space:
        done = await space.run("git commit -q --allow-empty -m packed", timeout=20)
    assert (done.text, git(repository, environ, "log", "-1", "--format=%s", "hermes/x")) == ("", "packed\n")


REACHING = {
    "the branch that is checked out": "git update-ref refs/heads/main HEAD",
    "another branch": "git branch other",
    "a tag": "git tag t",
    "the settings": "git config core.fsmonitor $PWD/evil",
    "a hook": "cp evil {main}/.git/hooks/post-checkout",
    "what is staged": "git --git-dir={main}/.git --work-tree={main} add -A",
    "the head": "echo ref: refs/heads/hermes/x > {main}/.git/HEAD",
    "a file": "echo two > {main}/a.txt",
    "its own way to the repository": "echo gitdir: $PWD/g/.git > .git",
    "settings of its own": "git config --worktree core.fsmonitor $PWD/evil; echo '[core]' > $(git rev-parse --git-dir)/config.worktree",
    "another common folder": "git init -q g; git -C g config core.fsmonitor $PWD/evil; echo $PWD/g/.git > {main}/.git/worktrees/x/commondir",
}


def whole(repository: Path) -> dict[str, bytes]:
    """All that is in a repository, but objects and what a worktree has for itself."""
    own = ("objects", "worktrees", "heads/hermes", "index")
    return {
        str(path.relative_to(repository)): path.read_bytes()
        for path in repository.rglob("*")
        if path.is_file() and not any(f"/{one}" in str(path) for one in own)
    }


@pytest.mark.parametrize("what", REACHING)
async def test_a_command_in_a_worktree_does_not_change(
    repository: Path, environ: dict[str, str], what: str
) -> None:
    tree = made(repository, environ, "x")
    before, staged = whole(repository), git(repository, environ, "ls-files", "--stage")
    async with confined(tree.path, environ) as space:
        await space.run(SPRING + REACHING[what].format(main=repository), timeout=20)
    assert git(repository, environ, "ls-files", "--stage") == staged
    for folder in (repository, tree.path):
        git(folder, environ, "status")
    assert (whole(repository), (tree.path / "sprung").exists()) == (before, False)
    assert Worktrees(repository, environ).state(tree).files  # what it may: the file of its own


@pytest.mark.parametrize("beside", [True, False])
async def test_a_folder_that_only_says_it_is_a_worktree_gains_nothing(
    repository: Path,
    environ: dict[str, str],
    tmp_path: Path,
    beside: bool,
) -> None:
    real = made(repository, environ, "x")
    folder = real.path.parent / "forged" if beside else tmp_path / "forged"
    folder.mkdir()
    (folder / ".git").write_text((real.path / ".git").read_text())
    async with confined(folder, environ) as space:
        done = await space.run("git commit -q --allow-empty -m forged", timeout=20)
    assert (done.code != 0, git(repository, environ, "log", "--format=%s", "hermes/x")) == (True, "one\n")


def test_making_reading_and_removing_one_runs_nothing_that_the_repository_names(
    repository: Path, environ: dict[str, str]
) -> None:
    sprung = repository.parent / "sprung"
    evil = repository.parent / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {sprung}\ncat\n")
    evil.chmod(0o755)
    (repository / ".gitattributes").write_text("*.txt filter=evil\n")
    for words in (["add", "-A"], ["commit", "-qm", "two"]):
        git(repository, environ, *words)
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "post-commit"):
        (repository / ".git" / "hooks" / hook).write_bytes(evil.read_bytes())
        (repository / ".git" / "hooks" / hook).chmod(0o755)
    for key in (
        "core.fsmonitor",
        "filter.evil.smudge",
        "filter.evil.clean",
        "filter.evil.process",
        "core.pager",
    ):
        subprocess.run(["git", "config", key, str(evil)], cwd=repository, check=True)
    found = Worktrees(repository, environ)
    tree = found.make("x")
    (tree.path / "a.txt").write_text("changed\n")
    assert (list(found.notes(tree)), found.state(tree).files) == (
        ["files that a filter makes (such as git-lfs) are there as they are stored"], 1,
    )  # fmt: skip
    found.remove(tree)
    assert (sprung.exists(), tree.path.exists(), found.all()) == (False, False, [])
    git(repository, environ, "checkout", "-q", "-b", "z")
    assert sprung.exists()  # the trap can spring


CONDITIONS = ("onbranch:hermes/**", "gitdir:**/.git/worktrees/**", "gitdir:**")


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("name", [b"evil", b"e\x0bvil", b"e\xffvil", b"e\xc2\x85vil", b"e.v=il"])
def test_filters_that_hold_only_in_the_worktree_are_not_run_either(
    repository: Path, environ: dict[str, str], condition: str, name: bytes
) -> None:
    sprung = repository.parent / "sprung"
    (repository / ".gitattributes").write_bytes(b"*.txt filter=" + name + b"\n")
    for words in (["add", "-A"], ["commit", "-qm", "two"]):
        git(repository, environ, *words)
    program = f"\tsmudge = touch {sprung}; cat\n\tclean = touch {sprung}; cat\n".encode().replace(
        b"; ", b" && "
    )
    (repository / ".git/evil").write_bytes(b'[filter "' + name + b'"]\n' + program)
    with (repository / ".git/config").open("a") as file:
        file.write(f'[includeIf "{condition}"]\n\tpath = evil\n')
    found = Worktrees(repository, environ)
    tree = found.make("x")
    (tree.path / "a.txt").write_text("changed\n")
    assert (list(found.notes(tree))[-1][:26], found.state(tree).files) == ("files that a filter makes ", 1)
    assert not sprung.exists()
    git(tree.path, environ, "checkout", "-q", ".")
    assert sprung.exists()  # the trap can spring
