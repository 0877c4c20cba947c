import json
import subprocess
import sys
from pathlib import Path

import pytest

SWEEP = Path(__file__).with_name("refresh.py")
ROOT = Path(__file__).parents[2]


def sweep(folder: Path, step: int) -> None:
    words = [sys.executable, str(SWEEP), str(folder), str(step)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["violations"] == []
    assert report["points"] > 80
    assert report["between"] > 0


@pytest.mark.timeout(600)
def test_kill_9_in_a_refresh_leaves_the_file_whole_and_costs_at_most_a_new_sign_in(tmp_path: Path) -> None:
    """Between the endpoint's answer and the write the new token exists nowhere else: then the old one is spent, and the next says so."""
    sweep(tmp_path, 7)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_kill_9_at_every_point_of_a_refresh(tmp_path: Path) -> None:
    sweep(tmp_path, 1)
