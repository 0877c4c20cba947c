"""Repositories of git that tests install from."""

import subprocess
from pathlib import Path


def begin(top: Path) -> None:
    """Make a folder a repository, with all that is in it."""
    subprocess.run(["git", "-C", str(top), "-c", "init.defaultBranch=main", "init", "-q"], check=True)
    commit(top)


def commit(top: Path) -> None:
    """Commit all that is in a folder."""
    who = ("-c", "user.email=a@b", "-c", "user.name=a")
    for words in (("add", "-A"), (*who, "commit", "-q", "-m", "x")):
        subprocess.run(["git", "-C", str(top), *words], check=True)
