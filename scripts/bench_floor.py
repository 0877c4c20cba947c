"""The floor: the same work by hand, as little of it as possible, on the same HTTP client and the same database."""

import json
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import httpx2


class Conversation:
    """A bare loop: whole history as JSON in each request, streamed reply, every message into SQLite with FTS5."""

    def __init__(self, http: httpx2.AsyncClient, url: str, path: Path | None) -> None:
        self.http, self.url = http, url
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a helpful assistant."}]
        self.db = open_store(path) if path else None

    async def turn(self, text: str) -> str:
        """One question, one streamed answer."""
        self.keep({"role": "user", "content": text})
        body = {"model": "m", "messages": self.messages, "stream": True, "stream_options": {"include_usage": True}}
        words: list[str] = []
        async with self.http.stream("POST", self.url, json=body) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: ") and line != "data: [DONE]":
                    words.extend(choice["delta"].get("content", "") for choice in json.loads(line[6:])["choices"])
        self.keep({"role": "assistant", "content": "".join(words)})
        return "".join(words)

    def keep(self, message: dict[str, Any]) -> None:
        """Append to the history and to the store."""
        self.messages.append(message)
        if self.db is not None:
            append(self.db, message)


def open_store(path: Path) -> sqlite3.Connection:
    """A plain table with a full-text index kept by hand."""
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
        "CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, session TEXT, role TEXT, body TEXT);"
        "CREATE INDEX IF NOT EXISTS by_session ON messages(session);"
        "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(body, content='messages', content_rowid='id');"
    )
    return db


def append(db: sqlite3.Connection, message: dict[str, Any]) -> None:
    """One message, its row and its words, in one transaction."""
    db.execute("BEGIN")
    row = db.execute("INSERT INTO messages (session, role, body) VALUES ('s', ?, ?)", (message["role"], json.dumps(message))).lastrowid
    db.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (row, message["content"]))
    db.execute("COMMIT")


async def main(arguments: Sequence[str]) -> None:
    """One turn from a cold start: the program that `hermes -z` is compared with."""
    async with httpx2.AsyncClient() as http:
        print(await Conversation(http, f"{arguments[0]}/chat/completions", None).turn("hi"))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1:])
