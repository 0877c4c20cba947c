"""A store with sessions in it, to be damaged, copied and brought back."""

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio

from hermes.store.protocol import SessionRow
from hermes.store.sqlite_store import open_store
from hermes.types.message import Assistant, Message, User


def fill(home: Path, *, sessions: int = 4, turns: int = 25) -> dict[str, tuple[Message, ...]]:
    """Write sessions to the store of a home, and give their logs."""
    return anyio.run(_fill, home, sessions, turns)


async def _fill(home: Path, sessions: int, turns: int) -> dict[str, tuple[Message, ...]]:
    logs = {}
    async with open_store(home / "sessions.db", home / "search.db") as store:
        for name in (f"s{number}" for number in range(sessions)):
            row = SessionRow(id=name, cwd="/w", model="p/m", created=1.0, updated=1.0)
            await store.create(row, system="You are Hermes.", tools=[])
            logs[name] = tuple(one for number in range(turns) for one in _turn(name, number))
            await store.append(name, *logs[name])
    return logs


def _turn(name: str, number: int) -> tuple[Message, ...]:
    asked = User(id=f"{name}-u{number}", at=1.0, text=f"question {number} " + "w" * 300)
    return asked, Assistant(id=f"{name}-a{number}", at=1.0, text=f"answer {number}")


def logs(home: Path) -> dict[str, tuple[Message, ...]]:
    """All that can be read of the store of a home."""
    return anyio.run(_logs, home)


async def _logs(home: Path) -> dict[str, tuple[Message, ...]]:
    async with open_store(home / "sessions.db", home / "search.db") as store:
        return {row.id: (await store.read(row.id)).log for row in await store.recent(limit=1_000_000)}


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, byte for byte."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def damage_elsewhere(home: Path) -> None:
    """Overwrite a page of the store that neither lists nor new sessions read."""
    store = home / "sessions.db"
    with closing(sqlite3.connect(store)) as rows:
        (root,) = rows.execute("SELECT rootpage FROM sqlite_master WHERE name = 'intents'").fetchone()
    pages = bytearray(store.read_bytes())
    pages[root * 4096 - 4096 : root * 4096] = bytes(range(256)) * 16
    store.write_bytes(pages)
