"""The rules of a project in `.cursor/rules`: those for every file, and those for files that are there."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from hermes.agent.prompt.builder import PromptSpan
from hermes.agent.prompt.notes import TextRules, read_notes
from hermes.agent.prompt.surroundings import in_one_line
from hermes.lib.globs import glob_test
from hermes.lib.walk import walk

PLACE: Final = ".cursor/rules"
LOOKED_AT: Final = 5_000
"""Files of a project that globs are held against; what lies behind them may be there."""
FOR_FILES: Final = "(This holds for files that match {}.)"
_PASSED_OVER: Final = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__"})
_FRONT: Final = re.compile(r"\A---\n(.*?)\n---(?:\n|\Z)", re.DOTALL)
_ALWAYS: Final = re.compile(r"^alwaysApply: *true *$", re.MULTILINE)
_GLOBS: Final = re.compile(r"^globs:[ \t]*(.*(?:\n[ \t]*-[ \t].*)*)", re.MULTILINE)
_BETWEEN: Final = re.compile(r",(?![^{]*\})|\n[ \t]*-[ \t]|\A[ \t]*-[ \t]")


def cursor_rules(project: Path, top: Path, rules: TextRules) -> Iterator[PromptSpan]:
    """The rules that hold for every file, and with a word on these those for files that are there. A rule
    that says neither waits to be named, and is left out.
    """
    try:
        paths = sorted(one for one in (project / PLACE).iterdir() if one.suffix == ".mdc")
    except OSError:
        return
    files: list[Path] | None = None
    for path in paths:
        span = read_notes(path, rules, top)
        if span is None:
            continue
        front = _FRONT.match(span.text)
        words = _FRONT.sub("", span.text).strip()
        if front is None or _ALWAYS.search(front[1]):
            yield PromptSpan(span.source, words)
        elif globs := _globs(front[1]):
            files = _files(project) if files is None else files
            if len(files) == LOOKED_AT or any(_matches(one, files) for one in globs):
                about = FOR_FILES.format(in_one_line(", ".join(globs)))
                yield PromptSpan(span.source, f"{about}\n{words}")


def _globs(front: str) -> list[str]:
    """The globs of a rule, in whatever form of YAML they stand; no parser takes `*.py` without quotes."""
    found = _GLOBS.search(front)
    value = found[1].strip() if found else ""
    if value.startswith("[") and value.endswith("]"):
        value = value[1:-1]
    return [glob for one in _BETWEEN.split(value) if (glob := one.strip().strip("'\""))]


def _matches(glob: str, files: Sequence[Path]) -> bool:
    try:
        fits = glob_test(glob)
    except ValueError:  # what it is for cannot be told, so it may be for files that are there
        return True
    return any(map(fits, files))


def _files(project: Path) -> list[Path]:
    """The first files of a project, by their paths in it."""
    return list(islice(_walked(project), LOOKED_AT))


def _walked(project: Path) -> Iterator[Path]:
    for folder, folders, names in walk(str(project)):
        folders[:] = sorted(one for one in folders if one not in _PASSED_OVER)
        within = Path(folder).relative_to(project)
        yield from (within / name for name in names)
