"""Saves the workspace `work` of its first argument as turns do, again and again with a changed file, a line for each; somebody
kills it.
"""

import itertools
import sys
from pathlib import Path

from hermes.store.checkpoints import Checkpoint, CheckpointLimits, CheckpointStore

top = Path(sys.argv[1])
work = str(top / "work")
kept = CheckpointStore(top / "checkpoints", CheckpointLimits(turns=8))
for number in itertools.count():
    (top / "work" / "number").write_text(f"{sys.argv[2]} {number}\n" * 2_000)
    about = Checkpoint(
        id=f"{sys.argv[2]}-{number}",
        at=float(int(sys.argv[2]) * 1_000_000 + number),
        command=f"{sys.argv[2]} {number}",
        cwd=work,
        session="s",
        workspace=work,
        paths=(work,),
        message="m",
    )
    kept.end_tree(kept.save_tree(about), about.at)
    sys.stdout.write(f"{about.id}\n")
    sys.stdout.flush()
