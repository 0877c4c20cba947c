"""A yes to a command is one to the files that it names, whatever their size."""

import os
from pathlib import Path

from hermes.environments.named_files import named_files


def write_unseen(path: Path, data: bytes) -> None:
    """Write over the beginning of a file, and set its time back."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_large_file_that_is_changed_in_place_is_another(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_bytes(b"echo a\n" + b"#" * 300_000)
    before = named_files("./tool", str(tmp_path))
    write_unseen(tool, b"echo b")
    assert named_files("./tool", str(tmp_path)) != before
    write_unseen(tool, b"echo a")
    assert named_files("./tool", str(tmp_path)) == before


def test_one_too_large_to_be_read_is_known_by_when_it_was_changed(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_bytes(b"echo a\n")
    os.truncate(tool, 300_000_000)
    before, changed = named_files("./tool", str(tmp_path)), tool.stat().st_ctime_ns
    while tool.stat().st_ctime_ns == changed:  # a file system's time has steps
        write_unseen(tool, b"echo b")
    assert named_files("./tool", str(tmp_path)) != before


def test_a_pattern_stands_for_all_files_that_fit_it(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("echo a")
    patterns = [f"{tmp_path}/{name}" for name in ("r*.sh", "ru[n].sh", "ru[[:alpha:]].sh", "[^x]un.sh")]
    before = [named_files("", str(tmp_path), [one]) for one in patterns]
    (tmp_path / "run.sh").write_text("echo b")
    after = [named_files("", str(tmp_path), [one]) for one in patterns]
    assert [was != now for was, now in zip(before, after, strict=True)] == [True] * 4


def test_the_program_that_runs_a_file_is_the_one_in_its_first_line(tmp_path: Path) -> None:
    lines = [
        "#!/usr/bin/env python3",
        "#! /usr/bin/env -S uv run -q",
        "#!/bin/sh -e",
        "echo",
        "#!/usr/bin/make -f",
    ]
    for number, line in enumerate(lines):
        (tmp_path / f"f{number}").write_text(f"{line}\n")
    found = named_files("f0 f1 f2 f3 f4", str(tmp_path)).runners
    runners = ["python3", "uv", "/bin/sh", "/usr/bin/make"]
    assert found == tuple((f"{tmp_path}/f{at}", one) for at, one in zip([0, 1, 2, 4], runners, strict=True))
