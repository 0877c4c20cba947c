"""`hermes_state`: the sessions of a home, to be read."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from anyio.from_thread import start_blocking_portal

from hermes.compat.conversation import as_tables
from hermes.plugins.aliases import Guest
from hermes.store.protocol import SessionRow
from hermes.store.sqlite_store import SqliteStore, open_store
from hermes.types.error import StoreError

T = TypeVar("T")


def published(guest: Guest) -> dict[str, Any]:
    """The class, for the files of one guest."""

    class SessionDB(_Sessions):
        """The sessions of this home."""

        def __init__(self, db_path: object = None, **kwargs: Any) -> None:
            super().__init__(guest)

    return {"SessionDB": SessionDB}


class _Sessions:
    """Reads; a method that would write is not there, and AttributeError says so."""

    def __init__(self, guest: Guest) -> None:
        self._home = guest.home

    def __getattr__(self, name: str) -> Any:
        """Whatever else the original's class has."""
        raise AttributeError(
            f"SessionDB.{name} is not offered: sessions are read here, and written by Hermes."
        )

    def close(self) -> None:
        """Nothing is open between two calls."""

    def get_session(self, session_id: str) -> dict[str, Any] | None:
        """A session as a list shows it; None where there is none."""
        stored = self._read(session_id)
        return _shown(stored.row) if stored else None

    def get_session_title(self, session_id: str) -> str | None:
        """Its title."""
        found = self.get_session(session_id)
        return found["title"] if found else None

    def resolve_session_id(self, session_id_or_prefix: str) -> str | None:
        """The id of the one session that these words name."""
        try:
            return self._ask(lambda store: store.resolve(session_id_or_prefix)).id
        except StoreError:
            return None

    def list_sessions_rich(
        self, source: str | None = None, limit: int = 20, **kwargs: Any
    ) -> list[dict[str, Any]]:
        """The sessions that were used last."""
        rows = self._ask(lambda store: store.recent(limit=limit))
        return [_shown(row) for row in rows if source in {None, row.source}]

    def message_count(self, session_id: str) -> int:
        """How many messages it has."""
        return len(self.get_messages(session_id))

    def get_messages(self, session_id: str, **kwargs: Any) -> list[dict[str, Any]]:
        """Its messages."""
        stored = self._read(session_id)
        return as_tables(stored.log) if stored else []

    def get_messages_as_conversation(self, session_id: str, **kwargs: Any) -> list[dict[str, Any]]:
        """Its messages, as a request has them."""
        return self.get_messages(session_id)

    def search_messages(self, query: str, *, limit: int = 20, **kwargs: Any) -> list[dict[str, Any]]:
        """The messages that these words are in."""
        hits = self._ask(lambda store: store.search(query, limit=limit))
        return [
            {"session_id": one.session.id, "snippet": one.snippet, **table}
            for one in hits
            for table in as_tables([one.message])
        ]

    def _read(self, session_id: str) -> Any:
        try:
            return self._ask(lambda store: store.read(session_id))
        except StoreError:
            return None

    def _ask(self, question: Callable[[SqliteStore], Awaitable[T]]) -> T:
        """Ask the store, which runs on a loop of its own meanwhile."""

        async def asked() -> T:
            async with open_store(self._home.sessions_db, self._home.search_db) as store:
                return await question(store)

        with start_blocking_portal() as portal:
            return portal.call(asked)


def _shown(row: SessionRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "title": row.title or None,
        "source": row.source,
        "model": row.model,
        "cwd": row.cwd,
        "parent_session_id": row.parent or None,
        "started_at": row.created,
        "last_active": row.updated,
        "message_count": row.messages,
        "preview": row.first_text,
    }
