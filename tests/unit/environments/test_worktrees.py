"""Worktrees for sessions: what they begin with, whose commits are taken over into which branch, and what becomes of them."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes.environments.worktree_records import Worktree, WorktreeRecords
from hermes.environments.worktrees import Worktrees, WorktreeState
from hermes.types.error import HermesError, StorageDamaged

WHO = {f"GIT_{one}_{two}": "a@b" for one in ("AUTHOR", "COMMITTER") for two in ("NAME", "EMAIL")}


def git(folder: Path, *words: str) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), **WHO}
    words = ("-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", *words)
    return subprocess.run(
        ["git", *words], cwd=folder, env=environ, capture_output=True, text=True, check=True
    ).stdout.strip()


def repository(folder: Path, *form: str) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", *form)
    commit(folder, "one")
    return folder


def commit(folder: Path, name: str) -> str:
    (folder / f"{name}.txt").write_text(f"{name}\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", name)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


def of(folder: Path) -> Worktrees:
    above = next(one for one in folder.parents if one.name.startswith("test_"))
    return Worktrees(folder, dict(os.environ), above / "home")


def test_it_begins_with_the_commit_the_branches_and_the_name_of_the_user(project: Path) -> None:
    git(project, "branch", "side")
    git(project, "tag", "-a", "v1", "-m", "v1")
    git(project, "config", "user.name", 'A "B" [c]')
    git(project, "config", "user.email", "a@b")
    git(project, "config", "core.pager", "false")
    tree = of(project).make("fix")
    head = git(project, "rev-parse", "HEAD")
    assert tree == Worktree(
        name="fix", path=project.parent / "project.worktrees/fix", main=project, base=head
    )
    seen = git(tree.path, "for-each-ref", "--format=%(refname)").split()
    assert seen == [
        "refs/heads/hermes/fix",
        "refs/remotes/project/main",
        "refs/remotes/project/side",
        "refs/tags/v1",
    ]
    settings = dict(line.split("=", 1) for line in git(tree.path, "config", "--local", "--list").splitlines())
    assert (settings["user.name"], settings["user.email"], "core.pager" in settings) == (
        'A "B" [c]',
        "a@b",
        False,
    )
    assert (git(tree.path, "status", "--short"), git(tree.path, "describe"), (tree.path / "one.txt").read_text()) == (
        "", "v1", "one\n",
    )  # fmt: skip


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_commits_are_taken_over_into_a_branch_of_the_users_with_either_hash(
    tmp_path: Path, form: str
) -> None:
    project = repository(tmp_path / "project", f"--object-format={form}")
    tree = of(project).make("fix")
    (tree.path / "folder").mkdir()
    made = [commit(tree.path, "two"), commit(tree.path, "folder/three")]
    git(tree.path, "gc", "-q")  # in a pack and packed-refs, too
    made.append(commit(tree.path, "four"))
    assert of(project).take_over(tree) == WorktreeState(commits=3)
    assert git(project, "rev-list", "--reverse", "main..hermes/fix").split() == made
    git(project, "merge", "-q", "hermes/fix")
    assert (git(project, "fsck", "--strict"), of(project).take_over(tree)) == ("", WorktreeState())


def test_a_shallow_clone_and_one_with_objects_elsewhere_and_a_worktree_of_the_users_have_some(
    project: Path,
) -> None:
    commit(project, "more")
    git(project, "clone", "-q", "--depth=1", f"file://{project}", "../shallow")
    git(project, "clone", "-q", "--shared", ".", "../shared")
    git(project, "worktree", "add", "-q", "-b", "side", "../linked")
    commit(project.with_name("linked"), "there")
    for name in ("shallow", "shared", "linked"):
        folder = project.with_name(name)
        tree = of(folder).make(name)
        two = commit(tree.path, "two")
        assert of(folder).take_over(tree) == WorktreeState(commits=1)
        assert git(folder, "rev-parse", f"hermes/{name}", f"hermes/{name}~1").split() == [
            two,
            git(folder, "rev-parse", "HEAD"),
        ]
        assert (tree.main.name, git(tree.path, "log", "--format=%s").split()[0]) == (
            "project" if name == "linked" else name, "two",
        )  # fmt: skip


def test_a_branch_that_the_session_wrote_anew_follows_and_one_that_the_user_moved_is_left(
    project: Path,
) -> None:
    tree = of(project).make("fix")
    commit(tree.path, "two")
    of(project).take_over(tree)
    git(tree.path, "commit", "-q", "--amend", "-m", "deux")
    assert of(project).take_over(tree).left == ""
    git(project, "checkout", "-q", "hermes/fix")
    third = commit(tree.path, "three")
    assert of(project).take_over(tree).left == (
        f"hermes/fix is checked out in {project}; after a switch there hermes worktrees list does it"
    )
    git(project, "checkout", "-q", "main")
    assert (of(project).take_over(tree).left, git(project, "rev-parse", "hermes/fix")) == ("", third)
    git(project, "checkout", "-q", "hermes/fix")
    own = commit(project, "own")
    git(project, "checkout", "-q", "main")
    assert of(project).take_over(tree) == WorktreeState(commits=3, strays=1)  # theirs is on top of ours
    commit(tree.path, "four")
    state = of(project).take_over(tree)
    assert (state.left, state.commits, git(project, "rev-parse", "hermes/fix")) == (
        "the branch hermes/fix has others; rename it, then hermes worktrees list takes them over", 4, own,
    )  # fmt: skip
    git(project, "branch", "-m", "hermes/fix", "mine")
    assert (of(project).take_over(tree).left, git(project, "log", "-1", "--format=%s", "hermes/fix")) == (
        "",
        "four",
    )
    git(project, "branch", "-q", "-D", "hermes/fix")
    state = of(project).take_over(tree)
    assert (state.left.partition(";")[0], state.commits) == ("the branch hermes/fix was moved or removed", 1)
    assert git(project, "branch", "--list", "hermes/*") == ""


@pytest.mark.parametrize("how", [("-f", "hermes/fix", "hermes/fix~1"), ("-D", "hermes/fix")])
def test_a_branch_that_the_user_moved_back_or_removed_is_left_whatever_is_committed_later(
    project: Path, how: tuple[str, ...]
) -> None:
    tree = of(project).make("fix")
    for name in ("two", "three"):
        commit(tree.path, name)
    of(project).take_over(tree)
    git(project, "branch", *how)
    branches = git(project, "for-each-ref", "refs/heads")
    for name in ("four", "five"):
        made = commit(tree.path, name)
        said = f"the branch hermes/fix was moved or removed; git branch NAME {made[:12]} gets them"
        assert [of(project).take_over(tree).left for _ in range(2)] == [said, said]
    assert git(project, "for-each-ref", "refs/heads") == branches
    git(project, "branch", "-f", "hermes/fix", made[:12])
    assert of(project).take_over(tree) == WorktreeState(commits=4)
    made = commit(tree.path, "six")
    assert (of(project).take_over(tree).left, git(project, "rev-parse", "hermes/fix")) == ("", made)


def test_killed_right_after_the_branch_was_moved_it_follows_again_after_the_next_look(project: Path) -> None:
    tree = of(project).make("fix")
    two = commit(tree.path, "two")
    of(project).take_over(tree)
    git(tree.path, "commit", "-q", "--amend", "-m", "deux")
    of(project).take_over(tree)
    WorktreeRecords(project.parent / "home").keep(replace(tree, taken=two))  # as it was before
    assert of(project).take_over(tree) == WorktreeState(commits=1, strays=1)
    git(tree.path, "commit", "-q", "--amend", "-m", "zwei")
    assert of(project).take_over(tree).left == ""
    assert git(project, "log", "-1", "--format=%s", "hermes/fix") == "zwei"


def test_a_branch_that_the_user_removed_after_a_merge_is_made_anew(project: Path) -> None:
    tree = of(project).make("fix")
    commit(tree.path, "two")
    of(project).take_over(tree)
    git(project, "merge", "-q", "hermes/fix")
    git(project, "branch", "-d", "hermes/fix")
    three = commit(tree.path, "three")
    assert of(project).take_over(tree) == WorktreeState(commits=1)
    assert git(project, "rev-parse", "hermes/fix") == three


def forget(project: Path) -> None:
    """Have git forget all that no ref of the user's holds."""
    git(project, "reflog", "expire", "--expire=now", "--all")
    git(project, "gc", "-q", "--prune=now")


