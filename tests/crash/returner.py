"""Brings the workspace `work` of its first argument back to its oldest checkpoint, a line when that is done; somebody kills it."""

import sys
from pathlib import Path

from msgspec.structs import replace

from hermes.store.checkpoints import CheckpointLimits, CheckpointStore
from hermes.store.rollback import roll_back

kept = CheckpointStore(Path(sys.argv[1]) / "checkpoints", CheckpointLimits())
start = kept.newest()[-1]
about = replace(start, id=f"back{sys.argv[2]}", at=1e6 + int(sys.argv[2]), after="", message="")
sys.stdout.write("ready\n")
sys.stdout.flush()
roll_back(kept, start, about, force=False)
sys.stdout.write("done\n")
