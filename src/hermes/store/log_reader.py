"""Reads the logs of a file for whoever looks back: by place, by time, and only as far as he may see."""

import json
from collections.abc import Sequence
from itertools import islice

from hermes.store.database import Database
from hermes.store.protocol import EVERYBODY, SessionRow, Viewer
from hermes.store.sessions import SHIFT, bounds_of, listed, message_of
from hermes.types.message import Message, speakers

_LAST_PLACES = """
SELECT key,
  coalesce((SELECT max(place) FROM messages WHERE place >= key << 24 AND place < (key + 1) << 24), 0)
FROM sessions
"""
_BEFORE = """
SELECT kind, body FROM messages WHERE place > ? AND place < ? AND dropped = 0 ORDER BY place DESC LIMIT ?
"""
_AFTER = (
    "SELECT kind, body FROM messages WHERE place > ? AND place < ? AND dropped = 0 ORDER BY place LIMIT ?"
)
_SPOKEN = """
SELECT kind, body FROM messages WHERE place > ? AND place < ? AND dropped = 0
AND (kind = 'user' OR kind = 'tool_result' AND instr(body, CAST('"kind":"note"' AS BLOB)))
"""
UNREADABLE = ("",)
"""Who spoke in a message that cannot be read: it might be anybody."""
_DROPPED = (
    "SELECT count(*) FROM messages INDEXED BY messages_dropped WHERE place > ? AND place <= ? AND dropped = 1"
)
_BEGUN = "WHERE key IN (SELECT value FROM json_each(?)) ORDER BY created DESC, key DESC"


class LogReader:
    """What was said in the sessions of one file; a place is a session's key and a message's number in it."""

    def __init__(self, database: Database) -> None:
        self._database, self._rows = database, database.rows

    def written(self) -> object:
        """What is another value after every write to the file, whichever connection made it."""
        with self._database.faults():
            return self._rows.execute("PRAGMA data_version").fetchone(), self._rows.total_changes

    def last_places(self) -> dict[int, int]:
        """The place of each session's last message by the session's key, 0 where there is none."""
        with self._database.faults():
            return dict(self._rows.execute(_LAST_PLACES))

    def messages_after(self, key: int, place: int, limit: int) -> Sequence[tuple[int, str, bytes]]:
        """Rows (place, kind, body) of one session after a place, in order, for the search index."""
        with self._database.faults():
            return self._rows.execute(
                "SELECT place, kind, body FROM messages WHERE place > ? AND place < ? ORDER BY place LIMIT ?",
                (max(place, key << SHIFT), (key + 1) << SHIFT, limit),
            ).fetchall()

    def messages_at(self, places: Sequence[int]) -> list[tuple[int, SessionRow, Message]]:
        """The messages at those places, in their order, with their sessions; without those that are gone or
        cannot be read.
        """
        wanted, keys = json.dumps(places), json.dumps([place >> SHIFT for place in places])
        with self._database.faults():
            rows = self._rows.execute(
                "SELECT place, sessions.id, kind, body FROM messages JOIN sessions ON key = place >> 24"
                " WHERE dropped = 0 AND place IN (SELECT value FROM json_each(?))",
                (wanted,),
            )
            found = {
                place: (session, message)
                for place, session, *row in rows
                if (message := message_of(*row)) is not None
            }
            of_sessions = listed(self._rows, "WHERE key IN (SELECT value FROM json_each(?))", (keys,))
        sessions = {row.id: row for row in of_sessions}
        there = ((place, *found[place]) for place in places if place in found)
        return [(place, sessions[name], message) for place, name, message in there if name in sessions]

    def neighbours(self, place: int, count: int) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        """Up to `count` messages before and after a place of a log, as far as they can be read."""
        if not count:
            return (), ()
        low, high = (place >> SHIFT) << SHIFT, ((place >> SHIFT) + 1) << SHIFT
        with self._database.faults():
            before = self._rows.execute(_BEFORE, (low, place, count)).fetchall()[::-1]
            after = self._rows.execute(_AFTER, (place, high, count)).fetchall()
        read = ([message_of(kind, body) for kind, body in rows] for rows in (before, after))
        found = [tuple(one for one in messages if one is not None) for messages in read]
        return found[0], found[1]

    def number_of(self, place: int) -> int:
        """The number of a message in its log, from 1."""
        low = (place >> SHIFT) << SHIFT
        with self._database.faults():
            (dropped,) = self._rows.execute(_DROPPED, (low, place)).fetchone()
        return place - low - int(dropped)

    def is_visible(self, key: int, viewer: Viewer) -> bool:
        """Whether a session may be seen by somebody."""
        with self._database.faults():
            row = self._rows.execute("SELECT capabilities FROM sessions WHERE key = ?", (key,)).fetchone()
            if row is None:
                return False
            spoken = self._rows.execute(_SPOKEN, (key << SHIFT, (key + 1) << SHIFT)) if viewer.users else ()
            said = [message_of(kind, body) for kind, body in spoken]
        origins = [who for one in said for who in (speakers(one) if one else UNREADABLE)]
        return viewer.sees(bounds_of(row[0]), origins)

    def begun_between(self, since: float, until: float, limit: int, viewer: Viewer) -> list[SessionRow]:
        """Sessions that began in a time and that somebody may see, the last begun first."""
        with self._database.faults():
            begun = self._rows.execute(
                "SELECT key FROM sessions WHERE created >= ? AND created < ? ORDER BY created DESC, key DESC",
                (since, until),
            ).fetchall()
            visible = (key for (key,) in begun if viewer == EVERYBODY or self.is_visible(key, viewer))
            keys = json.dumps(list(islice(visible, limit)))
            return listed(self._rows, _BEGUN, (keys,))
