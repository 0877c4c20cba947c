"""The store of one home in SQLite files; everything that touches them runs in one thread.

A row is written before anything else learns of the message (invariants 1 and 2: durable before visible,
journal before effect).
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import anyio.to_thread
from msgspec.structs import replace

from hermes.lib.worker import Worker, WorkerClosedError
from hermes.store.backup import backup_before_migration
from hermes.store.database import DAMAGED, Database
from hermes.store.emptied import refuse_emptied
from hermes.store.log_reader import LogReader
from hermes.store.owners import owners_of
from hermes.store.presence import present
from hermes.store.protocol import (
    ANY,
    EVERYBODY,
    By,
    Ended,
    Hit,
    Owner,
    Selection,
    SessionRow,
    Spent,
    StoredQuestion,
    StoredSession,
    UsageEntry,
    Viewer,
)
from hermes.store.questions import QuestionTable, checked
from hermes.store.search import SearchIndex, is_damage, remove
from hermes.store.sessions import SessionTables
from hermes.store.usage import UsageTable
from hermes.types.capabilities import ALL, Capabilities
from hermes.types.error import StorageDamaged, StoreError
from hermes.types.message import Message, ToolResult
from hermes.types.question import Answer
from hermes.types.usage import Usage

CLOSED = "{} is closed; open the store again to use it."
PAUSE = 0.05
"""Seconds without a call after which what was only counted is written, and the log is folded in."""
VERIFIED = 64 << 20
"""Bytes of a file whose pages are looked over when sessions are opened (0.6 ms for each million)."""
T = TypeVar("T")


@asynccontextmanager
async def open_store(path: Path, index: Path) -> "AsyncIterator[SqliteStore]":
    """The store in these files, made when they are not there; StoreError and StorageDamaged say why not."""
    await refuse_emptied(path)
    with present(path):
        await anyio.to_thread.run_sync(backup_before_migration, path)
        store = SqliteStore(await anyio.to_thread.run_sync(Database, path, "sessions"), index)
        try:
            yield store
        finally:
            await store.close()


class SqliteStore:
    """A `SessionStore`; its search index is a second file, opened by the first search."""

    def __init__(self, database: Database, index: Path) -> None:
        self._database, self._index_file = database, index
        self._index: SearchIndex | None = None
        self._sessions, self._usage = SessionTables(database), UsageTable(database)
        self._questions, self._logs = QuestionTable(database), LogReader(database)
        self._owners = owners_of(database.path)
        self._counted: list[UsageEntry] = []
        self._open, self._verified = True, False
        self._worker = Worker("hermes-store", batch=self._transaction, idle=self._tidy, pause=PAUSE)

    async def create(
        self, row: SessionRow, *, system: str, tools: Sequence[object], capabilities: Capabilities = ALL
    ) -> None:
        """Announce a session."""
        await self._run(self._sessions.create, row, system, tools, capabilities)

    async def append(self, session_id: str, *messages: Message) -> None:
        """Write messages."""
        await self._own(self._sessions.append, session_id, messages)

    async def settle(self, session_id: str, *results: ToolResult) -> None:
        """Write the missing results and close the journal."""
        await self._own(self._sessions.settle, session_id, results)

    async def begin(self, session_id: str, call_id: str, tool: str, digest: str) -> None:
        """Write an intent."""
        await self._own(self._sessions.begin, session_id, call_id, tool, digest)

    async def finish(self, session_id: str, result: ToolResult) -> None:
        """Write an outcome."""
        await self._own(self._sessions.finish, session_id, result)

    async def ask(self, asked: StoredQuestion) -> None:
        """Write a question."""
        await self._own(self._ask, asked.session, asked)

    async def answer(self, question_id: str, answer: Answer, *, by: str, at: float) -> bool:
        """Write an answer."""
        return await self._write(self._questions.answer, question_id, checked(answer), by, at)

    async def end_question(self, question_id: str, state: Ended) -> StoredQuestion | None:
        """Write that a question is over."""
        return await self._write(self._end, question_id, state)

    async def question(self, question_id: str) -> StoredQuestion | None:
        """Read a question."""
        return await self._run(self._questions.find, question_id)

    async def questions(self, session_id: str = "") -> list[StoredQuestion]:
        """Read what is open, and what was answered and not used."""
        return await self._run(self._unended, session_id)

    async def claim(self, session_id: str, owner: Owner) -> None:
        """Take a session."""
        await self._run(self._owners.claim, session_id, owner)

    async def release(self, session_id: str) -> None:
        """Give a session back."""
        await self._run(self._owners.release, session_id)

    async def owner_of(self, session_id: str) -> Owner | None:
        """Who has a session."""
        return await self._run(self._owners.owner_of, session_id)

    async def evict(self, session_id: str) -> None:
        """Take a session from whoever has it."""
        await self._run(self._owners.evict, session_id)

    async def load(self, session_id: str) -> StoredSession:
        """Read a session, to be written to from here."""
        return await self._run(self._with_usage, self._sessions.load, session_id)

    async def read(self, session_id: str) -> StoredSession:
        """Read a session, to look at it."""
        return await self._run(self._with_usage, self._sessions.read, session_id)

    async def drop_last(self, session_id: str, count: int) -> None:
        """Take messages off the end."""
        await self._own(self._sessions.drop_last, session_id, count)

    async def update(
        self,
        session_id: str,
        *,
        title: str | None = None,
        model: str | None = None,
        base_url: str | None = None,
        goal: str | None = None,
        mode: str | None = None,
        outside: str | None = None,
    ) -> None:
        """Change what a row says."""
        await self._own(self._sessions.update, session_id, title, model, base_url, goal, mode, outside)

    async def verify(self) -> None:
        """Look over the pages."""
        if self._verified or self._database.path.stat().st_size > VERIFIED:
            return
        found = await self._run(self._check)
        if found != "ok":
            raise StorageDamaged(DAMAGED.format(self._database.path, found.splitlines()[-1]))
        self._verified = True

    async def recent(self, *, limit: int = 50, cwd: str = "") -> list[SessionRow]:
        """List sessions."""
        return await self._run(self._sessions.recent, limit, cwd)

    async def children(self, session_id: str) -> list[SessionRow]:
        """List the children of a session."""
        return await self._run(self._sessions.children, session_id)

    async def resolve(self, text: str, *, cwd: str = "") -> SessionRow:
        """Find a session by what a person calls it."""
        return await self._run(self._sessions.resolve, text, cwd)

    async def delete(self, session_id: str) -> bool:
        """Remove a session."""
        return await self._write(self._delete, session_id)

    async def begun_between(
        self, since: float, until: float, *, limit: int = 20, viewer: Viewer = EVERYBODY
    ) -> list[SessionRow]:
        """List sessions of a time."""
        return await self._run(self._logs.begun_between, since, until, limit, viewer)

    async def search(self, words: str, *, limit: int = 20, select: Selection = ANY) -> list[Hit]:
        """Find messages; the index is brought up to date in pieces, between which others may write."""
        try:
            return await self._found(words, limit, select)
        except StoreError as error:
            if not is_damage(error):
                raise
            await self._run(self._drop_index)  # an index, not a record: the store has everything in it
            return await self._found(words, limit, select)

    async def _found(self, words: str, limit: int, select: Selection) -> list[Hit]:
        while (hits := await self._run(self._look_up, words, limit, select)) is None:
            pass
        return hits

    def count(self, entry: UsageEntry) -> None:
        """Note what a request has used."""
        self._counted.append(entry)
        self._worker.idle_soon()

    async def counted_on(self, day: str) -> tuple[int, float]:
        """What counts against the budgets of a day."""
        return await self._run(self._read, self._usage.counted_on, day)

    async def used_by(self, session_id: str) -> Usage:
        """What a session has used."""
        return await self._run(self._read, self._usage.of_session, session_id)

    async def summary(self, by: By, *, since: str = "") -> list[Spent]:
        """Add up what was used."""
        return await self._run(self._read, self._usage.summary, by, since)

    async def check(self) -> str:
        """Look the file over."""
        return await self._run(self._check)

    async def close(self) -> None:
        """Write what is still to be written and let go of the files."""
        if self._open:
            self._open = False
            try:
                await self._worker.run(self._close)
            finally:
                await self._worker.close()

    async def _own(self, change: Callable[..., None], session_id: str, *values: object) -> None:
        """Change a session, unless it was taken from this process."""
        await self._write(self._change_own, change, session_id, *values)

    async def _write(self, change: Callable[..., T], *values: object) -> T:
        """Change something in one transaction with all that is to be written at the time."""
        self._refuse_closed()
        with self._told():
            return await self._worker.run_batched(change, *values)

    async def _run(self, function: Callable[..., T], *values: object) -> T:
        self._refuse_closed()
        with self._told():
            return await self._worker.run(function, *values)

    def _refuse_closed(self) -> None:
        if not self._open:
            raise StoreError(CLOSED.format(self._database.path))

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Say of what was not written because somebody closed the store meanwhile that it was not."""
        try:
            yield
        except WorkerClosedError as error:
            raise StoreError(CLOSED.format(self._database.path)) from error

    # ------------------------------------------------------------------ in the thread

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """One transaction, with what was counted meanwhile."""
        counted = tuple(self._counted)
        with self._sessions.transaction():
            for entry in counted:
                self._usage.add(entry)
            yield
        del self._counted[: len(counted)]
        if self._database.checkpoints.is_overdue():
            self._worker.post(self._database.checkpoints.run)  # whoever waits for the write does not for this

    def _write_counted(self) -> None:
        if self._counted:
            with self._transaction():
                pass

    def _change_own(self, change: Callable[..., None], session_id: str, *values: object) -> None:
        self._owners.guard(session_id)
        change(session_id, *values)

    def _delete(self, session_id: str) -> bool:
        self._owners.refuse_open(session_id)
        return self._sessions.delete(session_id)

    def _ask(self, session_id: str, asked: StoredQuestion) -> None:
        self._sessions.keep(session_id)  # a command of the person's own may ask before anything was said
        self._questions.ask(session_id, asked)

    def _end(self, question_id: str, state: Ended) -> StoredQuestion | None:
        found = self._questions.find(question_id)
        if found is not None:
            self._owners.guard(found.session)
        return self._questions.find(question_id) if self._questions.end(question_id, state) else None

    def _unended(self, session_id: str) -> list[StoredQuestion]:
        """What can be read of it; what cannot is ended, so that it holds up nothing else."""
        found, unreadable = self._questions.unended(session_id)
        for question_id in unreadable:
            with self._transaction():
                self._questions.end(question_id, "withdrawn")
        return found

    def _read(self, question: Callable[..., T], *values: object) -> T:
        """What is in the tables, with all that was counted before."""
        self._write_counted()
        return question(*values)

    def _with_usage(self, read: Callable[[str], StoredSession], session_id: str) -> StoredSession:
        stored = read(session_id)
        return replace(stored, used=self._read(self._usage.of_session, session_id))

    def _look_up(self, words: str, limit: int, select: Selection) -> list[Hit] | None:
        """What the index finds, or None when it had to be brought further up to date first."""
        if self._index is not None and self._index.is_gone:
            self._index.close()
            self._index = None
        if self._index is None:
            self._index = SearchIndex(self._index_file, self._logs)
        return None if self._index.catch_up() else self._index.find(words, limit, select)

    def _drop_index(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None
        remove(self._index_file)

    def _check(self) -> str:
        with self._database.faults():
            return str(self._database.rows.execute("PRAGMA quick_check(1)").fetchone()[0])

    def _tidy(self) -> None:
        """Write what was only counted, and fold in the log; a fault shows at the next write."""
        with contextlib.suppress(StoreError):
            self._write_counted()
        self._database.checkpoints.run()

    def _close(self) -> None:
        try:
            self._write_counted()
            self._database.checkpoints.run()
        finally:
            if self._index is not None:
                self._index.close()
            self._owners.close()
            self._database.close()
