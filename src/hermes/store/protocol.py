"""What a store of sessions does, whatever keeps it: the protocol, and the values that go in and out."""

from collections.abc import Collection, Sequence
from typing import Final, Literal, Protocol

from msgspec import Struct

from hermes.types.capabilities import ALL, Capabilities
from hermes.types.message import Message, ToolResult
from hermes.types.question import Answer, Question
from hermes.types.usage import NO_USAGE, Usage

By = Literal["day", "session", "task", "model"]


class SessionRow(Struct, frozen=True, kw_only=True):
    """A session as a list shows it; times in epoch seconds.

    `parent` is the session that it is a child of, `origin` the one whose log it began with. `outside` names
    what it has read from outside that its log does not tell, a line each: where the log came from, when that
    was written elsewhere, and what turns have read that are not in it. `base_url` is the address of the
    model's server where that is the user's own. A row is `damaged` where bytes of it
    are no text; they are spelled out then.
    """

    id: str
    title: str = ""
    cwd: str
    branch: str = ""
    model: str
    base_url: str = ""
    source: str = ""
    parent: str = ""
    origin: str = ""
    outside: str = ""
    created: float
    updated: float
    messages: int = 0
    first_text: str = ""
    damaged: bool = False


class StoredSession(Struct, frozen=True, kw_only=True):
    """A session as it is resumed.

    `system` and `tools` are its frozen prompt and tool definitions, `capabilities` what it may do at most,
    `begun` the calls whose journal is open, with their outcomes as far as they are known, `goal` what it
    pursues and `mode` what it may change by its user's word (JSON), and `used` what its requests have used so
    far. `unreadable` are the numbers, from 1, of
    messages that the log lacks because their rows are damaged.
    """

    row: SessionRow
    system: str
    tools: tuple[object, ...]
    capabilities: Capabilities = ALL
    log: tuple[Message, ...]
    begun: dict[str, ToolResult | None]
    goal: str = ""
    mode: str = ""
    used: Usage = NO_USAGE
    unreadable: tuple[int, ...] = ()


class UsageEntry(Struct, frozen=True, kw_only=True):
    """One request. `day` is an ISO date, `counted` what it counts against budgets, in US dollars."""

    day: str
    session: str
    task: str
    provider: str
    model: str
    usage: Usage
    counted: float
    failed: bool


class Spent(Struct, frozen=True, kw_only=True):
    """One line of a summary: what it is about, what was used, and how many of the requests failed."""

    what: str
    usage: Usage
    failed: int


class Viewer(Struct, frozen=True, kw_only=True):
    """Who looks at sessions and facts: what they may do at most, and the origins of all who are told what is
    found ("" for whoever owns the home).
    """

    bounds: Capabilities = ALL
    origins: frozenset[str] = frozenset({""})

    def sees(self, capabilities: Capabilities, origins: Collection[str]) -> bool:
        """Whether a session of these capabilities may be seen, in which those of these origins spoke.

        It is one that could bring in no more than the viewers themselves, and in which each of them spoke and
        nobody else; whoever owns the home sees all.
        """
        return self.bounds.covers(capabilities) and (not self.users or {*origins} == self.users)

    @property
    def users(self) -> frozenset[str]:
        """The viewers without whoever owns the home."""
        return self.origins - {""}

    @property
    def alone(self) -> str | None:
        """The one viewer, whose facts may be told; None where they are several."""
        return next(iter(self.origins)) if len(self.origins) == 1 else None


EVERYBODY: Final = Viewer()


class Selection(Struct, frozen=True, kw_only=True):
    """What of the messages that match is wanted: of those kinds (all, if there are none), in what order, that
    the viewer may see, and not those of the ids `unseen`; with so many messages `around` each.
    """

    kinds: tuple[str, ...] = ()
    order: Literal["best", "newest", "oldest"] = "best"
    viewer: Viewer = EVERYBODY
    unseen: frozenset[str] = frozenset()
    around: int = 0


ANY: Final = Selection()


class Hit(Struct, frozen=True, kw_only=True):
    """One message that matches a search, with its session, its number in the log (from 1), the text around
    the words, and the messages before and after it.
    """

    session: SessionRow
    message: Message
    snippet: str
    number: int
    before: tuple[Message, ...] = ()
    after: tuple[Message, ...] = ()


class Owner(Struct, frozen=True, kw_only=True):
    """A process that works in a session: which, on what host, as what app, since when, and where."""

    pid: int
    host: str
    app: str
    since: float
    cwd: str = ""


Ended = Literal["used", "expired", "withdrawn"]


class StoredQuestion(Struct, frozen=True, kw_only=True):
    """A question of a session, as it is kept.

    `to` is the origin of the actor who may answer, `call_id` the call that waits for the answer. `asked` and
    `expires` are in epoch seconds; 0 is without end. `answer` is there once it has come, `by` from whom.
    """

    id: str
    session: str
    question: Question
    to: str
    asked: float
    expires: float = 0.0
    call_id: str = ""
    state: Literal["open", "answered", "used", "expired", "withdrawn"] = "open"
    answer: Answer | None = None
    by: str = ""

    def is_open(self, now: float) -> bool:
        """Whether it may be answered at that time."""
        return self.state == "open" and (not self.expires or self.expires > now)


