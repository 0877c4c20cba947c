import json
import subprocess
import sys
from pathlib import Path

import pytest

SWEEP = Path(__file__).with_name("sweep.py")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_kill_9_at_any_point_loses_no_finished_result_and_repeats_no_call(mode: str, tmp_path: Path) -> None:
    halves = [
        subprocess.Popen(
            [sys.executable, SWEEP, tmp_path / first, mode, first, "2"], stdout=subprocess.PIPE, text=True
        )
        for first in ("1", "2")
    ]
    reports = [json.loads(half.communicate()[0]) for half in halves]
    assert [violation for report in reports for violation in report["violations"]] == []
    assert sum(report["points"] for report in reports) > 80
