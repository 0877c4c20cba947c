"""File tools while a process exchanges folders and files of the workspace with links: nothing outside is read or changed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.escapes.exchange import CANARY


@pytest.mark.parametrize("openat2", ["there", "ENOSYS", "EPERM"])
def test_a_path_that_is_exchanged_leads_nowhere_else(
    tmp_path: Path, openat2: str, request: pytest.FixtureRequest
) -> None:
    seconds = "60" if request.config.getoption("--long") else "2"
    argv = [sys.executable, "-m", "tests.escapes.exchange", str(tmp_path), seconds, openat2]
    done = subprocess.run(argv, stdout=subprocess.PIPE, check=True, cwd=Path(__file__).parents[2])
    came = {name: set(outcomes) for name, outcomes in json.loads(done.stdout).items()}
    keys = {path.name: path.read_text() for path in (tmp_path / "home/.ssh").iterdir()}
    owners = "the owner's\n"
    assert keys == {"config": f"{CANARY}\n", CANARY: owners, "authorized_keys": owners}
    assert {name for name, outcomes in came.items() if "outside" in outcomes} == set()
    assert set.union(*came.values()) == {"inside", "link", "refused"}
