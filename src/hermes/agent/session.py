"""A session: the log and the four verbs – send, steer, interrupt, answer."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio
from msgspec.structs import replace

from hermes.agent.activity import ActivityRecord
from hermes.agent.change_mode import ChangeMode, change
from hermes.agent.compaction.sizes import counted
from hermes.agent.delegation.children import Children
from hermes.agent.direct_calls import run_directly
from hermes.agent.folder_notes import FolderNotes
from hermes.agent.hook_points import closed
from hermes.agent.ledger import CHAT, TurnLimits
from hermes.agent.listeners import Listener, Listeners
from hermes.agent.log import Log
from hermes.agent.mailbox import Mailbox, process_news
from hermes.agent.output import answered, output_of
from hermes.agent.outside import turns_undone, without_later
from hermes.agent.provenance import begins
from hermes.agent.questions import Questions
from hermes.agent.recovery import answers
from hermes.agent.room import compact
from hermes.agent.services import RuntimeServices
from hermes.agent.side_questions import side_calls
from hermes.agent.spec import SessionSpec
from hermes.agent.stopping import TurnStop
from hermes.agent.todos import from_log
from hermes.agent.turn_runner import TurnRunner, UserInput
from hermes.lib.aio import HomeLoop, raise_cancellation
from hermes.lib.text import mend_surrogates
from hermes.models.side_calls import SideQuestion, Task
from hermes.safety.tool_effects import guarded_effects
from hermes.types import event as events
from hermes.types.action import ToolUse
from hermes.types.actor import Actor
from hermes.types.capabilities import ALL
from hermes.types.error import HermesError, SessionClosed
from hermes.types.message import Attachment, Compaction, ContextBlock, Message, ToolCall, ToolResult, User
from hermes.types.question import Answer
from hermes.types.request import Endpoint
from hermes.types.usage import NO_USAGE, Usage
from hermes.types.workspace import Workspace

if TYPE_CHECKING:
    from hermes.agent.calls import CallBatch
    from hermes.agent.tool_environment import ToolEnvironment
    from hermes.types.goal import Goal

BUSY = "A turn is running in this session; steer it, interrupt it, or wait for its end."
UNCUT = "The last turn of this session was not cut off; there is nothing to go on with."
UNDOING = "Turns of this session are being undone; try again when that is done."
CLOSED = "Session {} is closed; open it again (resume) to go on with it."
CLOSING = 5.0
"""Seconds that the last words of a turn may take when its session is closed."""
T = TypeVar("T")


class Session:
    """One conversation.

    The verbs may be called from any task or thread; everything else belongs on the session's loop. After any
    error a session can be used again: the next turn first answers what the last one left open.
    """

    def __init__(
        self,
        spec: SessionSpec,
        services: RuntimeServices,
        *,
        log: Log | None = None,
        title: str = "",
        used: Usage = NO_USAGE,
    ) -> None:
        self.spec, self.services = spec, services
        self.id, self.system, self.tools, self.title = spec.id, spec.system, spec.tools, title
        self.usage, self.last_turn = used, NO_USAGE
        self.budget = services.ledger.session(used, spec.capabilities.tokens, spec.max_cost)
        self.limits, self.above = TurnLimits(budget=self.budget), cast("Session | None", None)
        self.chosen = spec.endpoint
        """The endpoint that was asked for; `endpoint` is the one in use, which may be a fallback."""
        self.route = services.routes.route_for(self, self.chosen)
        self._log = log or Log()
        self.listeners = Listeners(services.ports.now, session=spec.id, parent=spec.parent)
        self.emit = self.listeners.emit
        """Tells every listener of an event; a field, so that each piece of a reply has one hop less."""
        self.activity = ActivityRecord(services.ports.monotonic, spec.id)
        self.listeners.attach(self.activity)
        self.home = HomeLoop()
        self.questions = Questions.of(spec, services, self.emit)
        self.opened: ToolEnvironment | None = None
        self.batch: CallBatch | None = None
        self.todos, self.goal = from_log(self._log.messages), cast("Goal | None", None)
        self.folder_notes = FolderNotes(self, services.notes if spec.notes else None)
        self._stop: TurnStop | None = None
        self._idle = anyio.Event()
        self._idle.set()
        self._undoing = self._summing = self.closed = False
        self.mode = ChangeMode()
        self.mailbox, self.children = Mailbox(partial(process_news, self)), Children(self)

    # ------------------------------------------------------------------ the four verbs

    async def send(
        self,
        text: str,
        *,
        attachments: Sequence[Attachment] = (),
        by: Actor | None = None,
        output_schema: Mapping[str, Any] | None = None,
    ) -> events.TurnFinished:
        """Run one turn in the calling task and give its end; every event goes to the listeners as it happens.

        HermesError while another turn runs. However it ends, words of the assistant end the log. With
        `output_schema` the model is asked for JSON that fits it, and the server holds it to that where it
        can; `ask` also checks it.
        """
        return await self._run(UserInput(text, tuple(attachments), by or self.spec.actor, output_schema))

    async def ask(
        self,
        text: str,
        output_type: type[T],
        *,
        attachments: Sequence[Attachment] = (),
        by: Actor | None = None,
    ) -> T:
        """The answer as a value of this type: a dataclass, TypedDict, msgspec.Struct, pydantic model, or what
        JSON has.

        An answer that does not fit is asked for again, twice. OutputInvalid when none fits or the turn does
        not come to an answer; TypeError for a type that JSON cannot carry.
        """
        form = output_of(output_type)
        send = partial(self.send, by=by, output_schema=form.schema)
        return await answered(form, text, send, attachments)

    async def run_calls(self, *calls: ToolCall) -> tuple[ToolResult, ...]:
        """Run calls of an app as those of one reply are run, and give their results, which stand in no log;
        what they read from outside counts all the same. An interrupt ends them with words.

        HermesError while a turn runs.
        """
        stop = self._begin()
        try:
            return await run_directly(self, calls, stop)
        finally:
            self.end_turn(None)

    async def continue_turn(self) -> events.TurnFinished:
        """Go on with the turn that was cut, from its next undone step, and give its end as `send` does.

        HermesError where the last turn was not cut, and while another runs.
        """
        self._refuse_uncut()
        return await self._run(None)

    def steer(self, text: str, *, by: Actor | None = None, note_id: str = "") -> bool:
        """Let a note ride on the next tool result, under `note_id`; False when no turn runs.

        A note that no result came for is handed back in `TurnFinished.unsent`.
        """
        note = ContextBlock(
            kind="note",
            text=mend_surrogates(text),
            source=(by or self.spec.actor).origin,
            id=note_id or self.services.ports.token(),
        )
        return self._on_loop(self._take_note, note)

    def interrupt(self, reason: str = "") -> None:
        """Stop the running turn, if there is one: it ends within a second, with every call answered, and
        its last words tell the reason.
        """
        if (stop := self._stop) is not None:
            with contextlib.suppress(SessionClosed):  # then nothing runs
                self._on_loop(stop.now, reason)

    def refuse(self, reason: str) -> None:
        """Stop the turn that takes in what was said, and do not keep that: the conversation goes on as if it
        had not been said. Where it is kept already, the turn is only stopped.
        """
        if (stop := self._stop) is not None:
            with contextlib.suppress(SessionClosed):  # then nothing runs
                self._on_loop(stop.refuse, reason)

    def answer(self, question_id: str, answer: Answer, *, by: Actor | None = None) -> bool:
        """Answer an open question: an approval with a Grant or a Deny, one of the model with a Reply or a
        Deny, TypeError for another kind. False when it is not open (any more), or not addressed to who
        answers.
        """
        return self._on_loop(self.questions.answer, question_id, answer, by or self.spec.actor)

    # ------------------------------------------------------------------ watching

    def watch(self, since: int | None = None) -> AbstractContextManager[Listener]:
        """A listener that hears every event from now on, or first what came after number `since`."""
        return self.listeners.watch(since)

    def stream(
        self,
        text: str,
        *,
        attachments: Sequence[Attachment] = (),
        by: Actor | None = None,
        output_schema: Mapping[str, Any] | None = None,
    ) -> AbstractAsyncContextManager[Listener]:
        """Send, and read the turn's events as they come; leaving early interrupts the turn.

        HermesError while another turn runs.
        """
        return self._streamed(UserInput(text, tuple(attachments), by or self.spec.actor, output_schema))

    def stream_continued(self) -> AbstractAsyncContextManager[Listener]:
        """Go on with the turn that was cut, and read its events as those of `stream`."""
        self._refuse_uncut()
        return self._streamed(None)

    @property
    def instructions(self) -> str:
        """The system prompt of a request: the frozen one, and what follows it while it is not stored."""
        return "\n\n".join(filter(None, (self.system, self.spec.ephemeral)))

    @property
    def log(self) -> tuple[Message, ...]:
        """The messages so far."""
        return self._log.messages

    @property
    def whole_log(self) -> Log:
        """The log with what is known of it."""
        return self._log

    @property
    def environment(self) -> "ToolEnvironment":
        """Where the tools work; made when it is first needed."""
        if self.opened is None:
            self.opened = self.services.environments.open(self)
        return self.opened

    @property
    def workspace(self) -> Workspace:
        """The machine that the tools see."""
        return self.environment.workspace

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint in use."""
        return self.route.target.endpoint

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self._stop is not None

    @property
    def is_planning(self) -> bool:
        """Whether nothing may change now, in this session or one that it works for: its mode is plan
        mode.
        """
        return self.mode.planning or (self.above is not None and self.above.is_planning)

    @property
    def asks_edits(self) -> bool:
        """Whether edits of the workspace ask: as the mode says of this session or of the one that it works
        for, else as the settings have it.
        """
        if self.above is not None:
            return self.above.asks_edits
        asks = self.mode.asks_edits
        return self.environment.gate.policy.edits == "ask" if asks is None else asks

    async def accept_edits(self) -> None:
        """Have edits of the workspace ask no longer, here and in the session that this one works for."""
        if self.above is not None:
            await self.above.accept_edits()
        await self.change_mode(replace(self.mode, asks_edits=False))
        for one in (self, *(run.session for _, run in self.children.tree())):
            if one is not None and one.opened is not None:
                one.opened.gate.settle_covered()

    @property
    def turns(self) -> int:
        """How many turns there are in the log."""
        return self._log.turns

    @property
    def turn_id(self) -> str:
        """The name of the last turn, for hooks."""
        return f"{self.id}:{self.turns}"

    @property
    def context_tokens(self) -> int:
        """Tokens of the last request and its reply, as the provider counted them, or what a compaction has
        left; 0 before the first.
        """
        return counted(self.log)[0]

    # ------------------------------------------------------------------ the log

    async def append(self, message: Message) -> None:
        """Write a message: row, then log, then event."""
        log = self._log.add(message)
        await self.services.store.append(self.id, message)
        self._log = log
        self.emit(events.Added(message=message))

    async def settle(self, *results: ToolResult) -> None:
        """Write the answers to the open calls in one step, which closes their journal."""
        log = self._log
        for result in results:
            log = log.add(result)
        await self.services.store.settle(self.id, *results)
        self._log = log
        for result in results:
            self.emit(events.Added(message=result))

    async def settle_cut(
        self, results: Sequence[ToolResult], recall: Callable[["Session"], Awaitable[None]]
    ) -> None:
        """Write the answers to calls that a crash has cut; what `recall` finds of the children that they
        waited for rides on the last, so that a turn which goes on knows of it.
        """
        log = self._log
        for result in results:
            self._log = self._log.add(result)
        await recall(self)
        self._log = log
        if results and (news := self.mailbox.take_news()):
            *others, last = results
            results = (*others, replace(last, blocks=(*last.blocks, *news)))
        await self.settle(*results)

    async def answer_open_calls(self) -> None:
        """Give what a fault left open its answer: the results that are known, or that they are not."""
        if not self._log.open:
            return
        known = {one.call_id: one for one in self.batch.ordered()} if self.batch else {}
        begun: dict[str, ToolResult | None] = {
            call.id: known[call.id] for call in self._log.open if call.id in known
        }
        await self.settle(*answers(self._log.open, begun, self.services.ports))

    def end_turn(self, end: events.TurnFinished | None) -> None:
        """From now on the session is free; `end` is how the turn ended, if that can be said."""
        if end is not None:
            self.last_turn = end.usage
        self._stop = None
        self.activity.rest()
        self._idle.set()

    @property
    def awaits_reply(self) -> bool:
        """Whether the last word is the user's, or a tool's."""
        return self._log.waits_for_reply

    @property
    def is_cut(self) -> bool:
        """Whether the last turn ended without a word, by a crash or a fault, so that it can go on."""
        return self._log.awaits and not self.busy

    def count(self, event: events.Attempted, *, task: str = CHAT) -> None:
        """A request of this session ended: its usage is counted here and written down."""
        self.usage += event.usage
        self.services.ledger.count(self.id, event, task=task)

    async def ask_aside(self, task: Task, question: SideQuestion) -> str | None:
        """Ask the model of a side task, within this session's budget; None when no model answers."""
        return await side_calls(self).ask(task, question, self.budget)

    async def authorize(self, use: ToolUse) -> None:
        """Decide on a tool's call; Refused when the answer is no."""
        guarded = bool(use.manifest.asks) or any(guarded_effects(use))
        if guarded or self.spec.capabilities != ALL or self.is_planning:
            await self.environment.gate.authorize(use)
        if not use.manifest.workspace:
            begins()

    def pin(self, fact: str) -> None:
        """Have a fact stay word for word in what the model sees, however long the session gets."""
        self.mailbox.pin(mend_surrogates(" ".join(fact.split())))

    @property
    def pins(self) -> tuple[str, ...]:
        """The facts that stay."""
        return self.mailbox.pins(self.log)

    # ------------------------------------------------------------------ changes

    async def change_mode(self, mode: ChangeMode) -> None:
        """Let the session change nothing, or have edits ask or not, from now on and when it is opened again;
        StoreError when that cannot be kept.
        """
        await change(self, mode)

    async def switch_model(self, endpoint: Endpoint) -> None:
        """Use another model from the next request on; the prompt's cache does not carry over."""
        self._refuse_closed()
        prefix, self.chosen = self.route.prefix, endpoint
        self.route = self.services.routes.route_for(self, endpoint)
        self.route.prefix = prefix
        await self.services.store.update(self.id, model=endpoint.full_name, base_url=endpoint.own_address)
        await raise_cancellation()

    async def compact(self, focus: str = "") -> Compaction | None:
        """Sum up the older part of the conversation now; most of the record is about `focus`, if it is given.

        None where there is nothing to sum up; HermesError while a turn runs, and when it was interrupted.
        """
        with self._begin().scope:
            self._summing = True
            try:
                return await compact(self, focus)
            finally:
                self._summing = False
                self.end_turn(None)
        raise HermesError("This was stopped; nothing was summed up.")

    async def undo(self, turns: int = 1) -> str:
        """Drop the last turns; gives the text of the first one dropped, or nothing when there was none.

        What they had read from outside counts on where files may be left. HermesError while a turn runs.
        """
        self._refuse_closed()
        if self.busy:
            raise HermesError("A turn is running in this session; stop it before undoing turns.")
        if self._undoing:
            raise HermesError(UNDOING)
        if not self.turns or turns < 1:
            return ""
        self._undoing = True
        try:
            log = await without_later(self, max(0, self.turns - turns))
            at = len(log.messages)
            await self.services.store.drop_last(self.id, len(self.log) - at)
            dropped, undone, self._log = self.log[at], self.log[at:], log
            self.mailbox.keep(undone)
            await turns_undone(self)
        finally:
            self._undoing = False
        await raise_cancellation()
        return dropped.text if isinstance(dropped, User) else ""

    async def rename(self, title: str) -> None:
        """Give the session a name; the last turn may while it is being closed."""
        if not self.busy:
            self._refuse_closed()
        self.title = " ".join(mend_surrogates(title).split())[:100]
        await self.services.store.update(self.id, title=self.title)
        self.emit(events.Titled(title=self.title))
        await raise_cancellation()

    async def close(self) -> None:
        """Stop what runs, free the session for others and let the listeners end, whatever of that fails."""
        if self.closed:
            return
        self.closed = True
        self.interrupt()
        try:
            with anyio.move_on_after(CLOSING, shield=True):
                await self._idle.wait()  # its last words are written before the session is anybody else's
                await self.services.recall.ended(self)
                await closed(self)
                await self.services.trajectories.closed(self)
            await self.children.close()
            if self.opened is not None:
                await self.opened.workspace.close()
        finally:
            self.listeners.close()
            await self.services.store.release(self.id)
        await raise_cancellation()

    # ------------------------------------------------------------------ inside

    async def _run(self, said: UserInput | None) -> events.TurnFinished:
        return await TurnRunner(self, said, self._begin()).run()

    @asynccontextmanager
    async def _streamed(self, said: UserInput | None) -> AsyncIterator[Listener]:
        async with TurnRunner(self, said, self._begin()).streamed() as listener:
            yield listener

    def _refuse_uncut(self) -> None:
        if not self.is_cut:
            raise HermesError(BUSY if self.busy else UNCUT)

    def _take_note(self, note: ContextBlock) -> bool:
        if taken := self.busy and not self._summing:
            self.mailbox.add_note(note)
        return taken

    def _begin(self) -> TurnStop:
        """Take the session for a turn, which this stops; HermesError while it is taken."""
        self._refuse_closed()
        if self.busy:
            raise HermesError(BUSY)
        if self._undoing:
            raise HermesError(UNDOING)
        self.home.enter()
        self.listeners.turn = self.turns + 1
        self._stop, self._idle = TurnStop(), anyio.Event()
        return self._stop

    def _refuse_closed(self) -> None:
        if self.closed:
            raise SessionClosed(CLOSED.format(self.id))

    def _on_loop(self, function: Callable[..., T], *args: object) -> T:
        """Run a verb on the session's loop, from wherever this is; SessionClosed when that has ended."""
        if not self.busy:
            self._refuse_closed()
        try:
            return self.home.call(function, *args)
        except anyio.RunFinishedError as error:
            raise SessionClosed(CLOSED.format(self.id)) from error
