"""The files that a search looks into, without those that ignore files leave out; walked by descriptor: no
link is followed, wherever one comes up.
"""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from hermes.environments.files import read_open
from hermes.lib.beneath import (
    FOLDER,
    READ_FILE,
    READ_FOLDER,
    held,
    open_beneath,
    open_path,
    stat_entry,
)
from hermes.lib.globs import glob_test, spec_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

Rules = tuple[tuple[Path, "GitIgnoreSpec"], ...]
"""The folders that have rules, and these; the deepest last."""

LARGEST_FILE: Final = 20_000_000
"""Bytes; larger files are not looked into."""

_RULES: Final = (".git/info/exclude", ".gitignore", ".ignore")
_LARGEST_RULES: Final = 1_000_000  # bytes
_DEEPEST: Final = 200  # folders; each that is walked into holds a descriptor and two frames


class Search(Struct, frozen=True, kw_only=True):
    """Where to look: below `root`, in files that fit `file_glob` and are not `concealed`; at most `limit`
    results, for at most so many `seconds`.
    """

    root: Path
    file_glob: str = ""
    limit: int = 1_000
    concealed: Callable[[str], bool] = field(default=lambda _path: False)
    seconds: float = 30.0


class SearchedFile(Struct, frozen=True):
    """A regular file: its path, and the open folder and the name under which it is opened; good until the
    next one is asked for.
    """

    path: Path
    folder: int
    name: str


def wanted(search: Search) -> Callable[[Path], bool]:
    """A test for absolute paths below the root: whether a search may and should look into them."""
    fits = glob_test(search.file_glob) if search.file_glob else None

    def test(path: Path) -> bool:
        if search.concealed(str(path)):
            return False
        return fits is None or path == search.root or fits(path.relative_to(search.root))

    return test


def searched_files(search: Search) -> Iterator[SearchedFile]:
    """Regular files below the root in order of path; ignored, hidden and concealed ones are left out."""
    root, concealed = search.root, search.concealed
    with held(open_path(root.parent, FOLDER)) as above:
        if not stat.S_ISREG(stat_entry(above, root.name).st_mode):
            with held(open_beneath(above, root.name or ".", READ_FOLDER)) as at:
                yield from _walk(at, root, _inherited(root), concealed)
        elif not concealed(str(root)):
            yield SearchedFile(root, above, root.name)


def _walk(at: int, folder: Path, rules: Rules, concealed: Callable[[str], bool]) -> Iterator[SearchedFile]:
    rules += _rules_of(at, folder)
    with os.scandir(at) as entries:
        inside = sorted(entries, key=lambda entry: entry.name)
    for entry in inside:
        path = folder / entry.name
        if entry.name.startswith(".") or entry.is_symlink() or concealed(str(path)):
            continue
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_ignored(path, rules, is_folder=is_folder):
            continue
        if is_folder:
            yield from _walk_inner(at, path, rules, concealed)
        elif entry.is_file(follow_symlinks=False):
            yield SearchedFile(path, at, entry.name)


def _walk_inner(
    above: int, folder: Path, rules: Rules, concealed: Callable[[str], bool]
) -> Iterator[SearchedFile]:
    if len(folder.parts) > _DEEPEST:
        return
    try:
        at = open_beneath(above, folder.name, READ_FOLDER)
    except OSError:  # it may not be read, or is gone or a link by now
        return
    with held(at):
        yield from _walk(at, folder, rules, concealed)


def is_ignored(path: Path, rules: Rules, *, is_folder: bool) -> bool:
    """Whether the deepest rule that says something about the path leaves it out."""
    for folder, spec in reversed(rules):
        verdict = spec.check_file(path.relative_to(folder).as_posix() + ("/" if is_folder else "")).include
        if verdict is not None:
            return verdict
    return False


def _rules_of(at: int, folder: Path) -> Rules:
    """The rules that an open folder has; `folder` is its path."""
    found: Rules = ()
    for name in _RULES:
        try:
            with held(open_beneath(at, name, READ_FILE)) as descriptor:
                text = read_open(descriptor, folder / name, _LARGEST_RULES).decode("utf-8", "replace")
        except OSError:
            continue
        found += ((folder, spec_of(text.splitlines())),)
    return found


def _inherited(root: Path) -> Rules:
    """The rules of the folders above, up to the repository's top; none outside of a repository."""
    found: Rules = ()
    for folder in root.parents:
        try:
            with held(open_path(folder, FOLDER)) as at:
                found = _rules_of(at, folder) + found
                os.stat(".git", dir_fd=at, follow_symlinks=False)
        except OSError:
            continue
        return found
    return ()
