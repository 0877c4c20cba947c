"""What a crash left elsewhere is found by its label, and nothing else is taken for that."""

import platform
import subprocess
import sys

from hermes.environments.remote.leases import abandoned, this_process


def test_only_what_a_process_of_this_host_left_that_is_gone_is_abandoned() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    mine, here = this_process(), platform.node()
    labels = {
        "of a process that is gone": f"{here}/{gone.pid}/1",
        "of another that has the id by now": f"{here}/{mine.pid}/{mine.started + 1}",
        "of this process": str(mine),
        "of another host": f"{here}x/{gone.pid}/1",
        "of nobody": "",
        "not ours": "someone",
        "odd": f"{here}/-1/x",
    }
    assert list(abandoned(labels, labels.__getitem__)) == [
        "of a process that is gone",
        "of another that has the id by now",
    ]
