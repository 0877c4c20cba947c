"""Saves the folder `work` of its first argument again and again, a line for each; somebody kills it."""

import itertools
import sys
from pathlib import Path

from hermes.store.checkpoints import Checkpoint, CheckpointLimits, CheckpointStore

top = Path(sys.argv[1])
kept = CheckpointStore(top / "checkpoints", CheckpointLimits())
for number in itertools.count():
    about = Checkpoint(
        id=f"{sys.argv[2]}-{number}",
        at=float(number),
        command="rm -rf work",
        cwd=str(top),
        session="s",
        workspace=str(top),
        paths=(str(top / "work"),),
    )
    assert kept.save(about, disposable=lambda _path: False)
    sys.stdout.write(f"{about.id}\n")
    sys.stdout.flush()
