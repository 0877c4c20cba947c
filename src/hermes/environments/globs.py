"""Globs and lines of ignore files, held against relative paths."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hermes.lib.lazy import import_object

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def glob_test(glob: str) -> Callable[[Path], bool]:
    """A test for relative paths: a glob without a slash is held against the name, `**` crosses folders,
    `{a,b}` is either.
    """
    specs = spec_of([_anchored(one) for one in _alternatives(glob)])
    return lambda path: specs.match_file(path.as_posix())


def spec_of(lines: Sequence[str]) -> "GitIgnoreSpec":
    """The rules of an ignore file."""
    spec: GitIgnoreSpec = import_object("pathspec:GitIgnoreSpec").from_lines(lines)
    return spec


def _anchored(glob: str) -> str:
    glob = glob.removeprefix("./")
    glob = "\\" + glob if glob.startswith(("!", "#")) else glob
    return f"/{glob.removeprefix('/')}" if "/" in glob.rstrip("/") else glob


def _alternatives(glob: str) -> list[str]:
    braces = re.search(r"\{([^{}]*)\}", glob)
    if braces is None:
        return [glob]
    return [
        full
        for part in braces[1].split(",")
        for full in _alternatives(glob[: braces.start()] + part + glob[braces.end() :])
    ]
