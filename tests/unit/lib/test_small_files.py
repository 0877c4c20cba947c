"""A file that is read whole is a file, and a small one."""

import os
from pathlib import Path

import pytest

from hermes.lib.small_files import OddFile, read_small


def test_a_file_is_read_whole_and_the_null_device_is_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"words")
    assert (read_small(tmp_path / "a"), read_small(Path(os.devnull))) == (b"words", b"")


def test_what_has_no_end_or_is_too_long_is_told_and_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long").touch()
    os.truncate(tmp_path / "long", 3_000_000_000)
    told = []
    for name in ("pipe", "long"):
        with pytest.raises(OddFile) as odd:
            read_small(tmp_path / name)
        told.append(odd.value.strerror)
    assert told == ["it is no regular file", "it has more than 16,000,000 bytes"]
