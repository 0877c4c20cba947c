"""The measurement of growth runs: all its curves, at two small sizes."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_curve_of_growth_is_measured_and_says_whether_it_bends() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "bench_growth.py"), "--quick"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    curves = {part.split("\n")[0]: part for part in told.split("## ")[1:]}
    assert [*curves] == ["history", "sessions", "tools", "store"]
    assert [len([line for line in one.split("\n") if line.startswith("| ")]) for one in curves.values()] == [
        3
    ] * 4
    assert all("\n- " in one for one in curves.values())
