"""A session: the log and the four verbs – send, steer, interrupt, answer."""

import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import anyio

from hermes.agent import view
from hermes.agent.budget import Budget, Step
from hermes.agent.calls import Batch, Journal, Surroundings
from hermes.agent.events import Listener, Listeners
from hermes.agent.log import Log
from hermes.agent.loops import HomeLoop
from hermes.agent.questions import Questions
from hermes.agent.title import title_of
from hermes.agent.todos import from_log
from hermes.agent.turn import run_turn
from hermes.lib.text import mend_surrogates
from hermes.models.attempt import Ladder
from hermes.models.transports.base import Transport
from hermes.tools.dispatch import Dispatcher
from hermes.types import event as events
from hermes.types.error import Failure, HermesError, ModelError, StoreError
from hermes.types.message import Assistant, Attachment, Message, ToolCall, ToolResult, User
from hermes.types.ports import Ports
from hermes.types.question import Answer
from hermes.types.request import Delta, Endpoint, Options, Text, ThinkingText
from hermes.types.tool import Snapshot
from hermes.types.usage import Usage
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
    transport: Callable[[Endpoint], Transport]
    ready: Callable[[Endpoint, "Session"], Awaitable[Endpoint]]
    ladder: Ladder
    dispatcher: Dispatcher
    store: Store
    ports: Ports
    redact: Callable[[str], str]
    workplace: "Callable[[Ask], Workplace]"
    max_steps: int = 90
    attended: bool = True


