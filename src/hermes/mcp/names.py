"""The names of MCP tools among others: `mcp__server__tool`, in letters that every provider takes."""

import hashlib
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from hermes.mcp.settings import McpFilter

LONGEST: Final = 64
"""Letters that providers let a name have."""
SERVER_NAME: Final = re.compile(r"(?!.*__)[A-Za-z0-9](?:[A-Za-z0-9_-]{0,38}[A-Za-z0-9-])?")
"""Two underlines in a row end it in the names of tools."""
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")


def tool_name(server: str, tool: str) -> str:
    """The name of a server's tool here; a long one ends in a mark of the whole."""
    whole = f"mcp__{server}__{tool}"
    plain = _OTHER.sub("_", whole)
    if len(plain) <= LONGEST:
        return plain
    mark = hashlib.blake2s(whole.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"{plain[: LONGEST - len(mark) - 1]}_{mark}"


def toolset(server: str) -> str:
    """The toolset of a server's tools."""
    return f"mcp-{server}"


def wanted(names: Iterable[str], chosen: McpFilter) -> list[str]:
    """Those of a server's tools that are offered."""
    return [
        name
        for name in names
        if (not chosen.include or _fits(name, chosen.include)) and not _fits(name, chosen.exclude)
    ]


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
