"""A session: the log and the four verbs – send, steer, interrupt, answer."""

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from hermes.agent.calls import Journal
from hermes.agent.events import Listener, Listeners
from hermes.agent.exchange import Exchange
from hermes.agent.ledger import CHAT, Ledger
from hermes.agent.log import Log, replay
from hermes.agent.loops import HomeLoop
from hermes.agent.questions import Questions
from hermes.agent.title import naming, title_of
from hermes.agent.todos import from_log
from hermes.agent.turn import run_turn
from hermes.lib.aio import Async
from hermes.lib.secretvalues import SecretValues
from hermes.lib.text import mend_surrogates
from hermes.models.attempt import Ladder
from hermes.models.auxiliary import Errand, Question, SideCalls, Task
from hermes.models.route import Route
from hermes.tools.dispatch import Dispatcher
from hermes.types import event as events
from hermes.types.error import Failure, HermesError, ModelError
from hermes.types.message import Assistant, Attachment, Message, User
from hermes.types.ports import Ports
from hermes.types.question import Answer
from hermes.types.request import Endpoint, Options
from hermes.types.tool import Snapshot
from hermes.types.usage import NO_USAGE
from hermes.types.workspace import Workspace

if TYPE_CHECKING:
    from hermes.agent.workplace import Ask, Workplace

STOPPED = "(stopped by the user)"


class Store(Journal, Protocol):
    """Where a session is kept."""

    def append(self, session_id: str, message: Message) -> None:
        """Write one message."""

    def drop_last(self, session_id: str, count: int) -> None:
        """Take messages off the end."""

    def update(self, session_id: str, *, title: str | None = None, model: str | None = None) -> None:
        """Change what a list shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a session is made of; the runtime puts it together."""

    id: str
    system: str
    tools: Snapshot
    endpoint: Endpoint
    options: Options
    route: Callable[[Endpoint, "Session"], Route]
    along: Callable[[Sequence[Endpoint], "Session"], Route]
    errand: Callable[[Task, Endpoint], Errand]
    start: Callable[[Async[Any]], object]
    ladder: Ladder
    ledger: Ledger
    dispatcher: Dispatcher
    store: Store
    ports: Ports
    redact: Callable[[str], str]
    secrets: SecretValues
    workplace: "Callable[[Ask], Workplace]"
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    max_steps: int = 90
    attended: bool = True
    patience: float = 60.0


