"""The notes of a project for agents: all kinds of them, from the top of the repository down to the working
directory.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.prompt.builder import PromptContext, PromptSpan
from hermes.agent.prompt.cursor_rules import PLACE, cursor_rules
from hermes.agent.prompt.notes import TextRules, read_notes
from hermes.agent.prompt.settings import ContextFileSettings
from hermes.agent.prompt.surroundings import in_one_line
from hermes.types.capabilities import Capabilities

KINDS: Final = ((".hermes.md", "HERMES.md"), ("AGENTS.md",), ("CLAUDE.md",), (".cursorrules",))
"""The names of such files; of the names of one kind the first that is there counts."""
NAMES: Final = tuple(name for names in KINDS for name in names)
LONGEST, SHARE, CHARACTERS = 20_000, 0.15, 4
"""How much one file may take: so many characters, and no more than this share of a small window."""
TOGETHER, NAMED = 2, 5
"""All files may take so many times what one may; of those that find no room so many are named."""
INTRODUCTION: Final = (
    "Notes of this project for agents follow. Where they differ, those of the nearer folder count; what the"
    " user says counts more than any of them."
)


class ContextFiles(Struct, frozen=True):
    """The files that are there when a session begins."""

    settings: ContextFileSettings
    rules: TextRules
    name: str = "context files"
    order: int = 600

    async def spans(self, context: PromptContext) -> Sequence[PromptSpan]:
        """A span for each file, after a sentence that says what they are."""
        if self.settings.mode == "off" or context.place.remote or not context.notes:
            return []
        cwd = Path(context.place.cwd)
        rules = replace(self.rules, longest=self.limit(context.window))
        found = _first(cwd, rules) if self.settings.mode == "first" else _layered(cwd, rules)
        kept = list(_bounded(_readable(found, context.bounds), rules.longest * TOGETHER))
        return [PromptSpan("built in", INTRODUCTION), *kept] if kept else []

    def limit(self, window: int) -> int:
        """Characters of one file for a model with such a window."""
        return self.settings.max_chars or min(LONGEST, int(window * CHARACTERS * SHARE))


def folder_notes(folder: Path, top: Path, rules: TextRules) -> Iterator[PromptSpan]:
    """The notes of one folder of a project, each under its path."""
    for names in KINDS:
        found = filter(None, (read_notes(folder / name, rules, top) for name in names))
        if (span := next(found, None)) is not None:
            yield _titled(span)
    yield from map(_titled, cursor_rules(folder, top, rules))


def notes_of(cwd: Path) -> Iterator[Path]:
    """The files of notes that are there for work in a folder, from the top of the repository down."""
    top = repository_top(cwd)
    for folder in (one for one in (*reversed(cwd.parents), cwd) if one.is_relative_to(top)):
        yield from (folder / name for name in NAMES if (folder / name).is_file())
        yield from sorted((folder / PLACE).glob("*.mdc"))


def repository_top(folder: Path) -> Path:
    """The top of the git repository that a folder lies in; the folder itself where it lies in none, or in one
    of somebody else's: their words are for them.
    """
    found = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)
    return found if _owner(found) in {_owner(folder), os.geteuid(), 0} else folder


def _owner(folder: Path) -> int:
    try:
        return folder.stat().st_uid
    except OSError:
        return -1


def _readable(spans: Iterable[PromptSpan], bounds: Capabilities) -> Iterator[PromptSpan]:
    """Those of files that lie where the session may read."""
    return (one for one in spans if bounds.reads(str(Path(one.source).resolve())))


def _bounded(spans: Iterable[PromptSpan], room: int) -> Iterator[PromptSpan]:
    """As many as have so many characters together; the others by their names."""
    left_out: list[str] = []
    for span in spans:
        room -= len(span.text)
        if room >= 0:
            yield span
        else:
            left_out.append(span.source)
    if left_out:
        names = ", ".join(in_one_line(one) for one in left_out[:NAMED])
        yield PromptSpan("built in", f"({len(left_out)} more files of notes are left out: {names} …)")


def _layered(cwd: Path, rules: TextRules) -> Iterator[PromptSpan]:
    """All kinds, the top folder first; a text that is there twice counts once."""
    top = repository_top(cwd)
    chain = [one for one in (*reversed(cwd.parents), cwd) if one.is_relative_to(top)]
    seen: set[str] = set()
    for span in (span for folder in chain for span in folder_notes(folder, top, rules)):
        words = span.text.partition("\n")[2]
        if words not in seen:
            yield span
        seen.add(words)


def _first(cwd: Path, rules: TextRules) -> Iterator[PromptSpan]:
    """The first kind that is there: HERMES.md up to the top of the repository, others where work begins. Both
    forms of Cursor's rules are one kind.
    """
    top = repository_top(cwd)
    upward = [one for one in (cwd, *cwd.parents) if one.is_relative_to(top)]
    candidates = [folder / name for folder in upward for name in KINDS[0]]
    candidates += [cwd / name for names in KINDS[1:-1] for name in names]
    found = next(filter(None, (read_notes(path, rules, top) for path in candidates)), None)
    old = [read_notes(cwd / name, rules, top) for name in KINDS[-1]]
    spans = [found] if found else [*filter(None, old), *cursor_rules(cwd, top, rules)]
    yield from map(_titled, spans)


def _titled(span: PromptSpan) -> PromptSpan:
    return PromptSpan(span.source, f"## {in_one_line(span.source)}\n{span.text}")
