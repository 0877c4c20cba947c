"""Paths opened by descriptor: whatever is there is opened, but for links; the walk says the same as the kernel."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes.lib.beneath import (
    FOLDER,
    READ_FILE,
    READ_FOLDER,
    held,
    make_folders,
    open_beneath,
    open_path,
    walk_beneath,
)

Open = Callable[[int, str, int], int]


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    (tmp_path / "top/folder").mkdir(parents=True)
    (tmp_path / "top/folder/file").write_text("text")
    (tmp_path / "outside").write_text("outside")
    for name, target in {
        "link": "folder",
        "folder/up": "../..",
        "folder/self": "self",
        "to-file": "folder/file",
    }.items():
        (tmp_path / "top" / name).symlink_to(target)
    os.mkfifo(tmp_path / "top/pipe")
    return tmp_path / "top"


def opened(way: Open, ground: Path, path: str, flags: int) -> str | None:
    """The path that the descriptor has, or the name of the error."""
    with held(os.open(ground, FOLDER)) as top:
        try:
            with held(way(top, path, flags)) as found:
                return os.path.relpath(Path(f"/proc/self/fd/{found}").readlink(), ground)
        except OSError as error:
            return errno.errorcode.get(error.errno or 0)


@pytest.mark.parametrize("way", [open_beneath, walk_beneath])
@pytest.mark.parametrize(
    ("path", "flags", "found"),
    [
        ("folder/file", READ_FILE, "folder/file"),
        ("folder", READ_FOLDER, "folder"),
        ("folder", FOLDER, "folder"),
        ("folder/file", os.O_PATH, "folder/file"),
        (".", READ_FOLDER, "."),
        ("pipe", READ_FILE, "pipe"),
        ("link/file", READ_FILE, "ELOOP"),
        ("link", READ_FOLDER, "ELOOP"),
        ("link", FOLDER, "ELOOP"),
        ("to-file", READ_FILE, "ELOOP"),
        ("to-file", os.O_PATH, "ELOOP"),
        ("link/file", os.O_PATH, "ELOOP"),
        ("folder/up/outside", READ_FILE, "ELOOP"),
        ("folder/self", READ_FILE, "ELOOP"),
        ("folder/none", READ_FILE, "ENOENT"),
        ("none/file", READ_FILE, "ENOENT"),
        ("folder/file/file", READ_FILE, "ENOTDIR"),
        ("folder/file", READ_FOLDER, "ENOTDIR"),
        ("../outside", READ_FILE, "EXDEV"),
        ("folder/../file", READ_FILE, "EXDEV"),
    ],
)
def test_a_path_is_opened_unless_it_has_a_link_or_leads_up(
    ground: Path, way: Open, path: str, flags: int, found: str
) -> None:
    assert opened(way, ground, path, flags) == found


def test_an_error_names_the_whole_path(ground: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        open_path(ground / "folder/none", READ_FILE)
    with pytest.raises(OSError, match="link") as linked:
        open_path(ground / "link/file", READ_FILE)
    assert (missing.value.filename, linked.value.filename, linked.value.strerror) == (
        str(ground / "folder/none"),
        str(ground / "link/file"),
        "a link has come in the way since this was decided, and it was not followed; try it again",
    )


def test_no_path_ends_at_a_nul(ground: Path) -> None:
    with pytest.raises(ValueError, match="NUL"):
        open_path(ground / "folder/file\0x", READ_FILE)


def test_missing_folders_are_made_and_none_through_a_link(ground: Path) -> None:
    with held(make_folders(ground / "folder/a/b")) as made:
        assert Path(f"/proc/self/fd/{made}").readlink() == ground / "folder/a/b"
    with pytest.raises(OSError, match="link"):
        make_folders(ground / "folder/up/new")
    assert not (ground.parent / "new").exists()


def test_a_folder_that_may_not_be_listed_is_passed(ground: Path) -> None:
    (ground / "folder").chmod(0o100)
    assert [opened(way, ground, "folder/file", READ_FILE) for way in (open_beneath, walk_beneath)] == [
        "folder/file"
    ] * 2
