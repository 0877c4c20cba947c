"""One turn under way: what `run_turn` needs of a session, and the reply that is being shown."""

import contextlib
import math
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.calls import CallBatch
from hermes.agent.guardrails import HALTED, HALTED_WORDS, LoopGuard
from hermes.agent.hook_points import added_context, ended, has_more, transformed
from hermes.agent.ledger import TurnLimits
from hermes.agent.listeners import Listener
from hermes.agent.log import said_in
from hermes.agent.output import answer_blocks
from hermes.agent.outside import protect
from hermes.agent.recovery import unrun
from hermes.agent.reply_stream import ReplyStream, without_secrets
from hermes.agent.request_hooks import request_hooks
from hermes.agent.room import make_room, make_way
from hermes.agent.skills import skill_blocks
from hermes.agent.speakers import origins
from hermes.agent.step_limit import LIMIT_WORDS, OVER_LIMIT, Step, StepLimit, only_scripts
from hermes.agent.stopping import TurnStop
from hermes.agent.title import name
from hermes.agent.turn import run_turn
from hermes.agent.turn_failure import failure_of
from hermes.agent.turn_watch import TurnWatch
from hermes.lib.aio import beside, raise_cancellation
from hermes.lib.text import mend_surrogates
from hermes.models.reliability.continuation import joined, to_be_continued
from hermes.models.reliability.listener import ReplyListener
from hermes.tools.deferred import called
from hermes.types.actor import Actor
from hermes.types.error import ContextOverflow, Failure, ModelError, StoreError
from hermes.types.event import Attempted, Notice, Outcome, StepStarted, TurnFinished, TurnStarted
from hermes.types.message import Assistant, Attachment, ContextBlock, Message, ToolCall, ToolResult, User
from hermes.types.request import Request

if TYPE_CHECKING:
    from hermes.agent.session import Session

ROOM_ATTEMPTS = 3
"""How often room is made for one reply when an endpoint refuses a request as too long."""


class UserInput(Struct, frozen=True):
    """What somebody says to begin a turn; `output_schema` is what the JSON of its answer is to fit."""

    text: str
    attachments: tuple[Attachment, ...]
    actor: Actor
    output_schema: Mapping[str, Any] | None = None