class Session:
    """One conversation. Verbs may be called from any task or thread; everything else belongs on the session's loop."""

    def __init__(self, parts: Parts, *, log: Log | None = None, title: str = "") -> None:
        self.id, self.system, self.tools, self.title = parts.id, parts.system, parts.tools, title
        self.endpoint = parts.endpoint
        self.budget = Budget(parts.max_steps)
        self.usage = Usage()
        self._parts, self._log = parts, log or Log()
        self._turns = sum(isinstance(message, User) for message in self._log.messages)
        self._listeners, self._home = Listeners(), HomeLoop()
        self._questions = Questions(self.emit, parts.ports, attended=parts.attended)
        self._workplace: Workplace | None = None
        self.todos = from_log(self._log.messages)
        self._transport: Transport | None = None
        self._scope: anyio.CancelScope | None = None
        self._mailbox: deque[str] = deque()
        self._partial: list[str] = []

    # ------------------------------------------------------------------ the four verbs

    async def send(self, text: str, *, attachments: tuple[Attachment, ...] = ()) -> events.TurnFinished:
        """Run one turn in the calling task and give its end; every event goes to the listeners as it happens."""
        if self.busy:
            raise HermesError("A turn is running in this session; steer it, interrupt it, or wait for its end.")
        self._home.settle()
        text = mend_surrogates(text)
        started, used = self._parts.ports.monotonic(), self.usage
        self.emit(events.TurnStarted(turn=self._turns + 1))
        outcome, failure = await self._whole_turn(text, attachments)
        refused = tuple(self._workplace.gate.take_refused()) if self._workplace else ()
        end = events.TurnFinished(
            turn=self._turns,
            outcome="refused" if refused and outcome == "done" and not self._parts.attended else outcome,
            text=self._last_words(),
            usage=self.usage - used,
            seconds=self._parts.ports.monotonic() - started,
            failure=failure,
            refused=refused,
        )
        if not self.title:
            await self.rename(title_of(text))
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
        return bool(self._home.call(self._questions.answer, question_id, answer))

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
    def workplace(self) -> "Workplace":
        """Where the tools work; made when it is first needed."""
        if self._workplace is None:
            self._workplace = self._parts.workplace(self._questions.ask)
        return self._workplace

    @property
    def workspace(self) -> Workspace:
        """The machine that the tools see."""
        return self.workplace.workspace

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self._scope is not None

    @property
    def turns(self) -> int:
        """How many turns were begun."""
        return self._turns

    @property
    def context_tokens(self) -> int:
        """Tokens of the last request and its reply, as the provider counted them; 0 before the first."""
        last = next((message for message in reversed(self.log) if isinstance(message, Assistant) and message.usage.input_tokens), None)
        return last.usage.input_tokens + last.usage.output_tokens if last else 0

    # ------------------------------------------------------------------ what the turn is made of

    def append(self, message: Message) -> None:
        """The only writer: row, then log, then event."""
        log = self._log.add(message)
        self._parts.store.append(self.id, message)
        self._log = log
        self.emit(events.Added(message=message))

    def hear(self, text: str, attachments: tuple[Attachment, ...] = ()) -> None:
        """Take in what the user said; a turn that never got its reply is closed first."""
        self._turns += 1
        if self._log.waits_for_reply:
            self.say("(This turn was cut off before a reply.)")
        ports = self._parts.ports
        news = "\n".join(self._finished())
        self.append(User(id=ports.token(), at=ports.now(), text=text, attachments=attachments, recalled=news))

    def say(self, text: str) -> None:
        """Append words of the assistant that no model wrote."""
        ports = self._parts.ports
        self.append(Assistant(id=ports.token(), at=ports.now(), text=text, model=self.endpoint.model))

    async def reply(self, step: Step) -> Assistant:
        """One reply of the model, not yet appended."""
        if not self.endpoint.base_url:
            self.endpoint = await self._parts.ready(self.endpoint, self)
        if self._transport is None:
            self._transport = self._parts.transport(self.endpoint)
        if step.grace and self.tools.definitions:
            self.emit(events.PrefixBroken(reason="the last step of a turn offers no tools"))
        self.emit(events.StepStarted(step=step.number, model=self.endpoint.model))
        self._partial.clear()
        parts = self._parts
        request = view.request(
            self.log,
            endpoint=self.endpoint,
            system=self.system,
            tools=() if step.grace else self.tools.definitions,
            options=parts.options,
        )
        reply = await parts.ladder.stream(request, self._transport, self._delta, self._retrying)
        self.usage += reply.usage
        shown = self.partial_text()
        if reply.text != shown and reply.text.startswith(shown):
            self._delta(Text(text=reply.text[len(shown) :]))  # text that was held back because it might have been a call
        return replace(reply, id=parts.ports.token(), at=parts.ports.now())

    async def run_calls(self, calls: tuple[ToolCall, ...]) -> None:
        """Run a reply's calls and append an answer to every one, whatever happens; the steering note rides on the last."""
        batch = Batch(calls, self._surroundings())
        try:
            await batch.run()
        finally:
            results = list(batch.ordered())
            for number, result in enumerate(results):
                self.append(self._noted(result) if number == len(results) - 1 else result)
            self._parts.store.settle(self.id)

    def summary(self) -> str:
        """Words for a turn whose steps are used up and whose model said nothing."""
        done = [message.name for message in self.log if isinstance(message, ToolResult)]
        last = f"Calls made: {len(done)}, the last one {done[-1]}." if done else "No call was made."
        return f"(The step limit of {self.budget.max_steps} was reached before an answer. {last})"

    def partial_text(self) -> str:
        """What of the running reply has been shown."""
        return "".join(self._partial)

    def take_unsent(self) -> list[str]:
        """The steering notes that no tool result came for; they are the caller's to send now."""
        notes = list(self._mailbox)
        self._mailbox.clear()
        return notes

    # ------------------------------------------------------------------ changes

    async def switch(self, endpoint: Endpoint) -> None:
        """Use another model from the next request on; the prompt's cache does not carry over."""
        self.endpoint, self._transport = endpoint, None
        self._parts.store.update(self.id, model=f"{endpoint.provider}/{endpoint.model}")
        self.emit(events.PrefixBroken(reason=f"the model is {endpoint.model} now"))

    async def undo(self, turns: int = 1) -> str:
        """Drop the last turns; gives the text of the first one dropped, or nothing when there was none."""
        users = [number for number, message in enumerate(self.log) if isinstance(message, User)]
        if not users or turns < 1:
            return ""
        at = users[-min(turns, len(users))]
        self._parts.store.drop_last(self.id, len(self.log) - at)
        dropped = self.log[at]
        self._log = Log(self.log[:at])
        self.emit(events.PrefixBroken(reason="the last turn was dropped"))
        return dropped.text if isinstance(dropped, User) else ""

    async def rename(self, title: str) -> None:
        """Give the session a name."""
        self.title = " ".join(title.split())[:100]
        self._parts.store.update(self.id, title=self.title)
        self.emit(events.Titled(title=self.title))

    async def close(self) -> None:
        """Stop what runs and let the listeners end."""
        self.interrupt()
        if self._workplace is not None:
            await self._workplace.workspace.close()
        self._listeners.close()

    # ------------------------------------------------------------------ inside

    async def _whole_turn(self, text: str, attachments: tuple[Attachment, ...]) -> tuple[events.Outcome, Failure | None]:
        """Run the turn in its cancel scope; whatever ends it, words of the assistant end the log."""
        self._scope = scope = anyio.CancelScope()
        try:
            with scope:
                self.hear(text, attachments)
                return await run_turn(self), None
        except (HermesError, ExceptionGroup) as error:
            failure = _failure(error)
            self._close_turn(f"(No reply: {failure.message})")
            return "failed", failure
        finally:
            self._scope = None
        self._close_turn("\n\n".join(filter(None, (self.partial_text(), STOPPED))))
        return "interrupted", None

    def _close_turn(self, words: str) -> None:
        """The last words of a turn that ended before its reply; where even they cannot be stored, the failure speaks."""
        with contextlib.suppress(StoreError):
            if self._log.waits_for_reply:
                self.say(words)

    def _last_words(self) -> str:
        last = self.log[-1] if self.log else None
        return last.text if isinstance(last, Assistant) else ""

    def _surroundings(self) -> Surroundings:
        parts = self._parts
        user = next((message.text for message in reversed(self.log) if isinstance(message, User)), "")
        return Surroundings(
            session_id=self.id,
            tools=self.tools,
            dispatcher=parts.dispatcher,
            journal=parts.store,
            ports=parts.ports,
            workspace=lambda: self.workspace,
            todos=self.todos,
            user_task=user,
            ask=self._questions.ask,
            emit=self.emit,
            redact=parts.redact,
        )

    def _noted(self, result: ToolResult) -> ToolResult:
        notes = [*(f"the user said: {note}" for note in self.take_unsent()), *self._finished()]
        return replace(result, note="\n".join(notes)) if notes else result

    def _finished(self) -> list[str]:
        """What is to be told of background processes that ended since the last time."""
        if self._workplace is None:
            return []
        ended = self._workplace.workspace.processes.drain_finished()
        return [f"(Background process {one.id} ended with exit code {one.code}: {one.command})" for one in ended]

    def _delta(self, delta: Delta) -> None:
        if isinstance(delta, Text):
            self._partial.append(delta.text)
            self.emit(events.TextDelta(text=delta.text))
        elif isinstance(delta, ThinkingText):
            self.emit(events.ThinkingDelta(text=delta.text))

    def _retrying(self, event: events.Retrying) -> None:
        self._partial.clear()
        self.emit(event)


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
