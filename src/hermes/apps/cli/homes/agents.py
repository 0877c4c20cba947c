"""Which agents are known, where their homes lie, and what is read of each."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.apps.cli.homes import files
from hermes.apps.cli.homes.hooks import claude_hooks
from hermes.apps.cli.homes.keys import env_key, env_keys, pooled_keys
from hermes.apps.cli.homes.part import Kind, Ours, Part
from hermes.apps.cli.homes.servers import servers
from hermes.apps.cli.homes.sessions import sessions
from hermes.apps.cli.homes.settings import FILE, original_settings, settings
from hermes.apps.cli.homes.source import ForeignFolder, inside
from hermes.config.home import Home
from hermes.lib.text import clip
from hermes.lib.visible import visible
from hermes.types.error import HermesError

_UNREADABLE: Final = (HermesError, OSError, ValueError, TypeError, ArithmeticError, RecursionError)
"""What a reader may fail with where a file of somebody else holds something else than it should."""
_MOST: Final[Mapping[Kind, int]] = {"sessions": 100_000}
Reader = Callable[[ForeignFolder, Ours], Iterator[Part]]


_TAKEN_BY_OTHERS: Final = frozenset({"$schema", "disableAllHooks", "hooks", "mcpServers"})


class ForeignAgent(Struct, frozen=True, kw_only=True):
    """An agent: its `places` below the user's folder, the files by which a folder is told to be one of its
    homes, and what is read of each kind.
    """

    name: str
    places: tuple[str, ...]
    marks: tuple[str, ...]
    readers: tuple[tuple[Kind, Reader], ...]


def parts_of(agent: ForeignAgent, root: Path, ours: Ours, only: frozenset[str]) -> Iterator[Part]:
    """The parts of a home, by kind; what cannot be read is a part that says why."""
    for kind, reader in agent.readers:
        if kind in only:
            try:
                yield from _first(kind, reader(ForeignFolder(root), ours))
            except _UNREADABLE as error:
                yield Part(kind=kind, name="", becomes=f"not read: {error}")


def _first(kind: Kind, parts: Iterator[Part]) -> Iterator[Part]:
    """As many parts as a home has; each that is taken writes a file anew."""
    most = _MOST.get(kind, 1_000)
    yield from islice(parts, most)
    if next(parts, None) is not None:
        yield Part(kind=kind, name="", becomes=f"not read: there are more than {most:,}")


def agent_at(folder: Path) -> ForeignAgent | None:
    """The agent whose home a folder looks like."""
    return next((one for one in AGENTS.values() if _has_mark(one, folder)), None)


def roots_of(agent: ForeignAgent, folder: Path) -> list[Path]:
    """Where what an agent has in a folder lies: in the folder itself, or where the agent puts it below one,
    as in a project or in the folder of a user.
    """
    below = [folder / place for place in agent.places]
    return [one for one in (*below, folder) if _has_mark(agent, one)] or [folder]


def homes(user_home: Path, ours: Home) -> Iterator[tuple[ForeignAgent, Path]]:
    """The homes of other agents of a user, and ours where it is one of the original."""
    if ours.original_db.is_file():
        yield AGENTS["hermes"], ours.root
    for agent in AGENTS.values():
        for place in agent.places:
            folder = user_home / place
            if _has_mark(agent, folder) and not (folder.resolve() == ours.root.resolve() or _is_ours(folder)):
                yield agent, folder


def _is_ours(folder: Path) -> bool:
    return (folder / "sessions.db").exists() and not (folder / "state.db").exists()


def _has_mark(agent: ForeignAgent, folder: Path) -> bool:
    return any((folder / mark).exists() for mark in agent.marks)


def _original_servers(source: ForeignFolder, ours: Ours) -> Iterator[Part]:
    return servers(inside(original_settings(source), "mcp_servers"), ours)


def _claude_servers(source: ForeignFolder, ours: Ours) -> Iterator[Part]:
    """Those of the user, of all projects, and of a project's own file."""
    beside = ForeignFolder(source.root.parent) if source.root.name == ".claude" else source
    for where, file in ((beside, ".claude.json"), (source, "settings.json"), (source, ".mcp.json")):
        yield from servers(inside(where.json(file), "mcpServers"), ours)


