import os
import subprocess
import sys

import psutil
import pytest

from hermes.models.local.engine import usable_cores

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="a process is bound to cores on Linux alone"
)


def test_a_process_that_is_bound_to_one_core_uses_one() -> None:
    asked = "import os; os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})\nfrom hermes.models.local.engine import usable_cores\nprint(usable_cores())"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_a_process_that_is_bound_to_none_uses_all_that_are_real() -> None:
    assert usable_cores() == min(psutil.cpu_count(logical=False) or 1, len(os.sched_getaffinity(0)))
