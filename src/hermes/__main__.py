"""`python -m hermes` and the console command."""

import os
import sys


def _outside(path: list[str], given: str) -> list[str]:
    """The import path without the current folder, and without what PYTHONPATH names in it."""
    try:
        here = os.path.realpath(os.getcwd())  # noqa: PTH109  # pathlib is not loaded yet
    except OSError:  # it was deleted: nothing can lie in it
        here = os.devnull
    own = set(given.split(os.pathsep))
    return [
        entry
        for entry in path
        if os.path.isabs(entry)  # noqa: PTH117  # as above
        and not (entry in own and f"{os.path.realpath(entry)}/".startswith(f"{here}/"))
    ]


# Before any other import: a file such as click.py in the folder that somebody works in must not be run as
# ours. With -m Python puts that folder first, and PYTHONPATH with an empty part names it, too.
if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]
sys.path[:] = _outside(sys.path, os.environ.get("PYTHONPATH", ""))  # noqa: TID251  # see above

from hermes.apps.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
