"""One turn under way: what `run_turn` needs of a session, and the text that has been shown so far."""

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes.agent import view
from hermes.agent.budget import Budget, Step
from hermes.agent.calls import Batch, Surroundings
from hermes.types.error import StoreError
from hermes.types.event import Attempted, PrefixBroken, StepStarted, TextDelta, ThinkingDelta
from hermes.types.message import Assistant, Attachment, Message, ToolCall, ToolResult, User
from hermes.types.request import Delta, Text, ThinkingText

if TYPE_CHECKING:
    from hermes.agent.session import Session


class Exchange:
    """A turn of one session; it lives as long as the turn."""

    def __init__(self, session: "Session") -> None:
        self._session, self._parts = session, session.parts
        self.budget = Budget(session.parts.max_steps)
        self._shown: list[str] = []

    @property
    def partial(self) -> str:
        """What of the running reply has been shown."""
        return "".join(self._shown)

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
        if not session.endpoint.base_url:
            session.endpoint = await parts.ready(session.endpoint, session)
        if session.transport is None:
            session.transport = parts.transport(session.endpoint)
        if step.grace and session.tools.definitions:
            session.emit(PrefixBroken(reason="the last step of a turn offers no tools"))
        session.emit(StepStarted(step=step.number, model=session.endpoint.model))
        tools = () if step.grace else session.tools.definitions
        request = view.request(session.log, endpoint=session.endpoint, system=session.system, tools=tools, options=parts.options)
        reply = await parts.ladder.stream(request, session.transport, self._delta, self._retrying)
        session.usage += reply.usage
        shown = self.partial
        if reply.text != shown and reply.text.startswith(shown):
            self._delta(Text(text=reply.text[len(shown) :]))  # text that was held back because it might have been a call
        self._shown.clear()
        return replace(reply, id=parts.ports.token(), at=parts.ports.now())

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
            self._shown.append(delta.text)
            self._session.emit(TextDelta(text=delta.text))
        elif isinstance(delta, ThinkingText):
            self._session.emit(ThinkingDelta(text=delta.text))

    def _retrying(self, event: Attempted) -> None:
        self._shown.clear()
        self._session.emit(event)
