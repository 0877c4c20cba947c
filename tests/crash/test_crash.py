"""A turn of twelve calls, killed with its process group anywhere (invariants 1 and 2): what had ended is kept, nothing runs twice, what was
cut is answered once as of unknown outcome, and any wire takes the next request.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

SWEEP = Path(__file__).with_name("sweep.py")
ROOT = Path(__file__).parents[2]
MODES = ("sequential", "parallel", "commands", "files", "mixed")
KINDS = ("lost", "repeated", "invalid", "other")


def swept(folder: Path, mode: str, firsts: Sequence[int], step: int) -> dict[str, Any]:
    """What the sweeps from some first points on have found together."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    parts = [
        subprocess.Popen(
            [sys.executable, SWEEP, folder / str(first), mode, str(first), str(step)],
            stdout=subprocess.PIPE,
            text=True,
            env=environ,
        )
        for first in firsts
    ]
    reports = [json.loads(part.communicate()[0]) for part in parts]
    kinds = ("points", "unknown", *KINDS)
    counts = {kind: sum(report.get(kind, 0) for report in reports) for kind in kinds}
    return {**counts, "violations": [words for report in reports for words in report["violations"]]}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", MODES)
def test_kill_9_at_points_all_over_a_turn_loses_and_repeats_nothing(mode: str, tmp_path: Path) -> None:
    found = swept(tmp_path, mode, [1, 6], 10)
    assert found["violations"] == []
    assert found["points"] > 25


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_kill_9_at_every_point_of_a_turn_loses_and_repeats_nothing(tmp_path: Path) -> None:
    """The table of `docs/reference/crashes.md`."""
    found = {mode: swept(tmp_path / mode, mode, [1, 2], 2) for mode in MODES}
    for mode, row in found.items():
        sys.stdout.write(
            f"| {mode} | " + " | ".join(str(row[kind]) for kind in ("points", "unknown", *KINDS)) + " |\n"
        )
    assert [words for row in found.values() for words in row["violations"]] == []
    assert sum(row["points"] for row in found.values()) >= 500
