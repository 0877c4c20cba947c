"""A fact that was acknowledged is there after kill -9, and the next process goes on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .noter import opened


@pytest.mark.parametrize("kind", ["sqlite", "git_notes"])
def test_what_was_noted_survives_kill_9_and_others_go_on(tmp_path: Path, kind: str) -> None:
    noted: list[str] = []
    for kept in (1, 3, 6):
        command = [sys.executable, "-m", "tests.crash.noter", kind, str(tmp_path)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        ) as process:
            assert process.stdout is not None
            noted += [process.stdout.readline().strip() for _ in range(kept)]
            os.kill(process.pid, signal.SIGKILL)
            noted += [line.strip() for line in process.stdout if line.endswith("\n")]
    store = opened(kind, tmp_path)
    assert set(noted) <= {one.id for one in store.everything()}
    store.close()
    if kind == "git_notes":
        listed = subprocess.run(
            ["git", "-C", tmp_path / "notes", "ls-tree", "--name-only", "HEAD"],
            capture_output=True,
            check=True,
            text=True,
        )
        assert {f"{one}.md" for one in noted} <= {*listed.stdout.split()}
