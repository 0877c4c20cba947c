import json
import subprocess
import sys

PROGRAM = """
import gc, json
from hermes.lib.collector import OBJECTS, keep_start

collected = []
usual = gc.get_threshold()
keep_start()
gc.callbacks.append(lambda phase, info: phase == "start" and collected.append(gc.get_freeze_count()))
made = [[] for _ in range(OBJECTS // 2)]
during = len(collected)
made += [[] for _ in range(OBJECTS)]
print(json.dumps([during, len(collected) > 1, collected[-1] > OBJECTS // 2, gc.get_threshold() == usual]))
"""


def test_no_garbage_is_looked_for_in_a_start_and_as_usual_but_only_in_newer_objects_afterwards() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [0, True, True, True]
