"""A stored message whose field's name is damaged cannot be read: what the field said is never lost unseen."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
import pytest
from msgspec import Struct

from hermes.store.check import check
from hermes.store.migrations import scripts
from hermes.store.protocol import SessionRow
from hermes.store.sessions import MESSAGES, bounds_of, message_of
from hermes.store.sqlite_store import open_store
from hermes.types.capabilities import Capabilities
from hermes.types.error import StorageDamaged
from hermes.types.message import (
    Assistant,
    Attachment,
    Compaction,
    ContextBlock,
    Cut,
    Message,
    Thinking,
    ToolCall,
    ToolResult,
    User,
)
from hermes.types.usage import Usage

PICTURE = Attachment(media_type="image/png", data="aa", name="a")
BLOCK = ContextBlock(kind="note", text="t", source="s", id="i", outside="o")
USED = Usage(
    input_tokens=1,
    output_tokens=1,
    cache_read=1,
    cache_write=1,
    reasoning=1,
    requests=1,
    cost=1.0,
    unpriced=1,
)
WHOLE: Final[tuple[Message, ...]] = (
    User(id="u", at=1.0, text="t", attachments=(PICTURE,), blocks=(BLOCK,), origin="o"),
    Assistant(
        id="a",
        at=1.0,
        text="t",
        thinking=(Thinking(text="t", signature="s", redacted=True),),
        calls=(ToolCall(id="c", name="n", arguments={}, raw="r", repaired=True, fault="f"),),
        stop="calls",
        usage=USED,
        model="m",
        provider="p",
        protocol="p",
        family="f",
        opaque=({},),
        cuts=(Cut(text=1, thinking=1, opaque=1, tokens=1),),
    ),
    ToolResult(
        id="r",
        at=1.0,
        call_id="c",
        name="n",
        content="c",
        images=(PICTURE,),
        failed=True,
        blocks=(BLOCK,),
        full="f",
        outside="o",
    ),
    Compaction(
        id="c",
        at=1.0,
        summary="s",
        first_kept="f",
        head=1,
        dropped=1,
        focus="f",
        fallback=True,
        verbatim="v",
        digested="d",
        clip=1,
        before=1,
        after=1,
    ),
)
"""Each kind of message, with every field of it and of its parts."""

STORED: Final = {
    "Assistant": "at calls cuts family id kind model opaque protocol provider stop text thinking usage",
    "Attachment": "data media_type name",
    "Capabilities": "asks hosts read secrets tokens tools unconfined write",
    "Compaction": "after at before clip digested dropped fallback first_kept focus head id kind summary verbatim",
    "ContextBlock": "id kind outside source text",
    "Cut": "opaque text thinking tokens",
    "Thinking": "redacted signature text",
    "ToolCall": "arguments fault id name raw repaired",
    "ToolResult": "at blocks call_id content failed full id images kind name outside",
    "Usage": "cache_read cache_write cost input_tokens output_tokens reasoning requests unpriced",
    "User": "at attachments blocks id kind origin text",
}
SCHEMA: Final = 10


def flipped(body: bytes) -> Iterator[bytes]:
    """The body with one bit changed in the name of a field, for each bit of each name."""
    for name in re.finditer(rb'"(\w+)":', body):
        for at in range(name.start(1), name.end(1)):
            for bit in range(8):
                yield body[:at] + bytes([body[at] ^ 1 << bit]) + body[at + 1 :]


@pytest.mark.parametrize("message", WHOLE, ids=lambda one: one.kind)
def test_a_message_with_a_changed_bit_in_the_name_of_a_field_cannot_be_read(message: Message) -> None:
    body = MESSAGES.encode(message)
    assert message_of(message.kind, body) == message
    read = [one for one in flipped(body) if message_of(message.kind, one) is not None]
    assert read == []


def test_bounds_with_a_changed_bit_in_the_name_of_one_cannot_be_read() -> None:
    body = msgspec.json.encode(Capabilities(write=(), unconfined=False))
    for one in flipped(body):
        with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)):
            bounds_of(one.decode("utf-8"))


def test_another_field_of_what_is_stored_is_another_schema() -> None:
    """An older Hermes refuses a file by the number of its schema, and would take a new field for damage."""
    parts = (Attachment, Capabilities, ContextBlock, Cut, Thinking, ToolCall, Usage)
    kinds: list[type[Struct]] = [User, Assistant, ToolResult, Compaction, *parts]
    fields = {one.__name__: " ".join(sorted(one.__struct_fields__)) for one in kinds}
    assert (len(scripts("sessions")), fields) == (SCHEMA, STORED)


@pytest.mark.anyio
async def test_a_damaged_mark_of_text_from_outside_keeps_its_session_from_going_on(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    async with open_store(path, tmp_path / "search.db") as store:
        row = SessionRow(id="s", cwd="", model="", created=1.0, updated=1.0)
        await store.create(row, system="", tools=[])
        await store.append("s", WHOLE[0], WHOLE[2])
    with closing(sqlite3.connect(path)) as rows, rows:
        rows.execute(
            "UPDATE messages SET body = CAST(replace(CAST(body AS TEXT), '\"outside\"', '\"outsidu\"') AS BLOB)"
            " WHERE kind = 'tool_result'"
        )
    assert check(path, full=True).unreadable == ("session s: message 2 cannot be read",)
    async with open_store(path, tmp_path / "search.db") as store:
        with pytest.raises(StorageDamaged, match="Session s cannot go on: its message 2"):
            await store.load("s")
        assert [one.id for one in (await store.read("s")).log] == ["u"]