class Session:
    """One conversation. Verbs may be called from any task or thread; everything else belongs on the session's loop."""

    def __init__(self, parts: Parts, *, log: Log | None = None, title: str = "") -> None:
        self.id, self.system, self.tools, self.title = parts.id, parts.system, parts.tools, title
        self.usage = parts.ledger.used_by(parts.id)
        self.last_turn = NO_USAGE
        self.purse = parts.ledger.session(self.usage)
        self.route = parts.route(parts.endpoint, self)
        self.parts, self._log = parts, log or Log()
        self._listeners, self._home = Listeners(), HomeLoop()
        self.questions = Questions(self.emit, parts.ports, attended=parts.attended, seconds=parts.patience)
        self.opened: Workplace | None = None
        self.todos = from_log(self._log.messages)
        self._scope: anyio.CancelScope | None = None
        self._mailbox: deque[str] = deque()

    # ------------------------------------------------------------------ the four verbs

    async def send(self, text: str, *, attachments: tuple[Attachment, ...] = ()) -> events.TurnFinished:
        """Run one turn in the calling task and give its end; every event goes to the listeners as it happens."""
        if self.busy:
            raise HermesError("A turn is running in this session; steer it, interrupt it, or wait for its end.")
        self._home.settle()
        text = mend_surrogates(text)
        started, used = self.parts.ports.monotonic(), self.usage
        self.emit(events.TurnStarted(turn=self.turns + 1))
        outcome, failure = await self._whole_turn(text, attachments)
        refused = tuple(self.opened.gate.take_refused()) if self.opened else ()
        self.last_turn = self.usage - used
        end = events.TurnFinished(
            turn=self.turns,
            outcome="refused" if refused and outcome == "done" and not self.parts.attended else outcome,
            text=self._last_words(),
            usage=self.last_turn,
            seconds=self.parts.ports.monotonic() - started,
            failure=failure,
            refused=refused,
        )
        if not self.title:
            await self._name(text, end)
        self.emit(end)
        return end

    def steer(self, text: str) -> bool:
        """Let a note ride on the next tool result; False when no turn runs."""
        if not self.busy:
            return False
        self._mailbox.append(mend_surrogates(text))
        return True

    def interrupt(self) -> None:
        """Stop the running turn, if there is one: it ends within a second, with every call answered."""
        scope = self._scope
        if scope is not None:
            self._home.call(scope.cancel)

    def answer(self, question_id: str, answer: Answer) -> bool:
        """Answer an open question; False when it is not open (any more)."""
        return bool(self._home.call(self.questions.answer, question_id, answer))

    # ------------------------------------------------------------------ watching

    def watch(self) -> AbstractContextManager[Listener]:
        """A listener that hears every event from now on."""
        return self._listeners.watch()

    @asynccontextmanager
    async def stream(self, text: str) -> AsyncIterator[Listener]:
        """Send, and read the turn's events as they come; leaving early interrupts the turn."""
        with self.watch() as listener:
            async with anyio.create_task_group() as group:

                async def run() -> None:
                    await self.send(text)
                    listener.close()

                group.start_soon(run)
                try:
                    yield listener
                finally:
                    self.interrupt()

    def emit(self, event: events.Event) -> None:
        """Tell every listener."""
        self._listeners.emit(event)

    @property
    def log(self) -> tuple[Message, ...]:
        """The messages so far."""
        return self._log.messages

    @property
    def whole_log(self) -> Log:
        """The log with what is known of it."""
        return self._log

    @property
    def workplace(self) -> "Workplace":
        """Where the tools work; made when it is first needed."""
        if self.opened is None:
            self.opened = self.parts.workplace(self.questions.ask)
            self.opened.gate.advise, self.opened.gate.record = partial(self.ask_aside, "approval"), self.questions.record
            self.opened.mind(self._log_so_far)
        return self.opened

    def _log_so_far(self) -> tuple[Message, ...]:
        return self._log.messages

    @property
    def workspace(self) -> Workspace:
        """The machine that the tools see."""
        return self.workplace.workspace

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint in use."""
        return self.route.place.endpoint

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self._scope is not None

    @property
    def turns(self) -> int:
        """How many turns there are in the log."""
        return self._log.turns

    @property
    def context_tokens(self) -> int:
        """Tokens of the last request and its reply, as the provider counted them; 0 before the first."""
        last = next((message for message in reversed(self.log) if isinstance(message, Assistant) and message.usage.input_tokens), None)
        return last.usage.input_tokens + last.usage.output_tokens if last else 0

    # ------------------------------------------------------------------ the log

    def append(self, message: Message) -> None:
        """The only writer: row, then log, then event."""
        log = self._log.add(message)
        self.parts.store.append(self.id, message)
        self._log = log
        self.emit(events.Added(message=message))

    @property
    def awaits_reply(self) -> bool:
        """Whether the last word is the user's, or a tool's."""
        return self._log.waits_for_reply

    def count(self, event: events.Attempted, *, task: str = CHAT) -> None:
        """A request of this session ended: its usage is counted here and written down."""
        self.usage += event.usage
        self.parts.ledger.count(self.id, event, task=task)

    async def ask_aside(self, task: Task, question: Question) -> str | None:
        """Ask the model of a side task, within this session's budget; None when no model answers."""
        parts = self.parts
        side = SideCalls(
            ladder=parts.ladder,
            errand=lambda one: parts.errand(one, self.endpoint),
            route=lambda chain: parts.along(chain, self),
            count=lambda one, event: self.count(event, task=one),
        )
        return await side.ask(task, question, self.purse)

    def take_unsent(self) -> list[str]:
        """The steering notes that no tool result came for; they are the caller's to send now."""
        notes = list(self._mailbox)
        self._mailbox.clear()
        return notes

    # ------------------------------------------------------------------ changes

    async def switch(self, endpoint: Endpoint) -> None:
        """Use another model from the next request on; the prompt's cache does not carry over."""
        prefix = self.route.prefix
        self.route = self.parts.route(endpoint, self)
        self.route.prefix = prefix
        self.parts.store.update(self.id, model=f"{endpoint.provider}/{endpoint.model}")

    async def undo(self, turns: int = 1) -> str:
        """Drop the last turns; gives the text of the first one dropped, or nothing when there was none."""
        users = [number for number, message in enumerate(self.log) if isinstance(message, User)]
        if not users or turns < 1:
            return ""
        at = users[-min(turns, len(users))]
        self.parts.store.drop_last(self.id, len(self.log) - at)
        dropped = self.log[at]
        self._log = replay(self.log[:at])
        return dropped.text if isinstance(dropped, User) else ""

    async def rename(self, title: str) -> None:
        """Give the session a name."""
        self.title = " ".join(title.split())[:100]
        self.parts.store.update(self.id, title=self.title)
        self.emit(events.Titled(title=self.title))

    async def close(self) -> None:
        """Stop what runs and let the listeners end."""
        self.interrupt()
        if self.opened is not None:
            await self.opened.workspace.close()
        self._listeners.close()

    # ------------------------------------------------------------------ inside

    async def _whole_turn(self, text: str, attachments: tuple[Attachment, ...]) -> tuple[events.Outcome, Failure | None]:
        """Run the turn in its cancel scope; whatever ends it, words of the assistant end the log."""
        self._scope = scope = anyio.CancelScope()
        exchange = Exchange(self)
        try:
            with scope:
                exchange.hear(text, attachments)
                return await run_turn(exchange), None
        except (HermesError, ExceptionGroup) as error:
            failure = _failure(error)
            exchange.close("\n\n".join(filter(None, (exchange.partial, f"(No reply: {failure.message})"))))
            return "budget" if failure.reason == "budget" else "failed", failure
        finally:
            self._scope = None
        exchange.close("\n\n".join(filter(None, (exchange.partial, STOPPED))))
        return "interrupted", None

    async def _name(self, text: str, end: events.TurnFinished) -> None:
        """Name the session by its first words, and better, where somebody looks and a model is at hand, in the background."""
        await self.rename(title_of(text))
        first = self.title
        if not (self.parts.attended and end.outcome == "done") or self.endpoint.local:
            return

        async def better() -> None:
            found = await self.ask_aside("title", naming(text, end.text))
            if found and self.title == first:
                await self.rename(found)

        self.parts.start(better)

    def _last_words(self) -> str:
        last = self.log[-1] if self.log else None
        return last.text if isinstance(last, Assistant) else ""


def _failure(error: HermesError | ExceptionGroup[Exception]) -> Failure:
    """The fault that ended a turn; a fault that is none of ours is raised again."""
    inner: Exception = error
    while isinstance(inner, ExceptionGroup):
        inner = inner.exceptions[0]
    if isinstance(inner, ModelError):
        return inner.failure
    if not isinstance(inner, HermesError):
        raise error
    return Failure(reason="unknown", message=str(inner))
