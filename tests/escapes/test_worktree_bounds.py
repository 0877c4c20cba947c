"""What a session leaves in its worktree to have us wait, run out of memory or die: one sentence says that it
cannot be told, nothing is taken over, and it can be removed.
"""

import hashlib
import os
import zlib
from pathlib import Path

import pytest

from hermes.environments.worktree_records import Worktree
from hermes.environments.worktrees import Worktrees
from hermes.types.error import HermesError

from .test_planted_files import git

MEGABYTE = 1 << 20


@pytest.fixture
def repository(tmp_path: Path, environ: dict[str, str]) -> Path:
    work = tmp_path / "repo"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "one"]):
        git(work, environ, *words)
    return work


@pytest.fixture
def worktrees(repository: Path, environ: dict[str, str]) -> Worktrees:
    return Worktrees(repository, environ, Path(environ["HERMES_HOME"]))


def refused(worktrees: Worktrees, tree: Worktree) -> str:
    """Why what is in it cannot be told; it goes all the same."""
    with pytest.raises(HermesError) as caught:
        worktrees.take_over(tree)
    assert worktrees.remove(tree) == ""
    assert not os.path.lexists(tree.path)
    return str(caught.value).removeprefix(f"What is in {tree.path} cannot be told: ")


def packed(tree: Worktree, kind: str, before: bytes, megabytes: int) -> str:
    """Put an object of so many equal bytes there, which takes a thousandth of them; its name."""
    head = b"%s %d\0%s" % (kind.encode(), len(before) + megabytes * MEGABYTE, before)
    name, form = hashlib.sha1(head), zlib.compressobj(1)
    parts = [form.compress(head)]
    for _ in range(megabytes):
        name.update(b"a" * MEGABYTE)
        parts.append(form.compress(b"a" * MEGABYTE))
    file = tree.path / ".git/objects" / name.hexdigest()[:2] / name.hexdigest()[2:]
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"".join([*parts, form.flush()]))
    return name.hexdigest()


@pytest.mark.parametrize("kind", ["commit", "tree", "tag"])
def test_an_object_that_git_would_have_in_memory_whole_is_refused_by_its_size(
    worktrees: Worktrees, kind: str
) -> None:
    tree = worktrees.make("x")
    name = packed(tree, kind, b"", 17)
    assert refused(worktrees, tree) == f"the {kind} {name[:12]} is larger than 16 MiB."


def test_a_large_file_is_taken_over(repository: Path, environ: dict[str, str], worktrees: Worktrees) -> None:
    tree = worktrees.make("x")
    with (tree.path / "large").open("wb") as file:
        file.truncate(100 * MEGABYTE)
    git(tree.path, environ, "add", "-A")
    git(tree.path, environ, "commit", "-qm", "large")
    assert worktrees.take_over(tree).commits == 1
    assert git(repository, environ, "cat-file", "-s", "hermes/x:large").strip() == str(100 * MEGABYTE)


def test_a_file_of_another_size_is_changed_whatever_it_holds(
    repository: Path, environ: dict[str, str], worktrees: Worktrees
) -> None:
    for name in ("same", "other", "grown"):
        with (repository / name).open("wb") as file:
            file.truncate(70 * MEGABYTE)
    git(repository, environ, "add", "-A")
    git(repository, environ, "commit", "-qm", "large")
    tree = worktrees.make("x")
    assert worktrees.take_over(tree).files == 0
    with (tree.path / "other").open("r+b") as file:
        file.write(b"x")
    with (tree.path / "grown").open("r+b") as file:
        file.truncate(MEGABYTE * MEGABYTE)  # to read it would take hours
    assert worktrees.take_over(tree).files == 2


def test_small_objects_that_are_large_together_are_refused(worktrees: Worktrees) -> None:
    tree = worktrees.make("x")
    for number in range(5):
        packed(tree, "blob", b"%d" % number, 450)
    assert refused(worktrees, tree) == "it has more than 200,000 objects, or they are more than 2 GiB."


PIPES = {
    ".gitignore": ".gitignore",
    "d/.gitattributes": "d/.gitattributes",
    "the head of a repository in it": "d/.git/HEAD",
    "what such a one shares": "d/.git/commondir",
}


@pytest.mark.parametrize("what", PIPES)
def test_a_pipe_that_git_would_wait_for_is_found_before(worktrees: Worktrees, what: str) -> None:
    tree = worktrees.make("x")
    pipe = tree.path / PIPES[what]
    pipe.parent.mkdir(parents=True, exist_ok=True)
    (tree.path / "d").mkdir(exist_ok=True)
    (tree.path / "d/x").touch()
    os.mkfifo(pipe)
    assert refused(worktrees, tree) == f"{pipe} is no file, and git would wait for it."


def test_one_that_a_file_leads_to_is_found_too(worktrees: Worktrees) -> None:
    tree = worktrees.make("x")
    (tree.path / "d").mkdir()
    (tree.path / "g").mkdir()
    (tree.path / "d/.git").write_text("gitdir: ../g\n")
    os.mkfifo(tree.path / "g/HEAD")
    assert refused(worktrees, tree) == f"{tree.path}/d/../g/HEAD is no file, and git would wait for it."


def test_a_pipe_in_the_checkout_is_told_before_a_worktree_is_filled_from_it(
    repository: Path, worktrees: Worktrees
) -> None:
    os.mkfifo(repository / ".gitignore")
    with pytest.raises(HermesError) as caught:
        list(worktrees.notes())
    assert str(caught.value) == (
        f"What it begins with cannot be told: {repository}/.gitignore is no file, and git would wait for it."
    )


def test_other_pipes_are_no_files_and_in_nobodys_way(worktrees: Worktrees) -> None:
    tree = worktrees.make("x")
    os.mkfifo(tree.path / "pipe")
    assert worktrees.take_over(tree).is_empty
    worktrees.remove(tree)


def deep(top: Path, depth: int) -> None:
    """Folders in each other with a file in the last."""
    at = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=at)
        above, at = at, os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(above)
    os.close(os.open("work", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


def test_what_lies_a_thousand_folders_deep_counts_and_goes(worktrees: Worktrees) -> None:
    tree = worktrees.make("x")
    deep(tree.path, 1_500)
    assert worktrees.take_over(tree).files == 1
    worktrees.remove(tree)
    assert not tree.path.parent.exists()


def test_what_lies_deeper_than_a_path_may_be_long_is_told_and_goes(worktrees: Worktrees) -> None:
    tree = worktrees.make("x")
    deep(tree.path, 3_000)
    assert refused(worktrees, tree) == "git ls-files cannot look into all folders."


def test_a_link_among_the_objects_is_told_plainly(worktrees: Worktrees) -> None:
    tree = worktrees.make("x")
    (tree.path / ".git/objects/pack").rename(tree.path / "packs")
    (tree.path / ".git/objects/pack").symlink_to(tree.path / "packs")
    assert refused(worktrees, tree) == "pack below its .git is a link."
