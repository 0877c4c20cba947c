"""Files that agents take as instructions: how their paths look, and which of them lie in a folder."""

import re
from collections.abc import Iterator
from typing import Final

from hermes.lib.walk import walk

NAMES: Final = (
    *("AGENTS.md", "CLAUDE.md", "GEMINI.md", "SKILL.md", "SOUL.md", ".hermes.md", "HERMES.md"),
    *(".cursorrules", ".windsurfrules", ".clinerules", ".mcp.json"),
)
"""What agents read of a folder they work in."""

FOLDERS: Final = (
    *(".claude", ".cursor", ".codex", ".gemini", ".hermes", ".continue", ".windsurf", ".roo"),
    *(".github/workflows", ".github/copilot-instructions.md"),
)
"""The same at the top of a workspace, as far as all in it counts."""

_PATH: Final = re.compile(
    r"(?:^|/)(?:agents|claude|gemini|soul|memory|user|skill|copilot-instructions|conventions)\.md$"
    r"|(?:^|/)\.?(?:cursorrules|windsurfrules|clinerules|hermes\.md)$"
    r"|(?:^|/)\.?mcp(?:_servers)?\.json$|/\.(?:claude|cursor|codex|gemini|hermes|continue|windsurf|roo)/"
    r"|/\.github/workflows/|/(?:skills|memories)/[^/]+/",
    re.IGNORECASE,
)
_WORD: Final = re.compile(
    r"\b(?:AGENTS|CLAUDE|GEMINI|SKILL|SOUL)\.md\b|\.cursorrules\b|\.mcp\.json\b|\.github/workflows/"
)
_FOLDED: Final = frozenset(name.lower() for name in NAMES)
_SKIPPED: Final = frozenset({"node_modules", "site-packages", "__pycache__"})
_MOST: Final = 20_000


def is_instruction_file(path: str) -> bool:
    """Whether agents take what lies at an absolute path as instructions."""
    return bool(_PATH.search(path))


def named_in(text: str) -> str:
    """The first name of such a file in a text; "" where there is none."""
    found = _WORD.search(text)
    return found[0] if found else ""


def at_top(folder: str) -> tuple[str, ...]:
    """The paths at the top of a workspace, there or not."""
    return tuple(f"{folder}/{name}" for name in (*NAMES, *FOLDERS))


def below(folder: str) -> Iterator[str]:
    """Those that are there, at any depth; hidden folders, packages and links are not entered, and of a very
    large tree its first 20,000 entries are looked at.
    """
    left = _MOST
    for at, folders, files in walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one not in _SKIPPED)
        yield from (f"{at}/{name}" for name in files if name.lower() in _FOLDED)
        left -= len(files) + len(folders)
        if left < 0:
            return
