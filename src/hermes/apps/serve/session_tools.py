"""The sessions of a home as tools of the server: look at them, begin one, send messages, answer questions."""

import datetime as dt
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import anyio
from msgspec.structs import replace

from hermes.agent.past_sessions import described, role_of
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.agent.title import title_of
from hermes.apps.serve.offer import OfferedResult, Report, reported
from hermes.lib.text import clip
from hermes.runtime import Runtime
from hermes.store.protocol import SessionRow, StoredQuestion
from hermes.store.search import text_of
from hermes.tools.arguments import ArgumentError, compiled
from hermes.tools.dispatch import is_failure
from hermes.tools.function import tool
from hermes.tools.registry import tool_error
from hermes.types.actor import Actor
from hermes.types.error import HermesError
from hermes.types.event import TurnFinished
from hermes.types.question import Answer, Approve, Deny, Grant, Reply
from hermes.types.tool import ToolEntry

SOURCE: Final = "mcp"
"""The app of sessions that clients begin."""
_LONGEST: Final = 8_000
"""Characters of a message."""
_MOST: Final = 200
"""Sessions, or messages, of one answer."""


class SessionTools:
    """What clients may do with sessions. They go on only with those that clients have begun, whose questions
    are addressed to `actor`.
    """

    def __init__(self, runtime: Runtime, options: SessionOptions, actor: Actor) -> None:
        self._runtime, self._actor = runtime, actor
        self._options = replace(options, source=SOURCE, actor=actor, attended=True)
        self._open: dict[str, Session] = {}
        functions = (
            self.sessions_list,
            self.sessions_search,
            self.session_read,
            self.session_send,
            self.questions_list,
            self.question_answer,
        )
        self._entries: dict[str, ToolEntry] = {one.__name__: tool(one).entry for one in functions}

    @property
    def definitions(self) -> Sequence[Mapping[str, Any]]:
        """The schemas of the tools."""
        return [entry.schema for entry in self._entries.values()]

    async def call(self, name: str, arguments: Mapping[str, Any], report: Report) -> OfferedResult:
        """Run one of them; what it gives is without credentials."""
        entry = self._entries[name]
        try:
            ready = compiled(entry.schema).prepare(arguments)
            # They are coroutines, all of them
            text = await entry.handler(ready, ctx=report)  # type: ignore[misc]
        except (ArgumentError, HermesError) as error:
            return OfferedResult(tool_error(str(error)), failed=True)
        return OfferedResult(self._runtime.services.redactor.redact(text), failed=is_failure(text))

    async def sessions_list(self, limit: int = 50) -> dict[str, Any]:
        """Sessions of this home, the last used first.

        limit: how many, at most 200
        """
        rows = await self._runtime.store.recent(limit=_within(limit))
        return {"sessions": [_about(row) for row in rows]}

    async def sessions_search(self, words: str, limit: int = 20) -> dict[str, Any]:
        """Messages of earlier sessions that hold these words, the best first.

        words: what to look for
        limit: how many messages, at most 200
        """
        hits = await self._runtime.store.search(words, limit=_within(limit))
        return {"found": [described(one) for one in hits]}

    async def session_read(self, session_id: str, first: int = 1, limit: int = 50) -> dict[str, Any]:
        """Messages of a session, in order.

        session_id: its id
        first: number of the first message, from 1
        limit: how many, at most 200
        """
        stored = await self._runtime.store.read(session_id)
        start = max(1, first) - 1
        shown = stored.log[start : start + _within(limit)]
        messages = [
            {"number": number, "role": role_of(one), "text": clip(text_of(one), _LONGEST)}
            for number, one in enumerate(shown, start + 1)
        ]
        return {**_about(stored.row), "messages": messages, "of": len(stored.log)}

    async def session_send(self, text: str, ctx: Report, session_id: str = "") -> dict[str, Any]:
        """Send a message and wait for the answer; without a session_id a new session begins. Cancelling the
        call stops the turn. Meanwhile what it asks stands in questions_list.

        text: the message
        session_id: a session that this tool began
        """
        session = await self._session(session_id)
        try:
            end: TurnFinished = await reported(session, partial(session.send, text), ctx)
        finally:
            with anyio.CancelScope(shield=True):
                del self._open[session.id]
                await session.close()
        failed = {"error": end.failure.message} if end.failure else {}
        told = {"session_id": session.id, "outcome": end.outcome, "text": end.text}
        return {**told, "refused": list(end.refused), **failed}

    async def questions_list(self) -> dict[str, Any]:
        """What sessions ask of whoever uses this server, and wait for."""
        return {"questions": [_question(one) for one in await self._questions()]}

    async def question_answer(self, question_id: str, allow: bool, text: str = "") -> dict[str, Any]:  # noqa: FBT001  # as a model gives it
        """Answer a question: a yes to an action is for this once.

        question_id: its id, of questions_list
        allow: yes or no; to a question in words, whether there is an answer
        text: the words that answer it, or what to do instead
        """
        asked = next((one for one in await self._questions() if one.id == question_id), None)
        if asked is None:
            raise HermesError(f"There is no open question {question_id} for you.")
        taken = await self._answer(asked, _answer_to(asked, text) if allow else Deny(reason=text))
        return {"answered": taken}

    async def _session(self, session_id: str) -> Session:
        """A new session, or one that is opened again, until its turn has ended; HermesError where it cannot
        be.
        """
        if session_id in self._open:
            raise HermesError(f"A turn is running in session {session_id}; wait for its end.")
        if session_id:
            row = (await self._runtime.store.read(session_id)).row
            if row.source != SOURCE:
                raise HermesError(f"Session {session_id} was not begun here; a client can only read it.")
        session = await self._runtime.session(replace(self._options, resume=session_id))
        self._open[session.id] = session
        return session

    async def _questions(self) -> list[StoredQuestion]:
        found = await self._runtime.questions()
        return [one for one in found if one.to == self._actor.origin]

    async def _answer(self, asked: StoredQuestion, answer: Answer) -> bool:
        """Answer where the session is open here, so that it hears of it at once, or else in the store."""
        session = self._open.get(asked.session)
        if session is not None:
            return session.answer(asked.id, answer, by=self._actor)
        return await self._runtime.answer(asked.id, answer, by=self._actor)


def _within(limit: int) -> int:
    return max(1, min(limit, _MOST))


def _answer_to(asked: StoredQuestion, text: str) -> Answer:
    return Grant() if isinstance(asked.question, Approve) else Reply(text=text)


def _question(asked: StoredQuestion) -> dict[str, Any]:
    about = {"id": asked.id, "session_id": asked.session, "expires": _moment(asked.expires)}
    question = asked.question
    if isinstance(question, Approve):
        return {**about, "kind": "approve", "action": question.command, "reasons": list(question.reasons)}
    return {**about, "kind": "clarify", "text": question.text, "options": list(question.options)}


def _about(row: SessionRow) -> dict[str, Any]:
    return {
        "session_id": row.id,
        "title": row.title or title_of(row.first_text),
        "folder": row.cwd,
        "model": row.model,
        "source": row.source,
        "messages": row.messages,
        "updated": _moment(row.updated),
    }


def _moment(at: float) -> str:
    return dt.datetime.fromtimestamp(at, tz=dt.UTC).isoformat(timespec="seconds") if at else ""
