"""What a command could lose is saved whole or not at all, brought back as it was, and takes bounded room."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes.store.checkpoints import Checkpoint, CheckpointLimits, CheckpointStore, Restored
from hermes.store.guarded import Guarded
from hermes.types.error import StoreError

MB = 1024 * 1024


def about(work: Path, *names: str, at: float = 1_000.0, name: str = "one") -> Checkpoint:
    paths = tuple(str(work / name) for name in names)
    return Checkpoint(
        id=name, at=at, command="rm -rf src", cwd=str(work), session="s", workspace=str(work), paths=paths
    )


def disposable(path: str) -> bool:
    return path.endswith("/node_modules")


def tree(top: Path) -> dict[str, str | int]:
    """Everything below a folder: what files hold and links say, and the modes of what can be run."""
    found: dict[str, str | int] = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        found[name] = (
            f"-> {path.readlink()}" if path.is_symlink() else path.read_text() if path.is_file() else "/"
        )
        if path.is_file() and path.stat().st_mode & 0o100:
            found[f"{name} mode"] = path.stat().st_mode
    return found


@pytest.fixture
def work(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    for name, text in {
        "src/a.py": "a\n",
        "src/deep/b.py": "b\n",
        "src/run.sh": "#!/bin/sh\n",
        ".git/HEAD": "ref: refs/heads/main\n",
        ".git/objects/ab/cd": "object\n",
        "notes": "n\n",
    }.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text)
    (made / "src" / "run.sh").chmod(0o755)
    (made / "src" / "link").symlink_to("/etc/passwd")
    (made / "src" / "empty").mkdir()
    return made


@pytest.fixture
def kept(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "home" / "checkpoints", CheckpointLimits())


def test_a_tree_comes_back_as_it_was(work: Path, kept: CheckpointStore) -> None:
    before = tree(work)
    saved = kept.save(about(work, ""), disposable=disposable)
    assert saved is not None
    (work / "src" / "a.py").unlink()
    (work / "src" / "deep" / "b.py").write_text("changed\n")
    (work / ".git" / "objects" / "ab" / "cd").unlink()
    (work / "notes").unlink()
    (work / "notes").mkdir()
    (work / "src" / "new.py").write_text("new\n")
    assert kept.restore(saved) == Restored((str(work),))
    assert tree(work) == {**before, "src/new.py": "new\n"}


def test_all_counts_and_only_what_git_never_changes_is_linked(work: Path, kept: CheckpointStore) -> None:
    real = work / ".git" / "objects" / "ab" / ("c" * 38)
    real.write_text("object\n")
    real.chmod(0o444)
    alike = work / ".git" / "objects" / "ab" / "zeros"
    alike.write_text("0" * 1000)
    alike.chmod(0o444)
    saved = kept.save(about(work, ".git"), disposable=disposable)
    assert saved is not None
    assert [path.stat().st_nlink for path in (real, alike, work / ".git" / "HEAD")] == [2, 1, 1]
    assert saved.size == sum(path.stat().st_size for path in (work / ".git").rglob("*") if path.is_file())


@pytest.mark.parametrize("name", ["link/secret", "link/*", "../outside/secret"])
def test_nothing_is_saved_through_a_link_or_from_outside(
    work: Path, kept: CheckpointStore, tmp_path: Path, name: str
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("key")
    (work / "link").symlink_to(tmp_path / "outside")
    assert kept.save(about(work, name), disposable=disposable) is None
    assert list((tmp_path / "home").rglob("*secret*")) == []


@pytest.mark.parametrize("where", [".git", "../elsewhere"])
def test_a_restore_names_the_link_in_its_way_and_writes_nothing(
    work: Path, kept: CheckpointStore, tmp_path: Path, where: str
) -> None:
    (work / "x" / "hooks").mkdir(parents=True)
    (work / "x" / "hooks" / "pre-commit").write_text("payload")
    (tmp_path / "elsewhere").mkdir()
    saved = kept.save(about(work, "x/hooks/pre-commit"), disposable=disposable)
    assert saved is not None
    (work / "x").rename(work / "y")
    (work / "x").symlink_to(where)
    said = f"{work}/x is a link, and none is followed"
    with pytest.raises(StoreError, match=said):
        kept.bring_back(saved, now=2_000.0, token="two")
    with pytest.raises(StoreError, match=said):
        kept.restore(saved)
    assert [(work / where / "hooks").exists(), kept.newest()] == [False, [saved]]


@pytest.mark.parametrize("file", [".git/config", ".git/hooks/pre-commit", "config", "hooks/pre-commit"])
def test_what_git_would_run_is_not_put_into_a_repository(
    work: Path, kept: CheckpointStore, file: str
) -> None:
    evil = work / "x" / file
    evil.parent.mkdir(parents=True)
    evil.write_text("[core]\n\tfsmonitor = touch pwned\n")
    (work / "x" / "a").write_text("a")
    saved = kept.save(about(work, "x"), disposable=disposable)
    assert saved is not None
    evil.unlink()
    (work / "x" / "a").unlink()
    (work / "x" / "HEAD").write_text("ref: refs/heads/main\n")
    assert kept.restore(saved) == Restored((str(work / "x"),), (str(evil),))
    assert [evil.exists(), (work / "x" / "a").read_text()] == [False, "a"]
    assert kept.place(saved, str(evil)).read_text() == "[core]\n\tfsmonitor = touch pwned\n"


def test_settings_of_a_repository_that_run_nothing_come_back(work: Path, kept: CheckpointStore) -> None:
    settings = '[core]\n\tbare = false\n[remote "origin"]\n\turl = ../a\n'
    (work / ".git" / "config").write_text(settings)
    saved = kept.save(about(work, ".git"), disposable=disposable)
    assert saved is not None
    (work / ".git" / "config").unlink()
    assert kept.restore(saved) == Restored((str(work / ".git"),))
    assert (work / ".git" / "config").read_text() == settings


def test_what_is_guarded_is_neither_saved_nor_put_back(work: Path, tmp_path: Path) -> None:
    hidden, starts = str(work / "src" / "deep"), str(work / "src" / "a.py")
    kept = CheckpointStore(
        tmp_path / "checkpoints", CheckpointLimits(), Guarded(hidden.__eq__, starts.__eq__)
    )
    saved = kept.save(about(work, "src"), disposable=disposable)
    assert saved is not None
    (work / "src" / "a.py").write_text("changed\n")
    assert kept.restore(saved) == Restored((str(work / "src"),), (starts,))
    assert [path for path in kept.files(saved) if "/deep" in path] == []
    assert (work / "src" / "a.py").read_text() == "changed\n"


def test_folders_that_lie_in_each_other_without_end_are_too_large(work: Path, kept: CheckpointStore) -> None:
    at = os.open(work / "src", os.O_RDONLY)
    for _ in range(150):
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    assert kept.save(about(work, "src"), disposable=disposable) is None
    assert kept.newest() == []


def test_what_another_process_finished_meanwhile_is_passed_over(work: Path, kept: CheckpointStore) -> None:
    assert kept.save(about(work, "notes"), disposable=disposable)
    half = next(kept.place(one, one.paths[0]).parents[1] for one in kept.newest()) / "gone.half"
    half.symlink_to("gone")  # listed, and not there when it is looked at
    kept.prune(10_000.0)
    assert [one.id for one in kept.newest()] == ["one"]


def test_no_file_comes_back_with_the_rights_of_its_owner(work: Path, kept: CheckpointStore) -> None:
    (work / "src" / "run.sh").chmod(0o6755)
    saved = kept.save(about(work, "src"), disposable=disposable)
    assert saved is not None
    (work / "src" / "run.sh").unlink()
    kept.restore(saved)
    assert (work / "src" / "run.sh").stat().st_mode & 0o7777 == 0o755


def test_one_path_of_several_can_be_brought_back(work: Path, kept: CheckpointStore) -> None:
    saved = kept.save(about(work, "src", "notes"), disposable=disposable)
    assert saved is not None
    (work / "notes").unlink()
    (work / "src" / "a.py").unlink()
    (work / "src" / "run.sh").unlink()
    assert kept.restore(saved, [str(work / "src" / "a.py")]) == Restored((str(work / "src" / "a.py"),))
    assert [(work / name).exists() for name in ("notes", "src/a.py", "src/run.sh")] == [False, True, False]
    with pytest.raises(StoreError, match="was not saved"):
        kept.restore(saved, [str(work / "other")])


def test_no_link_that_has_come_meanwhile_is_followed(
    work: Path, kept: CheckpointStore, tmp_path: Path
) -> None:
    saved = kept.save(about(work, "src"), disposable=disposable)
    assert saved is not None
    (tmp_path / "elsewhere").mkdir()
    (work / "src").rename(work / "old")
    (work / "src").symlink_to(tmp_path / "elsewhere")
    kept.restore(saved)
    assert (list((tmp_path / "elsewhere").iterdir()), (work / "src").is_symlink()) == ([], False)
    assert (work / "src" / "a.py").read_text() == "a\n"


def test_what_is_not_there_needs_no_checkpoint(work: Path, kept: CheckpointStore) -> None:
    saved = kept.save(about(work, "gone"), disposable=disposable)
    assert (saved is not None and saved.paths, kept.newest()) == ((), [])


def test_what_is_too_large_is_not_saved_and_leaves_nothing(work: Path, tmp_path: Path) -> None:
    kept = CheckpointStore(tmp_path / "checkpoints", CheckpointLimits(one=10))
    assert kept.save(about(work, ""), disposable=disposable) is None
    assert not (tmp_path / "checkpoints").exists()


def test_build_output_is_left_out_where_it_would_be_too_large_with_it(work: Path, tmp_path: Path) -> None:
    (work / "node_modules").mkdir()
    (work / "node_modules" / "big").write_text("x" * 1000)
    kept = CheckpointStore(tmp_path / "checkpoints", CheckpointLimits(one=500))
    saved = kept.save(about(work, ""), disposable=disposable)
    assert saved is not None
    assert not [path for path in kept.files(saved) if "node_modules" in path]


def test_a_home_in_the_workspace_is_not_saved_in_itself(work: Path) -> None:
    kept = CheckpointStore(work / ".hermes" / "checkpoints", CheckpointLimits())
    saved = kept.save(about(work, ""), disposable=disposable)
    assert saved is not None
    assert not [path for path in kept.files(saved) if ".hermes" in path]


def test_the_oldest_make_room_and_the_old_go(work: Path, tmp_path: Path) -> None:
    (work / "notes").write_text("x" * 100)
    kept = CheckpointStore(tmp_path / "checkpoints", CheckpointLimits(one=100, all=300, age=50.0))
    for number in range(5):
        assert kept.save(about(work, "notes", name=str(number), at=float(number)), disposable=disposable)
    assert [one.id for one in kept.newest()] == ["4", "3", "2"]
    kept.prune(53.0)
    assert [one.id for one in kept.newest()] == ["4", "3"]


def test_what_a_process_that_died_has_left_is_no_checkpoint_and_goes(work: Path, tmp_path: Path) -> None:
    kept = CheckpointStore(tmp_path / "checkpoints", CheckpointLimits())
    assert kept.save(about(work, "notes"), disposable=disposable)
    half = (tmp_path / "checkpoints" / "one").rename(tmp_path / "checkpoints" / "one.half")
    os.utime(half, (0, 0))
    assert kept.newest() == []
    kept.prune(10_000.0)
    assert not half.exists()


def test_bringing_back_can_be_brought_back(work: Path, kept: CheckpointStore) -> None:
    saved = kept.save(about(work, "notes"), disposable=disposable)
    assert saved is not None
    (work / "notes").write_text("better\n")
    kept.bring_back(saved, now=2_000.0, token="two")
    assert (work / "notes").read_text() == "n\n"
    assert kept.find("latest", str(work)) == saved
    kept.restore(kept.find("two", str(work)))
    assert (work / "notes").read_text() == "better\n"


def test_a_name_that_means_none_or_several_is_refused(work: Path, kept: CheckpointStore) -> None:
    for name in ("aa", "ab"):
        assert kept.save(about(work, "notes", name=name), disposable=disposable)
    assert kept.find("ab", str(work)).id == "ab"
    for name, sentence in (
        ("a", "Several checkpoints begin with a"),
        ("x", "no checkpoint that begins with x"),
    ):
        with pytest.raises(StoreError, match=sentence):
            kept.find(name, str(work))


def test_the_latest_is_of_the_workspace_one_is_in(work: Path, kept: CheckpointStore, tmp_path: Path) -> None:
    saved = kept.save(about(work, "notes"), disposable=disposable)
    other = tmp_path / "other"
    (other / "notes").mkdir(parents=True)
    later = replace(
        about(work, "notes", name="late"), workspace=str(other), paths=(f"{other}/notes",), at=1_001.0
    )
    assert kept.save(later, disposable=disposable)
    assert kept.find("latest", str(work)) == kept.find("latest", str(work / "src")) == saved
    assert kept.find("late", str(work)).id == "late"
    with pytest.raises(StoreError, match=f"Nothing is saved of {tmp_path};"):
        kept.find("latest", str(tmp_path))


def test_a_pipe_in_the_place_of_what_tells_of_one_is_damage(kept: CheckpointStore, tmp_path: Path) -> None:
    place = tmp_path / "home" / "checkpoints" / "one"
    place.mkdir(parents=True)
    os.mkfifo(place / "checkpoint.json")
    assert (kept.newest(), kept.damaged()) == ([], ["one"])
