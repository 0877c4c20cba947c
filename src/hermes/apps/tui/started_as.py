"""The words that start Hermes again from a shell."""

import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path


def started_as(environ: Mapping[str, str]) -> str:
    """`hermes` where a shell finds that, else the program that runs now, by its path."""
    if shutil.which("hermes", path=environ.get("PATH", "")):
        return "hermes"
    program = Path(sys.argv[0]).absolute()
    if program.name == "hermes":
        return shlex.quote(str(program))
    return f"{shlex.quote(sys.executable)} -m hermes"