def test_whatever_the_user_rewrites_removes_and_clears_away_the_worktree_keeps_what_it_reads(
    project: Path,
) -> None:
    git(project, "switch", "-q", "-c", "old")
    commit(project, "old")
    git(project, "tag", "-a", "v1", "-m", "v1")
    git(project, "switch", "-q", "main")
    commit(project, "draft")
    tree = of(project).make("fix")
    made = [commit(tree.path, "two")]
    git(project, "commit", "-q", "--amend", "-m", "done")
    git(project, "tag", "-d", "v1")
    git(project, "branch", "-D", "old")
    forget(project)
    seen = git(tree.path, "log", "--all", "--format=%s").split()
    assert (git(tree.path, "fsck", "--no-dangling"), sorted(seen)) == ("", ["draft", "old", "one", "two"])
    assert of(project).take_over(tree) == WorktreeState(commits=2)
    git(tree.path, "gc", "-q", "--prune=now")  # its own copies of what was taken over go
    git(project, "branch", "-D", "hermes/fix")
    forget(project)
    made.append(commit(tree.path, "three"))
    assert git(tree.path, "rev-list", "HEAD~2..HEAD").split() == made[::-1]
    assert (git(tree.path, "fsck", "--no-dangling"), git(project, "branch"), git(project, "tag")) == (
        "",
        "* main",
        "",
    )
    of(project).remove(tree)
    forget(project)
    assert git(project, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert git(project, "cat-file", "--batch-all-objects", "--batch-check").count(" commit ") == 2


def test_a_ref_of_the_users_whose_object_is_gone_is_not_in_it(project: Path) -> None:
    (project / ".git/refs/heads/broken").write_text("1" * 40 + "\n")
    tree = of(project).make("fix")
    assert git(tree.path, "for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/hermes/fix",
        "refs/remotes/project/main",
    ]


def test_typed_in_a_worktree_it_answers_as_in_the_checkout_and_makes_none(project: Path) -> None:
    tree = of(project).make("fix")
    inner = tree.path / "inner"
    inner.mkdir()
    commit(tree.path, "two")
    (tree.path / ".git/config").write_text("[core]\n\tworktree = /\n\tfsmonitor = false\n")
    for folder in (project, tree.path, inner):
        found = of(folder)
        assert (found.main, found.all()[0].path, found.take_over(tree)) == (
            project,
            tree.path,
            WorktreeState(commits=1),
        )
    with pytest.raises(HermesError, match=f"^This is a worktree of sessions itself; start in {project}.$"):
        of(inner).make("more")
    assert of(inner).remove(tree) == ""
    assert (git(project, "branch"), tree.path.parent.exists(), found.all()) == ("* main", False, [])


def test_one_that_somebody_took_away_is_known_with_what_its_branch_has(project: Path) -> None:
    tree = of(project).make("fix")
    commit(tree.path, "two")
    of(project).take_over(tree)
    subprocess.run(["rm", "-rf", str(tree.path)], check=True)
    assert (of(project).take_over(tree), of(project).named("fix").path) == (
        WorktreeState(commits=1),
        tree.path,
    )
    git(project, "checkout", "-q", "hermes/fix")
    assert of(project).remove(tree) == f"it is checked out in {project}"
    assert (of(project).all(), git(project, "branch", "--list", "hermes/*")) == ([], "* hermes/fix")


def test_with_folders_that_git_cannot_look_into_it_is_never_taken_for_empty(project: Path) -> None:
    tree = of(project).make("fix")
    at = os.open(tree.path, os.O_RDONLY)
    for _ in range(25):  # longer than a path may be
        os.mkdir("x" * 200, dir_fd=at)
        above, at = at, os.open("x" * 200, os.O_RDONLY, dir_fd=at)
        os.close(above)
    os.close(os.open("work", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)
    with pytest.raises(HermesError, match="cannot be told: git ls-files cannot look into all folders"):
        of(project).take_over(tree)
    of(project).remove(tree)
    assert not tree.path.exists()


def test_folders_that_are_closed_go_too(project: Path) -> None:
    tree = of(project).make("fix")
    closed = tree.path / "cache" / "inner"
    closed.mkdir(parents=True)
    (closed / "x").write_text("x")
    for folder in (closed, closed.parent):
        folder.chmod(0o500)
    program = (
        "import os, sys; from pathlib import Path; from hermes.environments.worktrees import Worktrees\n"
        "found = Worktrees(Path(sys.argv[1]), dict(os.environ), Path(sys.argv[2])); found.remove(found.named('fix'))"
    )
    subprocess.run([sys.executable, "-c", program, str(project), str(project.parent / "home")], check=True)
    assert not tree.path.parent.exists()


def test_of_many_who_want_the_same_name_one_gets_it_whole(project: Path) -> None:
    def want(_: int) -> str:
        try:
            return of(project).make("same").branch
        except HermesError as error:
            return str(error).partition(" already")[0]

    with ThreadPoolExecutor(8) as pool:
        said = sorted(pool.map(want, range(16)))
    path = project.parent / "project.worktrees/same"
    known = {"There is a worktree same", f"There is {path}"}
    assert (said.count("hermes/same"), {one for one in said if one != "hermes/same"} <= known) == (1, True)
    assert (git(path, "status", "--short"), [one.name for one in of(project).all()]) == ("", ["same"])


def test_what_a_killed_process_left_of_a_look_goes_with_the_next(tmp_path: Path) -> None:
    records = WorktreeRecords(tmp_path)
    left = tmp_path / "worktrees/look-left"
    left.mkdir(parents=True)
    left.with_suffix(".lock").touch()
    with records.room() as room, records.room() as other:
        assert (left.exists(), room.is_dir(), other.is_dir(), room != other) == (False, True, True, True)
    assert list((tmp_path / "worktrees").iterdir()) == []


@pytest.mark.parametrize("damage", ["", "{", "\0" * 200, '{"name": 1}', "folder"])
def test_a_record_that_is_damaged_is_told_and_never_taken_for_none(project: Path, damage: str) -> None:
    tree, found = of(project).make("fix"), of(project)
    found.make("other")
    (record,) = (
        one for one in (project.parent / "home/worktrees").glob("*.json") if '"fix"' in one.read_text()
    )
    record.unlink()
    if damage == "folder":
        record.mkdir()
    else:
        record.write_text(damage)
    assert [one.name for one in found.all()] == ["other"]
    assert [str(one).partition(",")[0] for one in found.damaged()] == [str(record)]
    for look in (lambda: found.named("fix"), lambda: of(tree.path)):
        with pytest.raises(StorageDamaged, match="cannot be read"):
            look()
    assert found.named("other").name == "other"


@pytest.mark.parametrize("name", ["..", "a..b", "-f", "a b", "a\n", "x.lock", "../../q", "", "a/b", "é"])
def test_a_name_that_would_be_no_folder_or_no_branch_is_refused(project: Path, name: str) -> None:
    with pytest.raises(HermesError, match="is no name for a worktree"):
        of(project).make(name)


def test_a_branch_in_the_way_is_said(project: Path) -> None:
    git(project, "branch", "hermes")
    with pytest.raises(
        HermesError, match=r"^There is a branch hermes, beside which git takes no hermes/fix\.$"
    ):
        of(project).make("fix")
    git(project, "branch", "-m", "hermes", "hermes/fix")
    with pytest.raises(HermesError, match=r"; give another name, or git branch -D hermes/fix removes it\.$"):
        of(project).make("fix")
    assert not project.with_name("project.worktrees").exists()


def test_across_file_systems_it_is_made_all_the_same(project: Path, tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    assert memory.stat().st_dev != tmp_path.stat().st_dev
    home = memory / f"hermes-{os.getpid()}-{tmp_path.name}"
    try:
        (project / "link").symlink_to("one.txt")
        commit(project, "more")
        tree = Worktrees(project, dict(os.environ), home).make("fix")
        assert (git(tree.path, "status", "--short"), (tree.path / "link").readlink()) == ("", Path("one.txt"))
    finally:
        subprocess.run(["rm", "-rf", str(home)], check=True)


def test_another_branch_counts_until_a_branch_of_the_users_has_its_commits(project: Path) -> None:
    tree = of(project).make("fix")
    git(tree.path, "switch", "-qc", "same")
    git(tree.path, "switch", "-qc", "side")
    commit(tree.path, "aside")
    git(tree.path, "switch", "-q", "hermes/fix")
    assert of(project).take_over(tree) == WorktreeState(branches=("side",))
    git(project, "fetch", "-q", str(tree.path), "side:side")
    assert of(project).take_over(tree) == WorktreeState()
    git(tree.path, "update-ref", "refs/heads/gone", "side")
    (tree.path / ".git/refs/heads/gone").write_text("1" * 40 + "\n")
    assert of(project).take_over(tree) == WorktreeState()
