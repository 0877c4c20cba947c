"""How much room is left on a disk."""

import math
import shutil
from pathlib import Path


def free_bytes(path: Path) -> float:
    """The bytes left for files beside `path`, which need not exist; infinite where nobody can tell."""
    folder = next((one for one in path.parents if one.is_dir()), path)
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return math.inf
