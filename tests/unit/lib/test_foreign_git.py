"""What is read of a repository that anybody could have written: what git finds there, and nothing behind a link."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.lib.beneath import held
from hermes.lib.foreign_git import branches, copy_objects, open_git
from hermes.lib.trees import Room, TooLarge

NAMES = st.lists(st.sampled_from(["a", "b/c", "hermes/x", "b/d/e", "ü", "x.y"]), unique=True)


def run(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=b", *words],
        cwd=folder, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    run(tmp_path, "init", "-q", "-b", "main")
    for name in ("one", "two"):
        (tmp_path / "a").write_text(name)
        run(tmp_path, "add", "-A")
        run(tmp_path, "commit", "-qm", name)
    return tmp_path


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(packed=NAMES, loose=NAMES)
def test_branches_are_those_that_git_lists(repository: Path, packed: list[str], loose: list[str]) -> None:
    run(repository, "checkout", "-q", "--detach")
    for name in run(repository, "for-each-ref", "--format=%(refname)", "refs/heads").split():
        run(repository, "update-ref", "-d", name)
    for names, commit in ((packed, "HEAD~1"), (loose, "HEAD")):
        for name in names:
            run(repository, "update-ref", f"refs/heads/{name}", commit)
        if names is packed:
            run(repository, "pack-refs", "--all")
    (repository / ".git/refs/heads").mkdir(parents=True, exist_ok=True)
    (repository / ".git/refs/heads/held.lock").write_text("x")
    listed = run(repository, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")
    with held(open_git(repository)) as git:
        assert branches(git) == dict(line.split(" ") for line in listed.splitlines())


def test_a_branch_that_names_no_commit_is_there_and_stands_for_none(repository: Path) -> None:
    (repository / ".git/refs/heads/odd").write_text("ref: refs/heads/main\n")
    with held(open_git(repository)) as git:
        assert branches(git) == {"main": run(repository, "rev-parse", "main").strip(), "odd": ""}


def test_objects_are_copied_and_nothing_else_that_lies_there(repository: Path, tmp_path: Path) -> None:
    run(repository, "gc", "-q")
    (repository / "b").write_text("three")
    run(repository, "add", "-A")
    objects = repository / ".git/objects"
    (objects / "info/alternates").write_text("/srv\n")
    (objects / "pack/pack-x.pack").write_text("x")
    (objects / "aa").mkdir(exist_ok=True)
    (objects / "aa/readme").write_text("x")
    with held(open_git(repository)) as git:
        copy_objects(git, tmp_path / "copy", Room(1_000_000, 100))
    copied = {
        str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*") if path.is_file()
    }
    there = {str(path.relative_to(objects)) for path in objects.rglob("*") if path.is_file()}
    kinds = {name.rpartition(".")[2] for name in copied if name.startswith("pack/")}
    assert (copied < there, kinds, len([name for name in copied if not name.startswith("pack/")])) == (
        True, {"pack", "idx"}, 1,
    )  # fmt: skip


@pytest.mark.parametrize("room", [Room(10, 100), Room(1_000_000, 2)])
def test_more_than_there_is_room_for_is_not_copied(repository: Path, tmp_path: Path, room: Room) -> None:
    with held(open_git(repository)) as git, pytest.raises(TooLarge):
        copy_objects(git, tmp_path / "copy", room)


def test_what_is_a_link_or_a_pipe_is_not_read(repository: Path, tmp_path: Path) -> None:
    heads = repository / ".git/refs/heads"
    for make in (lambda path: path.symlink_to(heads / "main"), os.mkfifo):
        make(heads / "odd")
        with held(open_git(repository)) as git, pytest.raises(OSError, match=r"link|regular"):
            branches(git)
        (heads / "odd").unlink()
    (repository / ".git").rename(tmp_path / "elsewhere")
    (repository / ".git").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        open_git(repository)
