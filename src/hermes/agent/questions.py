"""Open questions of a session: kept in the store, asked as events, answered by a verb or in the store; at
once where nobody can be asked.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from hermes.agent.spec import SessionSpec
from hermes.hooks import Hooks
from hermes.lib.aio import Async, first_of
from hermes.store.protocol import SessionStore, StoredQuestion
from hermes.store.questions import checked, suited
from hermes.types.actor import Actor
from hermes.types.error import StoreError
from hermes.types.event import Answered, Asked, Event
from hermes.types.ports import Ports
from hermes.types.question import Answer, Approve, Clarify, Deny, Grant, Question, Reply

if TYPE_CHECKING:
    from hermes.agent.services import RuntimeServices

TAKEN = "The answer was used up, or the question ended, in another place; ask again."
NOBODY = "Nobody can be asked here, so the answer is no."
DECIDE = "{} Decide by yourself, by what is most likely meant and easiest to undo, and say what you assumed."
NOBODY_HERE = "Nobody can be asked here."
LATE = "time limit"
TOO_LATE = "Nobody answered within {:g} s."
LOOK, LOOK_LONGEST = 0.5, 5.0
"""Seconds between looks into the store for an answer from another process; each waits half as long again."""


class CurrentCall(Struct):
    """A call that runs, and how many seconds of it were spent waiting for answers."""

    id: str
    waited: float = 0.0


_call: ContextVar[CurrentCall] = ContextVar("call")


@contextlib.contextmanager
def calling(call_id: str) -> Iterator[CurrentCall]:
    """The call that the questions asked meanwhile belong to; what it waits, the call around it waits."""
    above, call = _call.get(None), CurrentCall(call_id)
    token = _call.set(call)
    try:
        yield call
    finally:
        _call.reset(token)
        if above is not None:
            above.waited += call.waited


def current_call() -> str:
    """The id of the call that this is part of; "" for none."""
    call = _call.get(None)
    return call.id if call is not None else ""


@contextlib.contextmanager
def _waiting_counted(clock: Callable[[], float]) -> Iterator[None]:
    call, began = _call.get(None), clock()
    try:
        yield
    finally:
        if call is not None:
            call.waited += clock() - began


class _Waiting(Struct):
    """A question that somebody here waits for, and the first answer to it from here."""

    question: Question
    to: str
    came: anyio.Event = field(default_factory=anyio.Event)
    answer: Answer | None = None
    by: str = ""


class Questions(Struct, kw_only=True):
    """At most a few at a time; each waits for `answer`, one about an action `seconds` at most, another one
    `clarify_seconds` (0: without a limit); where nobody answers that, `policy` does.

    `actor` is who answers, unless a question says another; `spawn` runs a write beside the caller.
    """

    emit: Callable[[Event], object]
    ports: Ports
    store: SessionStore
    spawn: Callable[[Async[Any]], object]
    session: str
    actor: Actor
    attended: bool
    seconds: float = 0.0
    clarify_seconds: float = 0.0
    policy: Literal["decide", "first"] = "decide"
    hooks: Hooks = field(default_factory=Hooks)
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _standing: dict[str, StoredQuestion] = field(default_factory=dict)

    @classmethod
    def of(
        cls, spec: SessionSpec, services: "RuntimeServices", emit: Callable[[Event], object]
    ) -> "Questions":
        """The questions of a session."""
        return cls(
            emit=emit,
            ports=services.ports,
            store=services.store,
            spawn=services.routes.spawn,
            session=spec.id,
            actor=spec.actor,
            attended=spec.attended,
            seconds=spec.approval_timeout,
            clarify_seconds=spec.clarify_timeout,
            policy=spec.clarify_policy,
            hooks=services.dispatcher.hooks,
        )

    async def ask(self, question: Question, *, to: Actor | None = None) -> Answer:
        """The answer; at once one of the policy when the session is unattended, and when nobody answers in
        time: for an approval that is no.

        `to` is who may answer: whoever opened the session, unless it is said. A question that a killed
        process left behind is asked again under its id, and its answer used where it has come.
        """
        if not isinstance(question, Approve) or not self.hooks:
            return (await self._asked(question, to))[0]
        about = _told_to_hooks(question, self.session, self.actor.app)
        await self.hooks.observe("pre_approval_request", **about)
        answer, by = await self._asked(question, to)
        choice = answer.scope if isinstance(answer, Grant) else "timeout" if by == LATE else "deny"
        await self.hooks.observe("post_approval_response", **about, choice=choice, decided_by=by)
        return answer

    async def _asked(self, question: Question, to: Actor | None) -> tuple[Answer, str]:
        """The answer, and who gave it."""
        if not self.attended:
            unasked = _by_policy(question, self.policy, NOBODY_HERE)
            return self.record(question, unasked or Deny(reason=NOBODY), "policy"), "policy"
        asked = self._left_behind(question) or self._fresh(question, to or self.actor)
        if asked.id in self._standing:
            del self._standing[asked.id]
        else:
            await self.store.ask(asked)
        self.emit(_told(asked))
        waiting = self._waiting[asked.id] = _Waiting(asked.question, asked.to)
        try:
            if asked.answer is not None:  # given here, its row may not be written yet
                await self.store.answer(asked.id, asked.answer, by=asked.by, at=self.ports.now())
            with _waiting_counted(self.ports.monotonic):
                ended = await self._ended(asked, waiting)
            return self._settled(ended, waiting.answer or asked.answer)
        except BaseException:
            with contextlib.suppress(StoreError), anyio.CancelScope(shield=True):
                await self.store.end_question(asked.id, "withdrawn")
            raise
        finally:
            del self._waiting[asked.id]

    def record(self, question: Question, answer: Answer, by: str) -> Answer:
        """Tell of a question that was settled without asking; its answer."""
        number = self.ports.token()
        self.emit(Asked(id=number, question=question, to=self.actor.origin, decided=by))
        self.emit(Answered(id=number, answer=answer, by=by))
        if isinstance(question, Approve) and by != "policy" and self.hooks:
            self.spawn(partial(self._tell_decided, question, by))
        return answer

    async def _tell_decided(self, question: Approve, by: str) -> None:
        """Tell hooks of a yes that nobody was asked for: a model gave it, or what could be lost was saved."""
        choice = "smart_approve" if by.startswith("model") else "once"
        about = _told_to_hooks(question, self.session, "smart")
        await self.hooks.observe("post_approval_response", **about, choice=choice, decided_by=by)

    def restore(self, left_behind: Sequence[StoredQuestion]) -> None:
        """Tell of the questions that a process which ended had open; they can be answered from now on."""
        self._standing = {one.id: one for one in left_behind}
        for one in left_behind:
            if one.answer is None:
                self.emit(_told(one))

    @property
    def open(self) -> tuple[str, ...]:
        """The ids of what waits for an answer."""
        return (*self._waiting, *(one.id for one in self.left_behind))

    @property
    def left_behind(self) -> tuple[Asked, ...]:
        """The open questions of a process which ended, until the model makes their calls again."""
        now = self.ports.now()
        return tuple(_told(one) for one in self._standing.values() if one.is_open(now))

    def answer(self, number: str, answer: Answer, by: Actor | None = None) -> bool:
        """Settle a question, once; whether it was open, as far as is known here, and `by` may answer it.

        Where another process answers it at the same time the store decides, but a no from here stays a no;
        `Answered` tells what counts. TypeError and ValueError when it is no answer, or none to a question of
        this kind. Call it on the loop.
        """
        answer = checked(answer)
        origin = (by or self.actor).origin
        waiting, standing = self._waiting.get(number), self._standing.get(number)
        if asked := waiting or standing:
            suited(answer, asked.question)
        if waiting is not None and waiting.answer is None and waiting.to == origin:
            waiting.answer, waiting.by = answer, origin
            waiting.came.set()
            return True
        if standing is None or standing.to != origin or not standing.is_open(self.ports.now()):
            return False
        self._standing[number] = replace(standing, state="answered", answer=answer, by=origin)
        self.spawn(partial(self._keep, number, answer, origin))
        return True

    def settle(self, digest: str, answer: Answer) -> bool:
        """Answer what is asked here about an action, as whoever opened the session, who has given a wider
        answer; whether there was such a question.
        """
        waiting = [
            number
            for number, one in self._waiting.items()
            if isinstance(one.question, Approve) and one.question.digest == digest
        ]
        settled = [self.answer(number, answer) for number in waiting]
        return any(settled)

    def is_answered(self, number: str) -> bool:
        """Whether a question has an answer here already, its row perhaps not yet."""
        waiting, standing = self._waiting.get(number), self._standing.get(number)
        return any(one is not None and one.answer is not None for one in (waiting, standing))

    async def _keep(self, number: str, answer: Answer, by: str) -> None:
        """Write the answer to a question left behind, and tell of the one that counts."""
        with contextlib.suppress(StoreError):  # it is at hand here all the same
            if not await self.store.answer(number, answer, by=by, at=self.ports.now()):
                first = await self.store.question(number)
                if number not in self._standing:
                    return  # its call was made again, and tells of it
                if isinstance(answer, Deny):
                    await self.store.end_question(number, "withdrawn")  # a yes there is nobody's to use
                elif first is None or first.answer is None:
                    return
                else:
                    self._standing[number] = first
                    answer, by = first.answer, first.by
        self.emit(Answered(id=number, answer=answer, by=self._name(by)))

    def _fresh(self, question: Question, to: Actor) -> StoredQuestion:
        seconds = self.seconds if isinstance(question, Approve) else self.clarify_seconds
        now = self.ports.now()
        return StoredQuestion(
            id=self.ports.token(),
            session=self.session,
            question=question,
            to=to.origin,
            asked=now,
            expires=now + seconds if seconds else 0.0,
            call_id=current_call(),
        )

    def _left_behind(self, question: Question) -> StoredQuestion | None:
        """The same question from before; of two actions the digest says whether they are the same."""
        now = self.ports.now()
        for one in self._standing.values():
            if not (one.is_open(now) or one.answer):
                continue
            if isinstance(question, Approve) and isinstance(one.question, Approve):
                if question.digest and question.digest == one.question.digest:
                    return one
            elif question == one.question:
                return one
        return None

    async def _ended(self, asked: StoredQuestion, waiting: _Waiting) -> StoredQuestion:
        """Wait for an answer from here or from another process, or for the time to be over; an answer is
        there only where nobody else has used it.
        """
        store, ports, pause = self.store, self.ports, LOOK
        taken = replace(asked, state="used", answer=Deny(reason=TAKEN), by="store")
        while True:
            found = await store.question(asked.id)
            if found is None:  # its session was taken, and removed
                return taken
            left = asked.expires - ports.now() if asked.expires else math.inf
            if not found.is_open(ports.now()) or left <= 0:
                return await store.end_question(asked.id, "expired") or taken
            await first_of(waiting.came.wait, partial(ports.sleep, min(pause, left)))
            if waiting.answer is not None:
                await store.answer(asked.id, waiting.answer, by=waiting.by, at=ports.now())
            pause = min(pause * 1.5, LOOK_LONGEST)

    def _settled(self, ended: StoredQuestion, given: Answer | None) -> tuple[Answer, str]:
        """Tell of the answer that counts, and by whom: what the store has, unless the one `given` here is a
        no.
        """
        answer, by = ended.answer, self._name(ended.by)
        if isinstance(given, Deny):
            answer, by = given, self._name(ended.to)
        if answer is None:
            seconds = ended.expires - ended.asked
            reason = f"Nobody answered within {seconds:g} s, and silence is no consent."
            late = _by_policy(ended.question, self.policy, TOO_LATE.format(seconds))
            answer, by = late or Deny(reason=reason), LATE
        self.emit(Answered(id=ended.id, answer=answer, by=by))
        return answer, by

    def _name(self, origin: str) -> str:
        return "person" if origin == self.actor.origin else origin


def _told_to_hooks(question: Approve, session: str, surface: str) -> dict[str, Any]:
    return {
        "command": question.command,
        "description": "; ".join(question.reasons),
        "pattern_key": question.rule,
        "pattern_keys": [question.rule],
        "session_key": session,
        "surface": surface,
    }


def _by_policy(question: Question, policy: Literal["decide", "first"], why: str) -> Answer | None:
    """What answers a question of the model that nobody answers; None for an approval."""
    if not isinstance(question, Clarify):
        return None
    if policy == "first" and question.options:
        return Reply(text=question.options[0], decided="policy")
    return Deny(reason=DECIDE.format(why))


def _told(asked: StoredQuestion) -> Asked:
    return Asked(id=asked.id, question=asked.question, to=asked.to, expires=asked.expires)