def _claude_settings(source: ForeignFolder, _: Ours) -> Iterator[Part]:
    """What else its settings say, of which nothing is taken: other rules decide here what is allowed."""
    others = ", ".join(sorted(source.json("settings.json").keys() - _TAKEN_BY_OTHERS))
    if others:
        becomes = f"not taken: {clip(visible(others), 500)}; what a session may do, our own rules say"
        yield Part(kind="settings", name="settings.json", becomes=becomes)


def _codex_servers(source: ForeignFolder, ours: Ours) -> Iterator[Part]:
    return servers(inside(source.toml("config.toml"), "mcp_servers"), ours)


def _codex_keys(source: ForeignFolder, ours: Ours) -> Iterator[Part]:
    key = source.json("auth.json").get("OPENAI_API_KEY")
    if isinstance(key, str) and key:
        yield env_key("OPENAI_API_KEY", key, ours)


def _gemini_servers(source: ForeignFolder, ours: Ours) -> Iterator[Part]:
    return servers(inside(source.json("settings.json"), "mcpServers"), ours, milliseconds=True)


def _opencode_servers(source: ForeignFolder, ours: Ours) -> Iterator[Part]:
    for file in ("opencode.json", "opencode.jsonc"):
        found = inside(source.json(file), "mcp")
        yield from servers(inside(found, "servers") or found, ours, milliseconds=True)


def _openclaw_servers(source: ForeignFolder, ours: Ours) -> Iterator[Part]:
    tree = source.json("openclaw.json")
    return servers(inside(tree, "mcp", "servers") | inside(tree, "mcpServers"), ours)


def _openclaw_skills(source: ForeignFolder, ours: Ours) -> Iterator[Part]:
    for folder in ("skills", "workspace/skills"):
        yield from files.skills(source, ours, folder)


def _instructions(*names: str) -> Reader:
    return lambda source, _: files.instructions(source, names)


def _original_keys(source: ForeignFolder, ours: Ours) -> Iterator[Part]:
    yield from env_keys(source, ours)
    yield from pooled_keys(source, ours)


AGENTS: Final[Mapping[str, ForeignAgent]] = {
    one.name: one
    for one in (
        ForeignAgent(
            name="hermes",
            places=(".hermes",),
            marks=("state.db", "memories", FILE),
            readers=(
                ("settings", settings),
                ("keys", _original_keys),
                ("sessions", sessions),
                ("skills", files.skills),
                ("memory", files.memory),
                ("mcp", _original_servers),
                ("soul", files.soul),
                ("cron", files.cron),
                ("plugins", files.plugins),
            ),
        ),
        ForeignAgent(
            name="openclaw",
            places=(".openclaw", ".clawdbot"),
            marks=("openclaw.json", "clawdbot.json"),
            readers=(
                ("keys", env_keys),
                ("skills", _openclaw_skills),
                ("memory", partial(files.memory, folder="workspace")),
                ("mcp", _openclaw_servers),
                ("soul", partial(files.soul, file="workspace/SOUL.md")),
                ("cron", files.cron),
                ("instructions", _instructions("workspace/AGENTS.md", "workspace/TOOLS.md")),
            ),
        ),
        ForeignAgent(
            name="codex",
            places=(".codex",),
            marks=("config.toml",),
            readers=(
                ("keys", _codex_keys),
                ("skills", files.skills),
                ("mcp", _codex_servers),
                ("instructions", _instructions("AGENTS.md")),
            ),
        ),
        ForeignAgent(
            name="opencode",
            places=(".config/opencode",),
            marks=("opencode.json", "opencode.jsonc"),
            readers=(
                ("skills", files.skills),
                ("mcp", _opencode_servers),
                ("instructions", _instructions("AGENTS.md")),
            ),
        ),
        ForeignAgent(
            name="gemini",
            places=(".gemini",),
            marks=("GEMINI.md", "oauth_creds.json", "google_accounts.json", "settings.json"),
            readers=(
                ("keys", env_keys),
                ("skills", files.skills),
                ("mcp", _gemini_servers),
                ("instructions", _instructions("GEMINI.md")),
            ),
        ),
        ForeignAgent(
            name="claude",
            places=(".claude",),
            marks=("CLAUDE.md", "projects", "settings.json", ".mcp.json", ".claude.json"),
            readers=(
                ("settings", _claude_settings),
                ("skills", files.skills),
                ("mcp", _claude_servers),
                ("hooks", claude_hooks),
                ("instructions", _instructions("CLAUDE.md")),
            ),
        ),
    )
}
"""The agents by name; a folder that looks like several is that of the first."""
