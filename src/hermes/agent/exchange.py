"""One turn under way: what `run_turn` needs of a session, and the text that has been shown so far."""

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes.agent import view
from hermes.agent.budget import Budget, Step
from hermes.agent.calls import Batch, Surroundings
from hermes.agent.shown import Shown
from hermes.agent.unseen import Unseen, without_secrets
from hermes.models.attempt import Listener
from hermes.types.error import BudgetSpent, StoreError
from hermes.types.event import Attempted, Notice, ReplyRestarted, StepStarted, TextDelta, ThinkingDelta
from hermes.types.message import Assistant, Attachment, Message, ToolCall, ToolResult, User
from hermes.types.request import Delta, Remark, Text, ThinkingText

if TYPE_CHECKING:
    from hermes.agent.session import Session


class Exchange:
    """A turn of one session; it lives as long as the turn."""

    def __init__(self, session: "Session") -> None:
        self._session, self._parts = session, session.parts
        self.budget = Budget(session.parts.max_steps)
        self._purse = session.parts.ledger.turn(session.purse)
        self._shown = Shown(lambda text: session.emit(TextDelta(text=text)), lambda void: session.emit(ReplyRestarted(void=void)))
        self._unseen = Unseen(self._parts.secrets, self._shown.add, lambda text: session.emit(ThinkingDelta(text=text)))
        self._listener = Listener(emit=self._delta, tell=self._attempted, broken=session.emit)
        self._started = session.parts.ports.monotonic()
        session.route.start()

    @property
    def partial(self) -> str:
        """What of the running reply has been shown, or was about to be."""
        return self._shown.text + self._unseen.waiting

    def append(self, message: Message) -> None:
        """Store a message, then let it be seen."""
        self._session.append(message)

    def hear(self, text: str, attachments: tuple[Attachment, ...] = ()) -> None:
        """Take in what the user said; a turn that never got its reply is closed first."""
        if self._session.awaits_reply:
            self.say("(This turn was cut off before a reply.)")
        ports, news = self._parts.ports, "\n".join(self._news())
        self.append(User(id=ports.token(), at=ports.now(), text=text, attachments=attachments, recalled=news))

    def say(self, text: str) -> None:
        """Append words of the assistant that no model wrote."""
        ports = self._parts.ports
        self.append(Assistant(id=ports.token(), at=ports.now(), text=text, model=self._session.endpoint.model))

    def close(self, words: str) -> None:
        """The last words of a turn that ended before its reply; where even they cannot be stored, the failure speaks."""
        with contextlib.suppress(StoreError):
            if self._session.awaits_reply:
                self.say(words)

    async def reply(self, step: Step) -> Assistant:
        """One reply of the model, not yet appended."""
        session, parts = self._session, self._parts
        session.emit(StepStarted(step=step.number, model=session.endpoint.model))
        tools = () if step.grace else session.tools.definitions
        request = view.request(session.whole_log, endpoint=session.endpoint, system=session.system, tools=tools, options=parts.options)
        reply = await parts.ladder.stream(request, session.route, self._listener, self._purse, seconds=self._seconds_left())
        reply = without_secrets(reply, parts.secrets)
        self._unseen.end()
        self._shown.finish(reply.text)
        return replace(reply, id=parts.ports.token(), at=parts.ports.now())

    def _seconds_left(self) -> float | None:
        """What is left of the turn's time; BudgetSpent when it is over."""
        limit = self._parts.ledger.budget.turn_seconds
        if not limit:
            return None
        left = limit - (self._parts.ports.monotonic() - self._started)
        if left <= 0:
            raise BudgetSpent(f"The time budget of this turn is spent: {limit:.0f} s. hermes config set budget.turn_seconds raises it.")
        return left

    async def run_calls(self, calls: tuple[ToolCall, ...]) -> None:
        """Run a reply's calls and append an answer to every one, whatever happens; the steering note rides on the last."""
        batch = Batch(calls, self._surroundings())
        try:
            await batch.run()
        finally:
            *others, last = batch.ordered()
            for result in others:
                self.append(result)
            self.append(self._noted(last))
            self._parts.store.settle(self._session.id)

    def summary(self) -> str:
        """Words for a turn whose steps are used up and whose model said nothing."""
        done = [message.name for message in self._session.log if isinstance(message, ToolResult)]
        last = f"Calls made: {len(done)}, the last one {done[-1]}." if done else "No call was made."
        return f"(The step limit of {self.budget.max_steps} was reached before an answer. {last})"

    def _surroundings(self) -> Surroundings:
        session, parts = self._session, self._parts
        user = next((message.text for message in reversed(session.log) if isinstance(message, User)), "")
        return Surroundings(
            session_id=session.id,
            tools=session.tools,
            dispatcher=parts.dispatcher,
            journal=parts.store,
            ports=parts.ports,
            workspace=lambda: session.workspace,
            todos=session.todos,
            user_task=user,
            ask=session.questions.ask,
            emit=session.emit,
            redact=parts.redact,
            secrets=parts.secrets,
            environ=parts.environ,
        )

    def _noted(self, result: ToolResult) -> ToolResult:
        notes = [*(f"the user said: {note}" for note in self._session.take_unsent()), *self._news()]
        return replace(result, note="\n".join(notes)) if notes else result

    def _news(self) -> list[str]:
        """What is to be told of background processes that ended since the last time."""
        place = self._session.opened
        ended = place.workspace.processes.drain_finished() if place else ()
        return [f"(Background process {one.id} ended with exit code {one.code}: {one.command})" for one in ended]

    def _delta(self, delta: Delta) -> None:
        if isinstance(delta, Text):
            self._unseen.text(delta.text)
        elif isinstance(delta, ThinkingText):
            self._unseen.thinking(delta.text)
        elif isinstance(delta, Remark):
            self._session.emit(Notice(level="info", text=self._parts.redact(delta.text)))

    def _attempted(self, event: Attempted) -> None:
        if event.failure is not None:
            self._unseen.forget()
            self._shown.again()
        self._session.count(event)
        self._session.emit(event)
