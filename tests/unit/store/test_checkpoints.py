"""What a command could lose is saved whole or not at all, brought back as it was, and takes bounded room."""

import os
from pathlib import Path

import pytest

from hermes.store.checkpoints import Checkpoint, Checkpoints, Limits
from hermes.types.error import StoreError

MB = 1024 * 1024


def about(work: Path, *names: str, at: float = 1_000.0, name: str = "one") -> Checkpoint:
    paths = tuple(str(work / name) for name in names)
    return Checkpoint(id=name, at=at, command="rm -rf src", cwd=str(work), session="s", paths=paths)


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
def kept(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "home" / "checkpoints", Limits())


def test_a_tree_comes_back_as_it_was(work: Path, kept: Checkpoints) -> None:
    before = tree(work)
    saved = kept.save(about(work, ""), disposable=disposable)
    assert saved is not None
    (work / "src" / "a.py").unlink()
    (work / "src" / "deep" / "b.py").write_text("changed\n")
    (work / ".git" / "objects" / "ab" / "cd").unlink()
    (work / "notes").unlink()
    (work / "notes").mkdir()
    (work / "src" / "new.py").write_text("new\n")
    assert kept.restore(saved) == [str(work)]
    assert tree(work) == {**before, "src/new.py": "new\n"}


def test_objects_of_git_take_no_room_and_other_files_are_copies(work: Path, kept: Checkpoints) -> None:
    saved = kept.save(about(work, ""), disposable=disposable)
    assert saved is not None
    assert (work / ".git" / "objects" / "ab" / "cd").stat().st_nlink == 2
    assert (work / "src" / "a.py").stat().st_nlink == 1
    assert saved.size == sum(
        len(text) for text in ("a\n", "b\n", "#!/bin/sh\n", "ref: refs/heads/main\n", "n\n")
    ) + len("/etc/passwd")


def test_one_path_of_several_can_be_brought_back(work: Path, kept: Checkpoints) -> None:
    saved = kept.save(about(work, "src", "notes"), disposable=disposable)
    assert saved is not None
    (work / "notes").unlink()
    (work / "src" / "a.py").unlink()
    (work / "src" / "run.sh").unlink()
    assert kept.restore(saved, [str(work / "src" / "a.py")]) == [str(work / "src" / "a.py")]
    assert [(work / name).exists() for name in ("notes", "src/a.py", "src/run.sh")] == [False, True, False]
    with pytest.raises(StoreError, match="was not saved"):
        kept.restore(saved, [str(work / "other")])


def test_no_link_that_has_come_meanwhile_is_followed(work: Path, kept: Checkpoints, tmp_path: Path) -> None:
    saved = kept.save(about(work, "src"), disposable=disposable)
    assert saved is not None
    (tmp_path / "elsewhere").mkdir()
    (work / "src").rename(work / "old")
    (work / "src").symlink_to(tmp_path / "elsewhere")
    kept.restore(saved)
    assert (list((tmp_path / "elsewhere").iterdir()), (work / "src").is_symlink()) == ([], False)
    assert (work / "src" / "a.py").read_text() == "a\n"


def test_what_is_not_there_needs_no_checkpoint(work: Path, kept: Checkpoints) -> None:
    saved = kept.save(about(work, "gone"), disposable=disposable)
    assert (saved is not None and saved.paths, kept.newest()) == ((), [])


def test_what_is_too_large_is_not_saved_and_leaves_nothing(work: Path, tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path / "checkpoints", Limits(one=10))
    assert kept.save(about(work, ""), disposable=disposable) is None
    assert not (tmp_path / "checkpoints").exists()


def test_build_output_is_left_out_where_it_would_be_too_large_with_it(work: Path, tmp_path: Path) -> None:
    (work / "node_modules").mkdir()
    (work / "node_modules" / "big").write_text("x" * 1000)
    kept = Checkpoints(tmp_path / "checkpoints", Limits(one=500))
    saved = kept.save(about(work, ""), disposable=disposable)
    assert saved is not None
    assert not [path for path in kept.files(saved) if "node_modules" in path]


def test_a_home_in_the_workspace_is_not_saved_in_itself(work: Path) -> None:
    kept = Checkpoints(work / ".hermes" / "checkpoints", Limits())
    saved = kept.save(about(work, ""), disposable=disposable)
    assert saved is not None
    assert not [path for path in kept.files(saved) if ".hermes" in path]


def test_the_oldest_make_room_and_the_old_go(work: Path, tmp_path: Path) -> None:
    (work / "notes").write_text("x" * 100)
    kept = Checkpoints(tmp_path / "checkpoints", Limits(one=100, all=300, age=50.0))
    for number in range(5):
        assert kept.save(about(work, "notes", name=str(number), at=float(number)), disposable=disposable)
    assert [one.id for one in kept.newest()] == ["4", "3", "2"]
    kept.prune(53.0)
    assert [one.id for one in kept.newest()] == ["4", "3"]


def test_what_a_process_that_died_has_left_is_no_checkpoint_and_goes(work: Path, tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path / "checkpoints", Limits())
    assert kept.save(about(work, "notes"), disposable=disposable)
    half = (tmp_path / "checkpoints" / "one").rename(tmp_path / "checkpoints" / "one.half")
    os.utime(half, (0, 0))
    assert kept.newest() == []
    kept.prune(10_000.0)
    assert not half.exists()


def test_bringing_back_can_be_brought_back(work: Path, kept: Checkpoints) -> None:
    saved = kept.save(about(work, "notes"), disposable=disposable)
    assert saved is not None
    (work / "notes").write_text("better\n")
    kept.bring_back(saved, now=2_000.0, token="two")
    assert (work / "notes").read_text() == "n\n"
    kept.restore(kept.find("latest"))
    assert (work / "notes").read_text() == "better\n"


def test_a_name_that_means_none_or_several_is_refused(work: Path, kept: Checkpoints) -> None:
    for name in ("aa", "ab"):
        assert kept.save(about(work, "notes", name=name), disposable=disposable)
    assert kept.find("ab").id == "ab"
    for name, sentence in (
        ("a", "Several checkpoints begin with a"),
        ("x", "no checkpoint that begins with x"),
    ):
        with pytest.raises(StoreError, match=sentence):
            kept.find(name)
