"""Files of this machine: written in one step, with the mode and owner they had; a link in the way is refused."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes.environments import files


def refused(operation: Callable[[Path], object], path: Path) -> str:
    with pytest.raises(OSError, match="link has come in the way") as error:
        operation(path)
    return str(error.value.filename)


def test_nothing_is_done_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").write_text("old")
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "folder/to-file").symlink_to("file")
    for path in (tmp_path / "link/file", tmp_path / "folder/to-file"):
        assert [refused(one, path) for one in (files.read_bytes, files.stat_path)] == [str(path)] * 2
        assert refused(lambda at: files.write_bytes(at, b"new"), path) == str(path)
    refused(files.delete_file, tmp_path / "link/file")
    refused(files.list_folder, tmp_path / "link")
    assert sorted(one.name for one in (tmp_path / "folder").iterdir()) == ["file", "to-file"]
    assert (tmp_path / "folder/file").read_text() == "old"


def test_a_link_itself_can_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "link").symlink_to("file")
    files.delete_file(tmp_path / "link")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_new_file_gets_the_mode_that_the_mask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        files.write_bytes(tmp_path / "new", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_keeps_mode_and_owner(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    os.chown(path, 1234, 5678)
    path.chmod(0o4750)
    files.write_bytes(path, b"new")
    info = path.stat()
    assert (path.read_text(), info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)) == (
        "new",
        1234,
        5678,
        0o4750,
    )


def test_a_second_name_of_a_file_keeps_the_old_text(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "second").hardlink_to(tmp_path / "file")
    files.write_bytes(tmp_path / "file", b"new")
    assert ((tmp_path / "file").read_text(), (tmp_path / "second").read_text()) == ("new", "old")


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        files.write_bytes(tmp_path / "folder", b"new")
    with pytest.raises(TypeError):
        files.write_bytes(tmp_path / "file", "no bytes")  # type: ignore[arg-type]
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_reading_leaves_no_descriptor_open(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(OSError, match="."):
            files.read_bytes(path)
    files.write_bytes(tmp_path / "a/b/c", b"x")
    files.read_bytes(tmp_path / "a/b/c")
    files.list_folder(tmp_path / "a")
    files.stat_path(tmp_path / "a/none")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
