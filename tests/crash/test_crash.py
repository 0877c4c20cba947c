import json
import subprocess
import sys
from pathlib import Path

import pytest

SWEEP = Path(__file__).with_name("sweep.py")


@pytest.mark.timeout(180)
@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_kill_9_at_any_point_loses_no_finished_result_and_repeats_no_call(mode: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, SWEEP, tmp_path, mode, "1"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["violations"] == []
    assert report["points"] > 80
