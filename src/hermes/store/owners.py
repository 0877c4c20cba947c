"""One living owner of a session: a lock file for each session that a process works in."""

import datetime as dt
from pathlib import Path

import msgspec

from hermes.lib import locks
from hermes.lib.session_ids import is_session_id
from hermes.store.protocol import Owner
from hermes.types.error import SessionOwned, StoreError

_UNKNOWN = Owner(pid=0, host="", app="a program that is just starting", since=0.0)


class Owners:
    """The claims of one store, in a folder that all processes of a home share. For one thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._claims: dict[str, locks.HeldFile] = {}

    def claim(self, session_id: str, owner: Owner) -> None:
        """Take a session; SessionOwned says who has it, be it this process."""
        self._refuse_second(session_id)
        try:
            file = locks.take(self._file(session_id), msgspec.json.encode(owner))
        except OSError as error:
            raise StoreError(
                f"{self._folder} cannot be written ({error.strerror}); check the disk and its permissions."
            ) from error
        if file is None:
            theirs = self.owner_of(session_id) or _UNKNOWN
            is_here = (theirs.pid, theirs.host) == (owner.pid, owner.host)
            raise open_here(session_id, theirs) if is_here else owned(session_id, theirs)
        self._claims[session_id] = file

    def release(self, session_id: str) -> None:
        """Give the claim back, if there is one."""
        mine = self._claims.pop(session_id, None)
        if mine is not None:
            mine.close()

    def owner_of(self, session_id: str) -> Owner | None:
        """Who has a session now."""
        words = locks.holder(self._file(session_id))
        if words is None:
            return None
        try:
            return msgspec.json.decode(words, type=Owner)
        except msgspec.DecodeError:
            return _UNKNOWN

    def at_work_in(self, folder: Path) -> str:
        """The id of a session that a living process has open in a folder or below it; "" without one."""
        for file in sorted(self._folder.glob("*.lock")):
            owner = self.owner_of(file.stem)
            if owner is not None and owner.cwd and Path(owner.cwd).is_relative_to(folder):
                return file.stem
        return ""

    def evict(self, session_id: str) -> None:
        """Take a session from whoever has it, which can write nothing to it from now on."""
        self._file(session_id).unlink(missing_ok=True)

    def refuse_open(self, session_id: str) -> None:
        """SessionOwned when any process has a session, this one too."""
        self._refuse_second(session_id)
        owner = self.owner_of(session_id)
        if owner is not None:
            raise owned(session_id, owner)

    def guard(self, session_id: str) -> None:
        """StoreError when the session was taken from this process."""
        mine = self._claims.get(session_id)
        if mine is not None and not mine.is_ours:
            raise StoreError(
                f"Session {session_id} was taken over by another process; nothing was written. Close it there"
                " and open it here again, or start a new one."
            )

    def close(self) -> None:
        """Give everything back."""
        for claim in self._claims.values():
            claim.close()
        self._claims.clear()

    def _refuse_second(self, session_id: str) -> None:
        mine = self._claims.get(session_id)
        if mine is not None and mine.is_ours:
            raise open_here(session_id, self.owner_of(session_id) or _UNKNOWN)

    def _file(self, session_id: str) -> Path:
        if not is_session_id(session_id):
            raise StoreError(f"{session_id[:80]!r} is no id of a session.")
        return self._folder / f"{session_id}.lock"


def owners_of(sessions_db: Path) -> Owners:
    """The claims of the store in that file."""
    return Owners(owners_folder(sessions_db))


def owners_folder(sessions_db: Path) -> Path:
    """Where the claims of the store in that file lie."""
    return sessions_db.with_name(f"{sessions_db.stem}.locks")


def owned(session_id: str, owner: Owner) -> SessionOwned:
    """The error for a session that somebody else has."""
    since = f"{dt.datetime.fromtimestamp(owner.since, tz=dt.UTC).astimezone():%Y-%m-%d %H:%M}"
    return SessionOwned(
        f"Session {session_id} is open in {owner.app} (process {owner.pid} on {owner.host}, since {since}),"
        f" and only one may go on with it. Close it there; hermes sessions show {session_id} reads it"
        f" meanwhile, hermes sessions release {session_id} takes it from that process.",
        pid=owner.pid,
    )


def open_here(session_id: str, owner: Owner) -> SessionOwned:
    """The error for a session that this process has."""
    return SessionOwned(
        f"Session {session_id} is open already in this program; use it there, or close it first.",
        pid=owner.pid,
    )
