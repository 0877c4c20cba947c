"""The ignore files of a repository: which files a search leaves out."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hermes.environments.beneath import FOLDER, READ_FILE, held, open_beneath, open_path
from hermes.environments.files import read_open
from hermes.environments.globs import spec_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

Rules = tuple[tuple[Path, "GitIgnoreSpec"], ...]
"""The folders that have rules, and these; the deepest last."""

_NAMES: Final = (".git/info/exclude", ".gitignore", ".ignore")
_LARGEST: Final = 1_000_000


def is_ignored(path: Path, rules: Rules, *, is_folder: bool) -> bool:
    """Whether the deepest rule that says something about the path leaves it out."""
    for folder, spec in reversed(rules):
        verdict = spec.check_file(path.relative_to(folder).as_posix() + ("/" if is_folder else "")).include
        if verdict is not None:
            return verdict
    return False


def rules_of(at: int, folder: Path) -> Rules:
    """The rules that an open folder has; `folder` is its path."""
    found: Rules = ()
    for name in _NAMES:
        try:
            with held(open_beneath(at, name, READ_FILE)) as descriptor:
                text = read_open(descriptor, folder / name, _LARGEST).decode("utf-8", "replace")
        except OSError:
            continue
        found += ((folder, spec_of(text.splitlines())),)
    return found


def inherited(root: Path) -> Rules:
    """The rules of the folders above, up to the repository's top; none outside of a repository."""
    found: Rules = ()
    for folder in root.parents:
        try:
            with held(open_path(folder, FOLDER)) as at:
                found = rules_of(at, folder) + found
                os.stat(".git", dir_fd=at, follow_symlinks=False)
        except OSError:
            continue
        return found
    return ()
