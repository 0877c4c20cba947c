"""Saved states of a model: what it made of a prompt, kept whole or not at all, and checked before it is trusted."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

_KEPT = 3


@dataclass(frozen=True, slots=True)
class States:
    """The states of one model file in a folder; the name of each has its prompt's digest and its own sum."""

    folder: Path
    model: str

    def find(self, digest: str) -> str:
        """The name of the sound state for that prompt, or nothing. The engine aborts the process on a damaged one."""
        for path in self.folder.glob(f"{self.model}-{digest}-*.state"):
            if path.stem.endswith(f"-{_sum(path)}"):
                return path.name
            path.unlink(missing_ok=True)
        return ""

    def keep(self, half: str, digest: str, size: int) -> None:
        """Put a state of `size` bytes just saved as `half` in place; only the latest few are kept."""
        path = self.folder / half
        if path.stat().st_size != size:
            path.unlink()
            return
        path.replace(self.folder / f"{self.model}-{digest}-{_sum(path)}.state")
        kept = sorted(self.folder.glob(f"{self.model}-*.state"), key=lambda found: found.stat().st_mtime)
        for old in kept[:-_KEPT]:
            old.unlink(missing_ok=True)


def _sum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]