class TurnRunner:
    """A turn of one session, which `said` begins and `stop` stops; without `said` the one that was cut."""

    def __init__(self, session: "Session", said: UserInput | None, stop: TurnStop) -> None:
        self._session, self._services, self._said, self._stop = session, session.services, said, stop
        cut = () if said else session.whole_log.turn
        self._text = mend_surrogates(said.text) if said else said_in(cut)
        self._number = session.turns + (0 if cut else 1)
        self.steps = StepLimit(
            session.spec.max_steps, taken=sum(isinstance(message, Assistant) for message in cut)
        )
        for message in cut:
            if isinstance(message, Assistant) and only_scripts(message.calls):
                self.steps.refund()
        self._guard = LoopGuard(session.services.guardrails)
        self._budget = session.services.ledger.turn(session.budget)
        seconds = session.services.ledger.budget.turn_seconds or math.inf
        self._stream = ReplyStream(self._services.redactor, session.emit)
        self._listener = ReplyListener(
            emit=self._stream.feed,
            tell=self._attempted,
            broken=session.emit,
            watch=request_hooks(session, self._text),
        )
        self._started, self._used = session.services.ports.monotonic(), session.usage
        session.limits = TurnLimits(budget=self._budget, ends=self._started + seconds)
        self.outcome: Outcome = "interrupted"  # until it is known to be something else
        self._failure: Failure | None = None
        self._end: TurnFinished | None = None
        self._ran: list[str] = []
        self._verified = 0
        self._spoken: frozenset[str] = frozenset()
        self._before = session.log[-1].id if session.log else ""
        self._options = replace(session.spec.options, output_schema=said.output_schema if said else None)

    async def run(self) -> TurnFinished:
        """Take the turn to its end, and give that."""
        await self._run()
        await raise_cancellation()
        return self.end

    @asynccontextmanager
    async def streamed(self) -> AsyncIterator[Listener]:
        """Take the turn while its events are read; leaving early stops it."""
        with self._session.watch() as listener:
            async with beside(partial(self._run, listener)):
                try:
                    yield listener
                finally:
                    self._stop.now()

    async def _run(self, listener: Listener | None = None) -> None:
        """From what somebody said, or where the turn was cut, to its end, which callbacks are told of."""
        try:
            async with self._turn():
                await self._session.answer_open_calls()
                if self._said is not None:
                    await self._hear(self._said)
                if (opened := self._session.opened) is not None:
                    await opened.begin_turn()
                self.outcome = await run_turn(self)
            if listener is not None:
                listener.close()
        finally:
            await self._tell_hooks()

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """What stands around the turn: however it ends, words end the log, and `end` is told."""
        session = self._session
        try:
            session.route.start()
            session.listeners.turn = self._number
            session.emit(TurnStarted(turn=self._number))
            watch = TurnWatch(session, self._stop.scope, session.spec.long_seconds)
            try:
                watch.start()
                with self._stop.scope:
                    yield
                watch.raise_if_over()
            except Exception as error:
                self._failure, known = failure_of(error)
                self.outcome = "budget" if self._failure.reason == "budget" else "failed"
                if not known:
                    await self._finish()
                    raise
            except BaseException:  # cancelled from outside: it ends as an interrupted turn does
                await self._finish()
                raise
            await self._finish()
        finally:
            watch.close()
            session.end_turn(None)

    @property
    def end(self) -> TurnFinished:
        """How the turn ended."""
        if self._end is None:
            raise RuntimeError("the turn has not ended")
        return self._end

    async def _tell_hooks(self) -> None:
        """Save what the turn has left of the files, then tell callbacks that it has ended; the session is
        free meanwhile.
        """
        if (opened := self._session.opened) is not None:
            await opened.end_turn()
        if self._end is not None:
            if not self._stop.refused:
                await self._services.recall.heard(self._session, self._text, self._end.text, self._spoken)
            await ended(self._session, self._text, self._end)

    @property
    def partial(self) -> str:
        """What of the running reply has been shown, or was about to be."""
        return self._stream.partial

    async def append(self, message: Message) -> None:
        """Store a message, then let it be seen."""
        await self._session.append(message)

    async def _hear(self, said: UserInput) -> None:
        """Take in what somebody said; a turn that never got its reply is closed first."""
        if self._session.awaits_reply:
            await self.say("(This turn was cut off before a reply.)")
        blocks = [*skill_blocks(self._session, self._text)]
        try:
            blocks += await self._services.recall.recalled(self._session, self._text, said.actor)
            blocks += await added_context(self._session, self._text, said.actor)
        finally:  # what was said is kept, also when it was stopped meanwhile
            if not self._stop.refused:
                await self._keep(said, blocks)
        await anyio.lowlevel.checkpoint_if_cancelled()

    async def _keep(self, said: UserInput, blocks: Sequence[ContextBlock]) -> None:
        """Append what somebody said, with what goes before it; nothing cuts this short."""
        ports, news = self._services.ports, self._session.mailbox.take_news()
        user = User(
            id=ports.token(),
            at=ports.now(),
            text=self._text,
            attachments=said.attachments,
            blocks=(*blocks, *news, *answer_blocks(self._session, said.output_schema)),
            origin=said.actor.origin,
        )
        with anyio.CancelScope(shield=True), self._kept(news):
            await self.append(user)

    async def say(self, text: str) -> None:
        """Append words of the assistant that no model wrote."""
        ports, model = self._services.ports, self._session.endpoint.model
        await self.append(Assistant(id=ports.token(), at=ports.now(), text=text, model=model))

    def warn(self, text: str) -> None:
        """Tell the user what the answer itself does not."""
        self._session.emit(Notice(level="warning", text=text))

    async def reply(self, step: Step) -> Assistant:
        """One reply of the model, not yet appended; calls of a summary are left out.

        Text that was cut by its length is continued; room is made before a request that would be too long,
        and a few times for one that was.
        """
        session, services = self._session, self._services
        await make_room(session)
        session.emit(StepStarted(step=step.number, model=session.endpoint.model))
        reply: Assistant | None = None
        begun: tuple[Assistant, ...] = ()
        attempts, left = ROOM_ATTEMPTS, session.spec.continuations
        while True:
            try:
                found = await services.executor.stream(
                    self._request(begun),
                    session.route,
                    self._listener,
                    self._budget,
                    seconds=services.ledger.seconds_left(session.limits),
                    shortens=True,
                )
            except ModelError as error:
                if isinstance(error, ContextOverflow) and await make_way(session, error, attempts):
                    attempts -= 1
                    continue
                if reply is None:
                    raise
                reply = self._not_continued(reply, error)
                break
            reply = without_secrets(joined(reply, found) if reply else found, services.secrets)
            if reply.stop != "length" or reply.calls or not left:
                break
            left -= 1
            self._stream.go_on(reply.text)
            begun = (to_be_continued(reply),)
        if step.kind == "summary" and reply.calls:
            text = reply.text.strip() or self.summary()
            reply = replace(reply, calls=(), text=text, stop="end", cuts=())
        reply = await transformed(session, reply)
        self._stream.finish(reply.text)
        return replace(reply, id=services.ports.token(), at=services.ports.now())

    async def goes_on(self, reply: Assistant) -> bool:
        """Whether hooks have the turn go on after this reply, which was to be its last."""
        self._verified += 1
        return await has_more(self._session, reply, self._verified)

    def _request(self, begun: tuple[Assistant, ...]) -> Request:
        """The log as the model sees it, and what of its reply has begun."""
        session = self._session
        return Request(
            endpoint=session.endpoint,
            system=session.instructions,
            messages=(*self._services.context.messages(session.whole_log), *begun),
            tools=session.tools.definitions,
            options=self._options,
        )

    def _not_continued(self, reply: Assistant, error: ModelError) -> Assistant:
        """A cut reply as far as it was shown, and a word on why it is cut."""
        self.warn(f"The answer could not be continued: {error}")
        shown = self.partial
        return reply if shown == reply.text else replace(to_be_continued(reply), text=shown)

    async def run_calls(self, calls: tuple[ToolCall, ...], step: Step) -> None:
        """Run a reply's calls and append an answer to every one, whatever happens.

        Those of a closing step are answered only.
        """
        session = self._session
        calls = tuple(called(call, session.tools) for call in calls)
        if step.closing:
            await self._settle([unrun(call, OVER_LIMIT, self._services.ports) for call in calls], step)
            return
        self._ran += [call.name for call in calls]
        user = said_in(session.whole_log.turn)
        blocked = self._blocked(calls)
        batch = session.batch = CallBatch(calls, session, user, blocked)
        if only_scripts(calls):
            self.steps.refund()
        await protect(session)
        try:
            await batch.run()
        finally:
            with anyio.CancelScope(shield=True):
                results = [
                    result if call.id in blocked else self._guarded(call, result, batch)
                    for call, result in zip(calls, batch.ordered(), strict=True)
                ]
                await self._settle(results, step, await session.folder_notes.arrived(calls))
        await anyio.lowlevel.checkpoint_if_cancelled()  # an interrupt may have come where nothing waited

    def _blocked(self, calls: Iterable[ToolCall]) -> dict[str, ToolResult]:
        """The answers to calls that went in a circle too often to be run."""
        why = {call.id: self._guard.blocked(call) for call in calls}
        return {call.id: unrun(call, why[call.id], self._services.ports) for call in calls if why[call.id]}

    def _guarded(self, call: ToolCall, result: ToolResult, batch: CallBatch) -> ToolResult:
        """The result with a word where calls go in a circle; a tool that fails on and on ends the turn."""
        told = self._guard.heard(call, result, batch.manifest(call))
        if (name := self._guard.halted) and not self.steps.halted:
            self.steps.halted = True
            self.warn(HALTED.format(name=name))
            told = HALTED_WORDS.format(name=name)
        return replace(result, blocks=(ContextBlock(kind="limit", text=told),)) if told else result

    async def _settle(
        self, results: Iterable[ToolResult], step: Step, more: tuple[ContextBlock, ...] = ()
    ) -> None:
        """Store results; notes, news and `more` ride on the last, and a word on the limit where it is
        reached.
        """
        session = self._session
        *others, last = results
        limit = [ContextBlock(kind="limit", text=LIMIT_WORDS[step.kind])] if step.kind in LIMIT_WORDS else []
        blocks = (*session.mailbox.take_unsent(), *session.mailbox.take_news())
        with self._kept(blocks):
            await session.settle(*others, replace(last, blocks=(*last.blocks, *more, *blocks, *limit)))

    def summary(self) -> str:
        """Words for a turn whose steps are used up and whose model said nothing."""
        last = f"Calls run: {len(ran)}, the last one {ran[-1]}." if (ran := self._ran) else "No call was run."
        return f"(The step limit of {self.steps.max_steps} was reached before an answer. {last})"

    async def _finish(self) -> None:
        """Say the last words of a turn that has none, and tell its end; nothing cuts this short.

        Notes are taken in until the end is told: then the session is free.
        """
        session, failure, outcome = self._session, self._failure, self.outcome
        with anyio.CancelScope(shield=True):
            if failure or outcome == "interrupted":
                await self._close(f"(No reply: {failure.message})" if failure else self._stop.words)
            self._spoken = frozenset(origins(session.whole_log.turn))
            last = session.log[-1] if session.log else None
            answer = last.text if isinstance(last, Assistant) and last.id != self._before else ""
            if not (session.title or self._stop.refused):
                with contextlib.suppress(StoreError):  # the end is told whatever becomes of the name
                    await name(session, self._text, answer if outcome == "done" else "")
        own = session.opened.gate.take_refused() if session.opened else ()
        refused = (*own, *session.children.take_refused())
        self._end = session.emit(
            TurnFinished(
                turn=self._number,
                outcome="refused" if refused and outcome == "done" and not session.spec.attended else outcome,
                text=answer,
                usage=session.usage - self._used,
                seconds=self._services.ports.monotonic() - self._started,
                failure=failure,
                reason=self._stop.reason if outcome == "interrupted" else "",
                refused=refused,
                unsent=session.mailbox.take_unsent(),
            )
        )
        session.end_turn(self._end)

    async def _close(self, words: str) -> None:
        """Say the last words of a turn that ended before its reply, in answer to whatever is still open.

        Where they cannot be stored, the next turn does it.
        """
        with contextlib.suppress(StoreError):
            await self._session.answer_open_calls()
            if self._session.awaits_reply:
                await self.say("\n\n".join(filter(None, (self.partial, words))))

    @contextlib.contextmanager
    def _kept(self, blocks: Sequence[ContextBlock]) -> Iterator[None]:
        """Put the blocks back where the message that takes them cannot be stored."""
        try:
            yield
        except BaseException:
            self._session.mailbox.put_back(blocks)
            raise

    def _attempted(self, event: Attempted) -> None:
        if event.failure is not None:
            self._stream.restart()
        self._session.count(event)
        self._session.emit(event)
