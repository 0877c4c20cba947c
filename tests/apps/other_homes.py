"""Made-up homes of other agents, in the formats that are documented."""

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

CONFIG = """\
model:
  provider: openrouter
  default: anthropic/claude-sonnet-4.6
agent:
  max_turns: 40
approvals:
  mode: "off"
mcp_servers:
  files:
    command: npx
    args: [-y, server]
    env: {API_TOKEN: very-secret-1}
    keepalive_interval: 180
_config_version: 33
"""
SKILL = "---\nname: limerick\ndescription: Write a limerick\n---\nFive lines.\n"
POOL = {
    "version": 1,
    "providers": {"nous": {"access_token": "x"}},
    "credential_pool": {
        "openrouter": [{"id": "k1", "label": "main", "auth_type": "api_key", "access_token": "sk-or-2"}],
        "anthropic": [{"id": "o1", "auth_type": "oauth", "access_token": "t", "refresh_token": "r"}],
    },
}
SESSION = "20260101_120000_abcdef"
TALK: tuple[Mapping[str, Any], ...] = (
    {"role": "user", "content": "What is here?"},
    {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "ls", "arguments": "{}"}}]},
    {"role": "tool", "content": "a.txt", "tool_call_id": "c1"},
    {"role": "assistant", "content": "One file."},
)
_TABLES = """\
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, title TEXT, started_at REAL, ended_at REAL);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content TEXT,
  tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL,
  active INTEGER DEFAULT 1, compacted INTEGER DEFAULT 0);
"""


def put(folder: Path, files: Mapping[str, str]) -> Path:
    """A folder with these files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def original_home(folder: Path) -> Path:
    """A home of the original that has something of each kind."""
    put(
        folder,
        {
            "config.yaml": CONFIG,
            ".env": "OPENROUTER_API_KEY=sk-or-1\nHERMES_SANDBOX=off\n",
            "auth.json": json.dumps(POOL),
            "SOUL.md": "You are terse.\n",
            "memories/MEMORY.md": "The sky is blue.\n§\nThe user likes tea.\n",
            "skills/writing/limerick/SKILL.md": SKILL,
            "cron/jobs.json": json.dumps({"jobs": [{"id": "a1", "name": "daily"}]}),
            "plugins/clock/plugin.yaml": "name: clock\n",
        },
    )
    make_sessions(folder, {SESSION: TALK})
    return folder


def make_sessions(folder: Path, talks: Mapping[str, tuple[Mapping[str, Any], ...]]) -> None:
    """A state.db with sessions of these messages."""
    with closing(sqlite3.connect(folder / "state.db")) as rows:
        rows.executescript(_TABLES)
        for name, talk in talks.items():
            rows.execute("INSERT INTO sessions VALUES (?, 'cli', 'Trip', 1767268800, 1767268900)", (name,))
            for one in talk:
                calls = json.dumps(one["tool_calls"]) if "tool_calls" in one else None
                rows.execute(
                    "INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, timestamp)"
                    " VALUES (?, ?, ?, ?, ?, 1767268801)",
                    (name, one["role"], one.get("content"), one.get("tool_call_id"), calls),
                )
        rows.commit()


def seen(folder: Path) -> dict[str, str]:
    """What lies in a folder: each path with what it holds."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in folder.rglob("*")
    }