class SessionStore(Protocol):
    """Keeps sessions, the journal of their running calls, and what requests have used.

    What a method has written when it returns survives the death of the process. A method that raises has
    written nothing, and the store can be used again. Every method raises StoreError when the store cannot be
    used, StorageDamaged when something in it cannot be read. A call that has begun is not cut short by
    cancellation.
    """

    async def create(
        self, row: SessionRow, *, system: str, tools: Sequence[object], capabilities: Capabilities = ALL
    ) -> None:
        """Announce a session with its frozen prompt, tool definitions and capabilities; the first `append`
        writes it.
        """

    async def append(self, session_id: str, *messages: Message) -> None:
        """Write messages at the end of a log, all or none; StoreError when somebody else has written to it
        since it was loaded here.
        """

    async def settle(self, session_id: str, *results: ToolResult) -> None:
        """Write the results that the log still lacks and close the journal of the session, in one step."""

    async def begin(self, session_id: str, call_id: str, tool: str, digest: str) -> None:
        """Write in the journal that a call with effects is about to run."""

    async def finish(self, session_id: str, result: ToolResult) -> None:
        """Write a call's outcome in the journal, before its turn in the log has come."""

    async def ask(self, asked: StoredQuestion) -> None:
        """Keep a question of a session, before anybody is told of it."""

    async def answer(self, question_id: str, answer: Answer, *, by: str, at: float) -> bool:
        """Answer a question, from any process; whether it was open at that time (epoch seconds) and is
        addressed to `by`, an actor's origin. TypeError and ValueError when it is no answer that can be kept.
        """

    async def end_question(self, question_id: str, state: Ended) -> StoredQuestion | None:
        """End a question that nobody waits for any more, and give it as it ended: with the answer, and as
        used, where one came first. None when it was over, so that one caller alone gets an answer to use;
        StoreError when its session was taken from this process.
        """

    async def question(self, question_id: str) -> StoredQuestion | None:
        """A question by its id, or None."""

    async def questions(self, session_id: str = "") -> list[StoredQuestion]:
        """The questions of a session, or of all, that are open or whose answer was not used yet; the oldest
        first. An answer that cannot be read is a no; a question that cannot be read is ended, and left out.
        """

    async def claim(self, session_id: str, owner: Owner) -> None:
        """Take a session, until `release`, `close` or the end of the process, however that comes.

        SessionOwned says who has it, be it this process.
        """

    async def release(self, session_id: str) -> None:
        """Give a claim back, if there is one: the session is free."""

    async def owner_of(self, session_id: str) -> Owner | None:
        """The living process that has a session, or None."""

    async def evict(self, session_id: str) -> None:
        """Take a session from whoever has it; that process can write nothing to it any more."""

    async def load(self, session_id: str) -> StoredSession:
        """A session whole, to be written to from here if it is claimed; StoreError when there is none,
        StorageDamaged when a message of it cannot be read.
        """

    async def read(self, session_id: str) -> StoredSession:
        """A session as far as it can be read, to be looked at, whoever has it."""

    async def drop_last(self, session_id: str, count: int) -> None:
        """Take the last `count` messages out of the log."""

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
        """Change a session's title, model and its server's address, goal or mode (JSON; "" is none), or what
        it has read from outside.
        """

    async def verify(self) -> None:
        """StorageDamaged where what all sessions are kept in is damaged, be it in others than those in use.

        Looked at once for each opened store; one that is too large for that is met where it is read.
        """

    async def recent(self, *, limit: int = 50, cwd: str = "") -> list[SessionRow]:
        """Sessions, the last used first; those of one directory if `cwd` is given."""

    async def children(self, session_id: str) -> list[SessionRow]:
        """The sessions that were begun by this one, the first begun first."""

    async def begun_between(
        self, since: float, until: float, *, limit: int = 20, viewer: Viewer = EVERYBODY
    ) -> list[SessionRow]:
        """Sessions that began in that time (epoch seconds) and that the viewer may see, the last begun
        first.
        """

    async def resolve(self, text: str, *, cwd: str = "") -> SessionRow:
        """The session that an id, the start of an id, a title or `latest` names; UnknownSession says what is
        near.
        """

    async def delete(self, session_id: str) -> bool:
        """Remove a session and its messages; whether it was there. SessionOwned while it is open."""

    async def search(self, words: str, *, limit: int = 20, select: Selection = ANY) -> list[Hit]:
        """Messages that hold all the words, in any script, best first; of very many, those of the sessions
        begun last. Where they are few, those follow that hold the words as parts of longer ones.
        """

    def count(self, entry: UsageEntry) -> None:
        """Note what a request has used, without waiting: it is written with the next write, or soon, and
        seen by every later call.
        """

    async def counted_on(self, day: str) -> tuple[int, float]:
        """Tokens and US dollars that count against the budgets of a day, of all processes."""

    async def used_by(self, session_id: str) -> Usage:
        """What the requests of a session have used since it began."""

    async def summary(self, by: By, *, since: str = "") -> list[Spent]:
        """Totals since a day, one line for each day, session, task or model; days in order, the others with
        the dearest first.
        """

    async def check(self) -> str:
        """`ok`, or what is wrong with the store."""

    async def close(self) -> None:
        """Write what is still to be written and let go of everything."""
