"""Folders are removed whole, whatever lies in them; what a link leads to stays."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.lib.beneath import held
from hermes.lib.removal import remove_tree
from hermes.lib.walk import walk

PATHS = st.lists(st.lists(st.sampled_from(["a", "b", "ü", ".git"]), min_size=1, max_size=4), max_size=12)


def removed(path: Path) -> bool:
    with held(os.open(path.parent, os.O_RDONLY)) as above:
        remove_tree(above, path.name)
    return not os.path.lexists(path)


def deep(top: Path, depth: int, name: str) -> None:
    """Make folders in each other, with a file in the last one."""
    top.mkdir()
    at = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=at)
        above, at = at, os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(above)
    os.close(os.open("work", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(paths=PATHS)
def test_any_tree_goes_and_what_links_lead_to_stays(tmp_path: Path, paths: list[list[str]]) -> None:
    (tmp_path / "kept").mkdir(exist_ok=True)
    (tmp_path / "kept/file").touch()
    top = tmp_path / "top"
    top.mkdir()
    for parts in paths:
        folder = top.joinpath(*parts)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "file").write_text("x")
        if not os.path.lexists(folder / "link"):
            (folder / "link").symlink_to(tmp_path / "kept")
    assert removed(top)
    assert [one.name for one in (tmp_path / "kept").iterdir()] == ["file"]


def test_what_can_go_goes_where_something_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a/file", "b/held", "c/file"):
        (tmp_path / "top" / name).parent.mkdir(parents=True)
        (tmp_path / "top" / name).touch()
    remove = os.unlink

    def refused(name: str, **where: int) -> None:
        if name == "held":
            raise PermissionError(1, "not permitted", name)
        remove(name, **where)

    monkeypatch.setattr(os, "unlink", refused)
    with pytest.raises(PermissionError, match="held"):
        removed(tmp_path / "top")
    monkeypatch.undo()
    assert [str(path.relative_to(tmp_path / "top")) for path in (tmp_path / "top").rglob("*")] == [
        "b",
        "b/held",
    ]


@pytest.mark.parametrize(("depth", "name"), [(3_000, "d"), (400, "n" * 200)])
def test_folders_deeper_than_python_recurses_or_a_path_may_be_long_go(
    tmp_path: Path, depth: int, name: str
) -> None:
    deep(tmp_path / "top", depth, name)
    assert removed(tmp_path / "top")


@pytest.mark.parametrize(("depth", "name", "seen"), [(1_500, "d", True), (3_000, "d", False)])
def test_a_walk_goes_as_deep_as_a_path_may_be_long(tmp_path: Path, depth: int, name: str, seen: bool) -> None:
    deep(tmp_path / "top", depth, name)
    found = [others for _, _, others in walk(str(tmp_path / "top"))]
    assert (["work"] in found, len(found) > 1_000) == (seen, True)
    removed(tmp_path / "top")


def test_a_walk_gives_what_that_of_python_gives(tmp_path: Path) -> None:
    for name in ("a/b/c", "a/d", "e/f"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "a", target_is_directory=True)
    found = {at: (sorted(folders), sorted(others)) for at, folders, others in walk(str(tmp_path))}
    of_python = {
        at: (
            sorted(one for one in folders if one != "link"),
            sorted([*others, *(one for one in folders if one == "link")]),
        )
        for at, folders, others in os.walk(tmp_path)
    }
    assert found == of_python


def test_one_that_is_moved_meanwhile_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "top/a/b").mkdir(parents=True)
    (tmp_path / "top/a/b/pipe").touch()
    remove = os.unlink

    def moved(name: str, **where: int) -> None:  # while the file is removed, by somebody else
        remove(name, **where)
        (tmp_path / "top/a/b").rename(tmp_path / "b")

    monkeypatch.setattr(os, "unlink", moved)
    with pytest.raises(OSError, match="a folder was moved while it was removed"):
        removed(tmp_path / "top")
    assert (tmp_path / "b").is_dir()
