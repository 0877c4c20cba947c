"""Sessions of the original: its state.db is copied aside, so that nothing of it is changed, and read there.

A file from elsewhere is bounded in every way: no views and no computed columns are read, and what takes too
many steps is given up.
"""

import hashlib
import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from hermes.agent.log import misplaced
from hermes.apps.cli.homes.log_maker import ForeignMessage, made_log
from hermes.apps.cli.homes.part import THERE, Arrival, Ours, Part
from hermes.apps.cli.homes.source import ForeignFolder
from hermes.lib.session_ids import is_issued, is_session_id
from hermes.lib.text import strip_escapes
from hermes.store.protocol import SessionRow
from hermes.store.session_file import LATEST
from hermes.types.error import ConfigError, StoreError

FILE: Final = "state.db"
_MOST_SESSIONS: Final = 100_000
_MOST_MESSAGES: Final = 50_000
_MOST_TEXT: Final = 1_000_000
"""Characters that are taken of one message."""
_MOST_OF_ALL: Final = 200_000_000
"""Characters that a session may have."""
_STEPS, _MOST_STEPS = 1_000_000, 20_000
"""How often, in steps of the database, it is asked whether to go on, and how often the answer is yes."""
_SESSION: Final = ("id", "title", "started_at", "ended_at")
_MESSAGE: Final = ("role", "timestamp", "content", "tool_calls", "tool_call_id", "tool_name")


def sessions(source: ForeignFolder, ours: Ours) -> Iterator[Part]:
    """The sessions of a home of the original."""
    copied = ours.scratch / f"{hashlib.sha256(bytes(source.root)).hexdigest()[:12]}.db"
    if not source.copy(FILE, copied):
        return
    source.copy(f"{FILE}-wal", copied.with_name(f"{copied.name}-wal"))
    try:
        with _opened(copied) as rows:
            _prepare(rows)
            found = rows.execute(f"{_select(rows, 'sessions', _SESSION)} LIMIT {_MOST_SESSIONS}").fetchall()
    except sqlite3.Error as error:
        raise ConfigError(f"{FILE} cannot be read: {error}") from error
    for row in found:
        yield _session(row, copied, ours)


def own_id(given: str) -> str:
    """The id here of a session that has another one elsewhere; the same one where it could be one of ours."""
    if is_issued(given):
        return given
    if is_session_id(f"imported_{given}"):
        return f"imported_{given}"
    return f"imported_{hashlib.sha256(given.encode('utf-8', 'replace')).hexdigest()[:24]}"


def _session(row: Sequence[object], copied: Path, ours: Ours) -> Part:
    given, title = str(row[0] or ""), strip_escapes(str(row[1] or ""))[:100]
    name = own_id(given)
    if name in ours.sessions:
        return Part(kind="sessions", name=name, becomes=THERE)
    began = _moment(row[2], ours.now)
    told = SessionRow(
        id=name,
        title=title,
        cwd=str(ours.cwd),
        model="",  # whom its words go to is for the user to say
        source="imported",
        outside=f"the imported session {name}",
        created=began,
        updated=max(began, _moment(row[3], began)),
    )
    arrive = partial(_store, told, given, copied)
    return Part(kind="sessions", name=name, becomes="stored, with the folder where this runs", arrive=arrive)


async def _store(row: SessionRow, given: str, copied: Path, arrival: Arrival) -> None:
    try:
        with _opened(copied) as rows:
            log = made_log(_messages(rows, given, row.created))
    except sqlite3.Error as error:
        raise StoreError(f"its messages cannot be read: {error}") from error
    if not log:
        raise StoreError("it holds no message")
    if misplaced(log) is not None:
        raise StoreError("its messages are no conversation")
    await arrival.store.create(row, system=arrival.system, tools=arrival.tools)
    await arrival.store.append(row.id, *log)


def _messages(rows: sqlite3.Connection, given: str, began: float) -> Iterator[ForeignMessage]:
    columns = _columns(rows, "messages")
    shown = " AND (active OR compacted)" if {"active", "compacted"} <= columns else ""
    found = rows.execute(
        f"{_select(rows, 'messages', _MESSAGE)} WHERE session_id IS ?{shown} ORDER BY id"
        f" LIMIT {_MOST_MESSAGES + 1}",
        (given,),
    )
    size = 0
    for number, (role, at, *texts) in enumerate(found):
        content, calls, call_id, name = (str(one or "") for one in texts)
        size += len(content) + len(calls)
        if number >= _MOST_MESSAGES or size > _MOST_OF_ALL:
            raise StoreError(f"it has more than {_MOST_MESSAGES:,} messages, or too long ones")
        yield ForeignMessage(
            role=str(role),
            at=_moment(at, began),
            content=content,
            tool_calls=calls,
            tool_call_id=call_id,
            tool_name=name,
        )


@contextmanager
def _opened(copied: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(copied, isolation_level=None)) as rows:
        rows.text_factory = lambda data: data.decode("utf-8", "replace")
        rows.execute("PRAGMA trusted_schema=OFF")
        asked = iter(range(_MOST_STEPS))
        rows.set_progress_handler(lambda: next(asked, None) is None, _STEPS)
        yield rows


def _prepare(rows: sqlite3.Connection) -> None:
    """Let the messages of a session be found without a look at those of all others."""
    _ = _columns(rows, "sessions"), _columns(rows, "messages")
    rows.execute("CREATE INDEX IF NOT EXISTS hermes_import ON messages (session_id, id)")


def _columns(rows: sqlite3.Connection, table: str) -> set[str]:
    """The plain columns of a plain table; ConfigError where it is none."""
    made = rows.execute(
        "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
    ).fetchone()
    if made is None or not str(made[0]).upper().lstrip().startswith("CREATE TABLE"):
        raise ConfigError(f"{FILE} cannot be read: it has no table {table}")
    return {str(row[1]) for row in rows.execute(f"PRAGMA table_xinfo({table})") if row[6] == 0}


def _select(rows: sqlite3.Connection, table: str, wanted: Sequence[str]) -> str:
    there = _columns(rows, table)
    texts = (f"substr({name}, 1, {_MOST_TEXT})" if name in there else "NULL" for name in wanted)
    return f"SELECT {', '.join(texts)} FROM {table}"  # noqa: S608  # names of ours


def _moment(value: object, otherwise: float) -> float:
    """A time that a clock shows."""
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return otherwise
    return found if math.isfinite(found) and 0 <= found < LATEST else otherwise
