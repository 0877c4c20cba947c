"""One process at a time changes the skills of a home."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from hermes.lib.files import make_private
from hermes.types.error import SkillError

_SECONDS: Final = 30.0


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Hold the folder of skills; SkillError where another process holds it for long."""
    from filelock import FileLock, Timeout  # noqa: PLC0415  # most sessions change no skill

    make_private(folder)
    try:
        with FileLock(folder / ".lock").acquire(timeout=_SECONDS):
            yield
    except Timeout as error:
        raise SkillError(f"{folder} has been locked by another process for {_SECONDS:.0f} s.") from error
