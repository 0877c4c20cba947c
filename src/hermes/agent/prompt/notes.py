"""Files that people wrote for agents, as a model may read them: regular, of bounded length, and without what
is hidden in them.
"""

import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from hermes.agent.prompt.builder import PromptSpan
from hermes.agent.prompt.surroundings import in_one_line
from hermes.lib.beneath import READ_FILE, held, open_path
from hermes.lib.lazy import import_object
from hermes.lib.text import strip_escapes

LARGEST: Final = 1_000_000
"""Bytes of a file that are read."""
TEXTS: Final = (".md", ".mdc", ".txt", ".rst", ".cursorrules")
"""How the names of what may be a text for agents end."""
HEAD, TAIL = 0.7, 0.2
"""The shares of the limit that beginning and end of a longer file take; the rest is for the note."""
BLOCKED: Final = "[BLOCKED: {path} "
BLOCKED_WHY: Final = "was left out because {why}; hermes scan shows it.]"
CUT: Final = "\n[… {omitted} characters of {path} are left out; read the file for them …]\n"


class TextRules(Struct, frozen=True, kw_only=True):
    """What of a file a model gets: so many characters, without stretches that are hidden, forged or match one
    of the `phrases` (but those whose hash is `allowed`), or not at all where there are such (`block`).
    """

    longest: int = 20_000
    on_hit: Literal["quarantine", "block"] = "quarantine"
    allowed: Collection[str] = ()
    phrases: Collection[str] = ()


def read_notes(path: Path, rules: TextRules, within: Path | None = None) -> PromptSpan | None:
    """The words of a file; None where there is no regular file, or an empty one.

    A file of a project, `within` whose folder it lies, is read where it really lies: a link to another text
    of the project may stand for it, and nothing else.
    """
    real = _real(path)
    if real is None or (within is not None and not _is_text_of(real, within)):
        return None
    text = readable(_read(real), str(path), rules)
    return PromptSpan(str(path), text) if text else None


def _real(path: Path) -> Path | None:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError):  # a circle of links
        return None


def _is_text_of(real: Path, folder: Path) -> bool:
    top = folder.resolve()
    return (
        real.is_relative_to(top) and ".git" not in real.relative_to(top).parts and real.name.endswith(TEXTS)
    )


def readable(raw: bytes, path: str, rules: TextRules) -> str:
    """The words of a file with these bytes."""
    text = strip_escapes(raw[:LARGEST].decode("utf-8", "replace")).strip()
    if not text:
        return ""
    left = import_object("hermes.safety.text.quarantine:quarantine")(text, rules.allowed, rules.phrases)
    if left.findings and rules.on_hit == "block":
        return blocked(path) + BLOCKED_WHY.format(why=left.findings[0].span.why)
    return _cut(left.text, path, rules.longest)


def blocked(path: str) -> str:
    """How the words begin that stand for a file which was left out."""
    return BLOCKED.format(path=in_one_line(path))


def _cut(text: str, path: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head, tail = text[: int(limit * HEAD)], text[len(text) - int(limit * TAIL) :]
    return head + CUT.format(omitted=len(text) - len(head) - len(tail), path=path) + tail


def _read(real: Path) -> bytes:
    try:
        with held(open_path(real, READ_FILE)) as descriptor:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return b""
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(LARGEST)
    except OSError:
        return b""
