"""A store in memory, and one that fails when it is told to."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hermes.store.owners import open_here
from hermes.store.protocol import (
    ANY,
    EVERYBODY,
    By,
    Ended,
    Hit,
    Owner,
    Selection,
    SessionRow,
    SessionStore,
    Spent,
    StoredQuestion,
    StoredSession,
    UsageEntry,
    Viewer,
)
from hermes.store.questions import checked
from hermes.store.search import snippet, text_of
from hermes.store.sessions import MESSAGES, chosen, named
from hermes.types.capabilities import ALL, Capabilities
from hermes.types.error import StoreError
from hermes.types.message import Message, ToolResult, User, speakers
from hermes.types.question import Answer
from hermes.types.usage import NO_USAGE, Usage


class _Kept(Struct):
    row: SessionRow
    system: str
    tools: tuple[object, ...]
    capabilities: Capabilities = ALL
    goal: str = ""
    mode: str = ""
    log: list[Message] = field(default_factory=list)
    begun: dict[str, ToolResult | None] = field(default_factory=dict)


class MemoryStore:
    """A `SessionStore` that forgets everything when it is closed."""

    def __init__(self) -> None:
        self._new: dict[str, _Kept] = {}
        self._kept: dict[str, _Kept] = {}
        self._usage: list[UsageEntry] = []
        self._owners: dict[str, Owner] = {}
        self._questions: dict[str, StoredQuestion] = {}

    async def create(
        self, row: SessionRow, *, system: str, tools: Sequence[object], capabilities: Capabilities = ALL
    ) -> None:
        """Announce a session."""
        self._new[row.id] = _Kept(row, system, tuple(tools), capabilities)

    async def append(self, session_id: str, *messages: Message) -> None:
        """Keep messages."""
        self._keep(session_id)
        log = self._of(session_id).log
        if not log or any(isinstance(message, User) for message in messages):
            self._kept[session_id] = self._kept.pop(session_id)  # the last used stands last
        log += [MESSAGES.decode(MESSAGES.encode(message)) for message in messages]

    async def settle(self, session_id: str, *results: ToolResult) -> None:
        """Keep the missing results and close the journal."""
        await self.append(session_id, *results)
        self._of(session_id).begun.clear()

    async def begin(self, session_id: str, call_id: str, tool: str, digest: str) -> None:  # noqa: ARG002  # it asks only whether
        """Keep an intent."""
        self._of(session_id).begun[call_id] = None

    async def finish(self, session_id: str, result: ToolResult) -> None:
        """Keep an outcome."""
        self._of(session_id).begun[result.call_id] = result

    async def ask(self, asked: StoredQuestion) -> None:
        """Keep a question."""
        self._keep(asked.session)
        self._exists(asked.session)
        self._questions[asked.id] = asked

    async def answer(self, question_id: str, answer: Answer, *, by: str, at: float) -> bool:
        """Answer a question."""
        given = checked(answer)
        found = self._questions.get(question_id)
        if found is None or found.to != by or not found.is_open(at):
            return False
        self._questions[question_id] = replace(found, state="answered", answer=given, by=by)
        return True

    async def end_question(self, question_id: str, state: Ended) -> StoredQuestion | None:
        """End a question."""
        found = self._questions.get(question_id)
        if found is None or found.state not in {"open", "answered"}:
            return None
        ended = replace(found, state="used" if found.state == "answered" else state)
        self._questions[question_id] = ended
        return ended

    async def question(self, question_id: str) -> StoredQuestion | None:
        """Give a question."""
        return self._questions.get(question_id)

    async def questions(self, session_id: str = "") -> list[StoredQuestion]:
        """Give what is open, and what was answered and not used."""
        found = (one for one in self._questions.values() if session_id in {"", one.session})
        return [one for one in found if one.state in {"open", "answered"}]

    async def claim(self, session_id: str, owner: Owner) -> None:
        """Take a session."""
        self._refuse_open(session_id)
        self._owners[session_id] = owner

    async def release(self, session_id: str) -> None:
        """Give a session back."""
        self._owners.pop(session_id, None)

    async def owner_of(self, session_id: str) -> Owner | None:
        """Who has a session."""
        return self._owners.get(session_id)

    async def evict(self, session_id: str) -> None:
        """Take a session from whoever has it."""
        self._owners.pop(session_id, None)

    async def load(self, session_id: str) -> StoredSession:
        """Give a session."""
        self._exists(session_id)
        kept = self._kept[session_id]
        return StoredSession(
            row=_listed(kept),
            system=kept.system,
            tools=kept.tools,
            capabilities=kept.capabilities,
            goal=kept.goal,
            mode=kept.mode,
            log=tuple(kept.log),
            begun=dict(kept.begun),
            used=await self.used_by(session_id),
        )

    async def read(self, session_id: str) -> StoredSession:
        """Give a session."""
        return await self.load(session_id)

    async def drop_last(self, session_id: str, count: int) -> None:
        """Take messages off the end."""
        log = self._of(session_id).log
        del log[max(0, len(log) - count) :]

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
        kept = self._new.get(session_id) or self._kept.get(session_id)
        if kept is not None:
            kept.row = replace(
                kept.row,
                title=title or kept.row.title,
                model=model or kept.row.model,
                base_url=kept.row.base_url if base_url is None else base_url,
                outside=outside or kept.row.outside,
            )
            kept.goal = kept.goal if goal is None else goal
            kept.mode = kept.mode if mode is None else mode

    async def verify(self) -> None:
        """Memory is whole."""

    async def recent(self, *, limit: int = 50, cwd: str = "") -> list[SessionRow]:
        """List sessions."""
        own = (kept for kept in self._kept.values() if not kept.row.parent)
        rows = [_listed(kept) for kept in own if cwd in {"", kept.row.cwd}]
        return rows[::-1][:limit]

    async def children(self, session_id: str) -> list[SessionRow]:
        """List the children of a session."""
        return [_listed(kept) for kept in self._kept.values() if session_id and kept.row.parent == session_id]

    async def resolve(self, text: str, *, cwd: str = "") -> SessionRow:
        """Find a session by what a person calls it."""
        rows = [_listed(kept) for kept in self._kept.values()][::-1]
        return chosen(text, named(text, rows, cwd))

    async def delete(self, session_id: str) -> bool:
        """Remove a session."""
        self._refuse_open(session_id)
        for one in [one.id for one in self._questions.values() if one.session == session_id]:
            del self._questions[one]
        return self._kept.pop(session_id, None) is not None

    async def begun_between(
        self, since: float, until: float, *, limit: int = 20, viewer: Viewer = EVERYBODY
    ) -> list[SessionRow]:
        """List sessions of a time."""
        rows = [_listed(kept) for kept in self._kept.values() if _is_visible(kept, viewer)]
        begun = [row for row in rows if since <= row.created < until]
        return sorted(begun, key=lambda row: row.created, reverse=True)[:limit]

    async def search(self, words: str, *, limit: int = 20, select: Selection = ANY) -> list[Hit]:
        """Find messages that hold all the words as they are."""
        wanted = words.lower().split()
        found = [
            _hit(kept, at, words, select.around)
            for kept in self._kept.values()
            if _is_visible(kept, select.viewer)
            for at, message in enumerate(kept.log)
            if wanted and all(word in text_of(message).lower() for word in wanted)
            if message.id not in select.unseen and (not select.kinds or message.kind in select.kinds)
        ]
        return (found[::-1] if select.order == "newest" else found)[:limit]

    def count(self, entry: UsageEntry) -> None:
        """Note what a request has used."""
        self._usage.append(entry)

    async def counted_on(self, day: str) -> tuple[int, float]:
        """What counts against the budgets of a day."""
        found = [one for one in self._usage if one.day == day]
        tokens = sum(one.usage.input_tokens + one.usage.output_tokens for one in found)
        return tokens, sum((one.counted for one in found), 0.0)

    async def used_by(self, session_id: str) -> Usage:
        """What a session has used."""
        return sum((one.usage for one in self._usage if one.session == session_id), NO_USAGE)

    async def summary(self, by: By, *, since: str = "") -> list[Spent]:
        """Add up what was used."""
        sums: dict[str, Spent] = {}
        for one in self._usage:
            if one.day < since:
                continue
            what = f"{one.provider}/{one.model}" if by == "model" else str(getattr(one, by))
            old = sums.get(what, Spent(what=what, usage=NO_USAGE, failed=0))
            sums[what] = Spent(what=what, usage=old.usage + one.usage, failed=old.failed + one.failed)
        if by == "day":
            return sorted(sums.values(), key=lambda line: line.what)
        return sorted(sums.values(), key=lambda line: (-line.usage.cost, -line.usage.input_tokens))

    async def check(self) -> str:
        """Memory is in order."""
        return "ok"

    async def close(self) -> None:
        """Forget everything."""
        self._new.clear()
        self._kept.clear()

    def _keep(self, session_id: str) -> None:
        if session_id in self._new:
            self._kept[session_id] = self._new.pop(session_id)

    def _exists(self, session_id: str) -> None:
        if session_id not in self._kept:
            raise StoreError(f"There is no session {session_id}; hermes sessions list shows them.")

    def _refuse_open(self, session_id: str) -> None:
        if session_id in self._owners:
            raise open_here(session_id, self._owners[session_id])

    def _of(self, session_id: str) -> _Kept:
        if session_id not in self._kept:
            raise StoreError(f"Session {session_id} is not open here; load it before writing to it.")
        return self._kept[session_id]


def _listed(kept: _Kept) -> SessionRow:
    first = next((message.text for message in kept.log if isinstance(message, User)), "")
    updated = kept.log[-1].at if kept.log else kept.row.created
    return replace(kept.row, updated=updated, messages=len(kept.log), first_text=first)


def _is_visible(kept: _Kept, viewer: Viewer) -> bool:
    return viewer.sees(kept.capabilities, [who for one in kept.log for who in speakers(one)])


def _hit(kept: _Kept, at: int, words: str, around: int) -> Hit:
    return Hit(
        session=_listed(kept),
        message=kept.log[at],
        snippet=snippet(text_of(kept.log[at]), words),
        number=at + 1,
        before=tuple(kept.log[max(0, at - around) : at]),
        after=tuple(kept.log[at + 1 : at + 1 + around]),
    )


class FailingStore:
    """A store whose calls fail where `fails` says so, before anything is written; the others go through.

    `fails` gets the number of the call, from 1, and the name of the method. `calls` are their names so far.
    """

    def __init__(self, store: SessionStore, fails: Callable[[int, str], bool]) -> None:
        self._store, self._fails = store, fails
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._store, name)
        if name in {"count", "close"} or name.startswith("_"):
            return function

        async def call(*given: Any, **named_: Any) -> Any:
            self.calls.append(name)
            if self._fails(len(self.calls), name):
                raise StoreError(f"the store failed at its call {len(self.calls)}, {name}")
            return await function(*given, **named_)

        return call


def failing_at(store: SessionStore, number: int) -> FailingStore:
    """A store whose call of that number fails, and no other."""
    return FailingStore(store, lambda at, _: at == number)
