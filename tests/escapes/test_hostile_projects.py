"""What a hostile repository names is not run, and written nowhere else, when a worktree is made of it, looked at and removed."""

import os
import shutil
from pathlib import Path

import pytest

from hermes.environments.worktrees import WorktreeState
from hermes.types.error import HermesError

from .test_planted_files import git
from .test_worktrees import left_by, made, of, repository, state

__all__ = ["repository"]


def hostile(repository: Path, environ: dict[str, str], settings: bytes, name: bytes = b"evil") -> Path:
    """A repository whose settings start a program, which leaves a file; its path."""
    (repository / ".gitattributes").write_bytes(b"*.txt filter=" + name + b"\n")
    for words in (["add", "-A"], ["commit", "-qm", "two"]):
        git(repository, environ, *words)
    with (repository / ".git/config").open("ab") as file:
        file.write(settings)
    return repository.parent / "sprung"


def looked_at(repository: Path, environ: dict[str, str]) -> WorktreeState:
    """All that we do with a worktree, one after the other."""
    found = of(repository, environ)
    tree = found.make("x")
    notes = list(found.notes())
    left_by(tree, environ, "echo 2 > a.txt; git commit -qam three; echo 3 > a.txt")
    last = found.take_over(tree)
    found.remove(tree)
    assert ([note[:26] for note in notes], found.all()) == (["files that a filter makes "], [])
    return last


CONDITIONS = ("", "onbranch:hermes/**", "onbranch:main", "gitdir:**/.git/worktrees/**", "gitdir:**")


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("name", [b"evil", b"e\x0bvil", b"e\xffvil", b"e\xc2\x85vil", b"e.v=il"])
def test_filters_of_a_hostile_repository_are_not_run(
    repository: Path, environ: dict[str, str], condition: str, name: bytes
) -> None:
    program = f"touch {repository.parent}/sprung && cat\n".encode()
    settings = b'[filter "' + name + b'"]\n\tsmudge = ' + program + b"\tclean = " + program
    (repository / ".git/evil").write_bytes(settings)
    given = f'[includeIf "{condition}"]\n\tpath = evil\n'.encode() if condition else settings
    sprung = hostile(repository, environ, given, name)
    assert (looked_at(repository, environ), sprung.exists()) == (WorktreeState(commits=1, files=1), False)


KEYS = (
    *(
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.alternateRefsCommand",
        "core.editor",
        "diff.external",
    ),
    *("credential.helper", "gpg.program", "uploadpack.packObjectsHook", "core.gitProxy", "init.templateDir"),
)


def test_hooks_programs_and_remotes_of_a_hostile_repository_are_not_run(
    repository: Path, environ: dict[str, str]
) -> None:
    evil = repository.parent / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {repository.parent}/sprung\ncat\n")
    evil.chmod(0o755)
    for hook in (
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "post-commit",
        "post-rewrite",
    ):
        shutil.copy(evil, repository / ".git/hooks" / hook)
    lines = [f"[{key.rpartition('.')[0]}]\n\t{key.rpartition('.')[2]} = {evil}\n" for key in KEYS]
    lines += [
        f'[remote "o"]\n\tpromisor = true\n\turl = ext::{evil}\n\tvcs = evil\n[protocol "ext"]\n\tallow = always\n'
    ]
    lines += [
        "[extensions]\n\tpartialClone = o\n",
        f"[alias]\n\tstatus = !{evil}\n",
        "[core]\n\trepositoryformatversion = 1\n",
    ]
    (repository / "a.txt").write_text("changed\n")
    sprung = hostile(repository, environ, "".join(lines).encode())
    sprung.unlink(missing_ok=True)
    assert (looked_at(repository, environ).commits, sprung.exists()) == (1, False)
    git(repository, environ, "checkout", "-q", "-b", "z")
    assert sprung.exists()  # the trap can spring


@pytest.mark.parametrize("what", ["info/exclude", "info/attributes", "config", "packed-refs", "HEAD"])
def test_a_pipe_in_a_hostile_repository_is_refused_before_git_is_started(
    repository: Path, environ: dict[str, str], what: str
) -> None:
    (repository / ".git" / what).unlink(missing_ok=True)
    os.mkfifo(repository / ".git" / what)
    with pytest.raises(HermesError, match=r"is no file; git is not started there\.$"):
        of(repository, environ)


@pytest.mark.parametrize("what", [".git/objects", ".git/refs/heads", ".git/objects/pack"])
def test_a_repository_whose_own_folders_are_links_gets_none(
    repository: Path, environ: dict[str, str], what: str
) -> None:
    (repository / what).rename(repository.parent / "elsewhere")
    (repository / what).symlink_to(repository.parent / "elsewhere")
    with pytest.raises(HermesError, match="is a link; no worktrees are made of such a repository"):
        of(repository, environ)


@pytest.mark.parametrize("what", ["refs/heads/hermes", "logs/refs/heads/hermes", "logs/refs/heads/hermes/x"])
def test_nothing_is_written_through_a_link_in_a_hostile_repository(
    repository: Path, environ: dict[str, str], what: str
) -> None:
    elsewhere = repository.parent / "elsewhere"
    elsewhere.write_text("precious\n") if what.endswith("x") else elsewhere.mkdir()
    tree = made(repository, environ)
    (repository / ".git" / what).parent.mkdir(parents=True, exist_ok=True)
    (repository / ".git" / what).symlink_to(elsewhere)
    left_by(tree, environ, "git commit -q --allow-empty -m two")
    with pytest.raises(HermesError, match="is a link, or lies behind one"):
        state(repository, environ, tree)
    assert elsewhere.read_text() == "precious\n" if what.endswith("x") else not list(elsewhere.iterdir())


def test_a_folder_for_worktrees_that_is_a_link_is_refused(repository: Path, environ: dict[str, str]) -> None:
    elsewhere = repository.parent / "elsewhere"
    elsewhere.mkdir()
    repository.with_name("repo.worktrees").symlink_to(elsewhere)
    with pytest.raises(HermesError, match="repo.worktrees is a link"):
        made(repository, environ)
    assert (list(elsewhere.iterdir()), of(repository, environ).all()) == ([], [])
