"""The floor: the same work by hand, as little of it as possible, on the same HTTP client and the same
database.
"""

import json
import sqlite3
import struct
import sys
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2


async def read_chat(
    response: httpx2.Response, words: list[str], calls: dict[int, dict[str, str]] | None = None
) -> None:
    """The words of a streamed chat completion, and its calls where they are asked for."""
    async for line in response.aiter_lines():
        if line.startswith("data: ") and line != "data: [DONE]":
            for choice in json.loads(line[6:])["choices"]:
                delta = choice["delta"]
                words.append(delta.get("content", ""))
                if calls is not None:
                    _read_calls(delta.get("tool_calls", ()), calls)


def _read_calls(parts: Iterable[dict[str, Any]], calls: dict[int, dict[str, str]]) -> None:
    for part in parts:
        function = part["function"]
        call = calls.setdefault(
            part["index"], {"id": part.get("id", ""), "name": function.get("name", ""), "arguments": ""}
        )
        call["arguments"] += function["arguments"]


async def read_typed(response: httpx2.Response, words: list[str]) -> None:
    """The words of typed events: Messages and Responses."""
    async for line in response.aiter_lines():
        if line.startswith("data: "):
            event = json.loads(line[6:])
            if event["type"] == "content_block_delta":
                words.append(event["delta"]["text"])
            elif event["type"] == "response.output_text.delta":
                words.append(event["delta"])


async def read_frames(response: httpx2.Response, words: list[str]) -> None:
    """The words of event-stream frames, their checksums compared as any client must."""
    rest = b""
    async for data in response.aiter_bytes():
        rest += data
        while len(rest) >= 16 and len(rest) >= (total := struct.unpack_from(">I", rest)[0]):
            frame, rest = rest[:total], rest[total:]
            assert struct.unpack_from(">I", frame, total - 4)[0] == zlib.crc32(frame[:-4])
            payload = json.loads(frame[12 + struct.unpack_from(">I", frame, 4)[0] : -4])
            if "delta" in payload:
                words.append(payload["delta"]["text"])


@dataclass(frozen=True)
class Wire:
    """One protocol by hand: where requests go, what they hold, how replies are read."""

    path: str
    body: Callable[[list[dict[str, Any]]], dict[str, Any]]
    read: Callable[[httpx2.Response, list[str]], Awaitable[None]]


def _converse(messages: list[dict[str, Any]]) -> dict[str, Any]:
    told = [{"role": one["role"], "content": [{"text": one["content"]}]} for one in messages[1:]]
    return {"system": [{"text": messages[0]["content"]}], "messages": told}


WIRES = {
    "chat_completions": Wire(
        "/chat/completions",
        lambda told: {
            "model": "m",
            "messages": told,
            "stream": True,
            "stream_options": {"include_usage": True},
        },
        read_chat,
    ),
    "anthropic_messages": Wire(
        "/messages",
        lambda told: {
            "model": "m",
            "max_tokens": 32000,
            "system": told[0]["content"],
            "messages": told[1:],
            "stream": True,
        },
        read_typed,
    ),
    "codex_responses": Wire(
        "/responses",
        lambda told: {
            "model": "m",
            "instructions": told[0]["content"],
            "input": told[1:],
            "stream": True,
            "store": False,
        },
        read_typed,
    ),
    "bedrock_converse": Wire("/model/m/converse-stream", _converse, read_frames),
}


class Conversation:
    """A bare loop: whole history as JSON in each request, streamed reply, every message into SQLite with
    FTS5.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        url: str,
        path: Path | None,
        wire: str = "chat_completions",
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.http, self.url, self.wire = http, url, WIRES[wire]
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a helpful assistant."}]
        self.db = open_store(path) if path else None
        self.more = {"tools": tools} if tools else {}

    async def turn(self, text: str) -> str:
        """One question, one streamed answer."""
        self.keep({"role": "user", "content": text})
        words: list[str] = []
        async with self.http.stream(
            "POST", self.url + self.wire.path, json=self.wire.body(self.messages) | self.more
        ) as response:
            await self.wire.read(response, words)
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
    insert(db, ("s", message["role"], json.dumps(message)), message["content"])
    db.execute("COMMIT")


def insert(db: sqlite3.Connection, row: tuple[str, str, str], words: str) -> None:
    """A row (session, role, body) and the words that a search finds it by."""
    number = db.execute("INSERT INTO messages (session, role, body) VALUES (?, ?, ?)", row).lastrowid
    db.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (number, words))


def read(db: sqlite3.Connection, *, limit: int) -> list[dict[str, Any]]:
    """The first messages of the store."""
    rows = db.execute("SELECT body FROM messages WHERE session = 's' ORDER BY id LIMIT ?", (limit,))
    return [json.loads(body) for (body,) in rows]


async def with_tools(
    told: Conversation, tools: Mapping[str, Callable[..., Coroutine[Any, Any, Any]]]
) -> None:
    """Turns until a reply calls nothing; the calls of one reply run at once."""
    told.keep({"role": "user", "content": "go"})
    while True:
        words: list[str] = []
        calls: dict[int, dict[str, str]] = {}
        body = WIRES["chat_completions"].body(told.messages)
        async with told.http.stream("POST", told.url + "/chat/completions", json=body) as response:
            await read_chat(response, words, calls)
        told.keep({"role": "assistant", "content": "".join(words), "tool_calls": [*calls.values()]})
        if not calls:
            return
        async with anyio.create_task_group() as group:
            for call in calls.values():
                group.start_soon(partial(tools[call["name"]], **json.loads(call["arguments"])))
        for call in calls.values():
            told.keep({"role": "tool", "content": "done", "tool_call_id": call["id"]})


async def main(arguments: Sequence[str]) -> None:
    """One turn from a cold start: the program that `hermes -z` is compared with."""
    async with httpx2.AsyncClient() as http:
        print(await Conversation(http, arguments[0], None).turn("hi"))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1:])
