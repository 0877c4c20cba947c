"""The events of a turn for programs: one JSON object a line, few and stable kinds, `end` always last.

Kinds of version 1: start, text, restart (text so far is void), tool_start, tool_end, child, approval, retry,
notice, compaction_start, compaction, goal, usage, error, end.
"""

import sys
from typing import Any, assert_never

import msgspec

from hermes.agent.session import Session
from hermes.lib.codec import mended
from hermes.types.event import (
    Added,
    Answered,
    Asked,
    Attempted,
    ChildChanged,
    CompactionStarted,
    Event,
    GoalChanged,
    Notice,
    PrefixBroken,
    ReplyRestarted,
    StepStarted,
    TextDelta,
    ThinkingDelta,
    Titled,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from hermes.types.goal import Goal
from hermes.types.message import Assistant, Compaction, Message, ToolResult
from hermes.types.question import Approve, Question
from hermes.types.usage import Usage

VERSION = 1


class JsonLines:
    """Writes lines to stdout as events come."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._questions: dict[str, Question] = {}
        self._running: dict[str, ToolStarted] = {}
        endpoint = session.endpoint
        self._write(
            "start",
            session=session.id,
            model=f"{endpoint.provider}/{endpoint.model}",
            tools=list(session.tools.tools),
        )

    def feed(self, event: Event) -> None:
        """Write what a program may want to know of an event."""
        match event:
            case TextDelta(text=text):
                self._write("text", text=text)
            case ToolStarted() | ToolFinished():
                self._tool(event)
            case Asked() | Answered():
                self._approval(event)
            case Attempted() | ReplyRestarted():
                self._attempt(event)
            case Notice() | ChildChanged() | GoalChanged() | CompactionStarted():
                self._noticed(event)
            case Added():
                self._used(event.message)
            case TurnFinished():
                self._failed(event)
            case TurnStarted() | StepStarted() | PrefixBroken() | Titled():
                pass
            case ThinkingDelta() | ToolProgress():
                pass
            case _ as never:
                assert_never(never)

    def _tool(self, event: ToolStarted | ToolFinished) -> None:
        if isinstance(event, ToolStarted):
            call = event.call
            self._running[call.id] = event
            self._write("tool_start", id=call.id, name=call.name, arguments=call.arguments)
        else:
            self._end(event.call_id, event.seconds, failed=event.failed)

    def _end(self, call_id: str, seconds: float, *, failed: bool) -> None:
        began = self._running.pop(call_id, None)
        name = began.call.name if began else ""
        self._write("tool_end", id=call_id, name=name, seconds=round(seconds, 3), failed=failed)

    def _noticed(self, event: Notice | ChildChanged | GoalChanged | CompactionStarted) -> None:
        if isinstance(event, CompactionStarted):
            self._write("compaction_start", tokens=event.tokens)
            return
        if isinstance(event, GoalChanged):
            self._judged(event.goal)
            return
        if isinstance(event, Notice):
            doing, seconds = self._activity()
            self._write("notice", level=event.level, text=event.text, doing=doing, seconds=seconds)
            return
        self._write(
            "child", call=event.call_id, session=event.child, goal=event.goal, state=event.state,
            doing=event.doing, tokens=event.tokens, seconds=round(event.seconds, 2),
        )  # fmt: skip

    def _activity(self) -> tuple[str, float]:
        """What the session does, as /status tells it, and for how many seconds."""
        now = self._session.activity.now
        return now.words, round(self._session.services.ports.monotonic() - now.since, 1)

    def _judged(self, goal: Goal | None) -> None:
        if goal is not None:
            self._write("goal", state=goal.state, turn=goal.turns, limit=goal.limit, reason=goal.reason)

    def _used(self, message: Message) -> None:
        if isinstance(message, ToolResult) and (
            began := self._running.get(message.call_id)
        ):  # it was cut off
            self._end(message.call_id, message.at - began.stamp.at, failed=True)
        if isinstance(message, Compaction):
            self._write("compaction", dropped=message.dropped, before=message.before, after=message.after)
        if isinstance(message, Assistant) and message.usage.requests:
            used = message.usage
            self._write(
                "usage",
                input=used.input_tokens,
                output=used.output_tokens,
                cached=used.cache_read,
                requests=used.requests,
            )

    def _failed(self, end: TurnFinished) -> None:
        if (failure := end.failure) is not None:
            self._write(
                "error",
                reason=failure.reason,
                message=failure.message,
                status=failure.status,
                address=failure.address,
            )

    def _attempt(self, event: Attempted | ReplyRestarted) -> None:
        if isinstance(event, ReplyRestarted):
            self._write("restart")
        elif event.failure is not None and event.goes_on:
            self._write(
                "retry", reason=event.failure.reason, message=event.failure.message,
                delay=round(event.delay, 1), attempt=event.attempt,
                action=event.action, next=event.next,
            )  # fmt: skip

    def finish(self, end: TurnFinished) -> None:
        """The last line."""
        tokens = {
            "input": end.usage.input_tokens,
            "output": end.usage.output_tokens,
            "cached": end.usage.cache_read,
        }
        self._write(
            "end", status=end.outcome, answer="" if end.failure else end.text, tokens=tokens,
            cost=_cost(end.usage),
            seconds=round(end.seconds, 2), refused=list(end.refused), session=self._session.id,
        )  # fmt: skip

    def _approval(self, event: Asked | Answered) -> None:
        if isinstance(event, Asked):
            self._questions[event.id] = event.question
            return
        question = self._questions.pop(event.id, None)
        if isinstance(question, Approve):
            said = event.answer.kind
            self._write(
                "approval", command=question.command, reasons=list(question.reasons), answer=said, by=event.by
            )

    def _write(self, kind: str, **fields: Any) -> None:
        _write(kind, **fields)


def write_early_end(sentence: str) -> None:
    """The last lines of a turn that could not begin."""
    _write("error", reason="unknown", message=sentence, status=None, address="")
    _write(
        "end",
        status="failed",
        answer="",
        tokens={"input": 0, "output": 0, "cached": 0},
        cost=0.0,
        seconds=0.0,
        refused=[],
        session="",
    )


def _write(kind: str, **fields: Any) -> None:
    line = msgspec.json.encode(mended({"v": VERSION, "kind": kind, **fields}))
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def _cost(usage: Usage) -> float | None:
    """US dollars by the price list; None when a part of it has no known price."""
    return None if usage.unpriced else round(usage.cost, 6)
