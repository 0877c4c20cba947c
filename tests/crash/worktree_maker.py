"""A process that makes a worktree, takes over what was committed there and removes it, and is killed at one of its steps.

Usage: worktree_maker.py REPOSITORY HOME STEP; without being killed it prints how many steps there were.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from hermes.environments.worktrees import Worktrees

STEPS = {"subprocess.Popen", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}


def main(repository: Path, home: Path, fatal: int) -> None:
    seen = 0

    def step(event: str, _arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event not in STEPS:
            return
        seen += 1
        if seen == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    found = Worktrees(repository, dict(os.environ), home)
    sys.addaudithook(step)
    tree = found.make("fix")
    who = ("-c", "user.name=a", "-c", "user.email=b")
    subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "two"], cwd=tree.path, check=True)
    found.take_over(tree)
    found.remove(tree)
    sys.stdout.write(f"{seen}\n")


main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
