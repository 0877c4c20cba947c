"""The events of a turn for programs: one JSON object a line, few and stable kinds, `end` always last.

The kinds and their fields are in `json_kinds.py`.
"""

import sys
from typing import Any, TextIO, assert_never

import msgspec
from msgspec.structs import replace

from hermes.agent.session import Session
from hermes.agent.stopping import without_stop
from hermes.apps.cli import json_kinds as kinds
from hermes.lib.codec import mended
from hermes.present.cleaned import shown_call, shown_question
from hermes.present.outcome import changed, exit_code, printed
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
from hermes.types.message import Assistant, Compaction, Message, ToolResult
from hermes.types.question import Approve, Question
from hermes.types.usage import Usage


class JsonLines:
    """Writes lines to a stream as events come."""

    def __init__(self, session: Session, out: TextIO) -> None:
        self._session, self._out = session, out
        self._redact = session.services.redactor.redact
        self._questions: dict[str, Question] = {}
        self._running: dict[str, ToolStarted] = {}
        self._uncounted = False
        model, known = session.endpoint.full_name, session.tools
        tools = [name for name in known.tools if name in known.offered]
        self._write(kinds.StartLine(session=session.id, model=model, tools=tools))

    def feed(self, event: Event) -> None:
        """Write what a program may want to know of an event."""
        match event:
            case TextDelta(text=text):
                self._uncounted = True
                self._write(kinds.TextLine(text=text))
            case ToolStarted() | ToolFinished():
                self._tool(event)
            case Asked() | Answered():
                self._approval(event)
            case Attempted() | ReplyRestarted():
                self._attempt(event)
            case Notice() | ChildChanged() | GoalChanged() | CompactionStarted():
                self._noticed(event)
            case Added():
                self._added(event.message)
            case TurnFinished():
                self._ended(event)
            case TurnStarted() | StepStarted() | PrefixBroken() | Titled():
                pass
            case ThinkingDelta() | ToolProgress():
                pass
            case _ as never:
                assert_never(never)

    def _tool(self, event: ToolStarted | ToolFinished) -> None:
        if isinstance(event, ToolFinished):
            self._end(event.call_id, event.seconds, event.result, failed=event.failed, diff=event.diff)
            return
        call = shown_call(event.call, self._redact)
        self._running[call.id] = replace(event, call=call)
        self._write(
            kinds.ToolStartLine(id=call.id, name=call.name, arguments=call.arguments, parent=event.parent)
        )

    def _end(
        self, call_id: str, seconds: float, result: ToolResult | None, *, failed: bool, diff: str = ""
    ) -> None:
        began = self._running.pop(call_id, None)
        self._write(
            kinds.ToolEndLine(
                id=call_id,
                name=began.call.name if began else "",
                seconds=round(seconds, 3),
                failed=failed,
                exit_code=exit_code(result) if result else None,
                output=printed(result) if result else "",
                full=result.full if result else "",
                diff=diff or (changed(result) if result else ""),
            )
        )

    def _noticed(self, event: Notice | ChildChanged | GoalChanged | CompactionStarted) -> None:
        match event:
            case CompactionStarted(tokens=tokens):
                self._write(kinds.CompactionStartLine(tokens=tokens))
            case GoalChanged(goal=goal):
                if goal is not None:
                    self._write(
                        kinds.GoalLine(
                            state=goal.state, turn=goal.turns, limit=goal.limit, reason=goal.reason
                        )
                    )
            case Notice(level=level, text=text):
                doing, seconds = self._activity()
                self._write(kinds.NoticeLine(level=level, text=text, doing=doing, seconds=seconds))
            case ChildChanged():
                self._write(
                    kinds.ChildLine(
                        call=event.call_id,
                        session=event.child,
                        goal=event.goal,
                        state=event.state,
                        doing=event.doing,
                        tokens=event.tokens,
                        seconds=round(event.seconds, 2),
                    )
                )

    def _activity(self) -> tuple[str, float]:
        """What the session does, as /status tells it, and for how many seconds."""
        now = self._session.activity.now
        return now.words, round(self._session.services.ports.monotonic() - now.since, 1)

    def _added(self, message: Message) -> None:
        if isinstance(message, ToolResult) and (began := self._running.get(message.call_id)):
            # It was cut off
            self._end(message.call_id, message.at - began.stamp.at, message, failed=True)
        if isinstance(message, Compaction):
            self._write(
                kinds.CompactionLine(dropped=message.dropped, before=message.before, after=message.after)
            )
        if isinstance(message, Assistant) and message.usage.requests:
            used, self._uncounted = message.usage, False
            self._write(
                kinds.UsageLine(
                    input=used.input_tokens,
                    output=used.output_tokens,
                    cached=used.cache_read,
                    requests=used.requests,
                )
            )

    def _ended(self, end: TurnFinished) -> None:
        """Why a turn was stopped, or what made it fail."""
        if end.reason:
            doing, seconds = self._activity()
            text = self._redact(f"stopped: {end.reason}")
            self._write(kinds.NoticeLine(level="warning", text=text, doing=doing, seconds=seconds))
        if (failure := end.failure) is not None:
            self._write(
                kinds.ErrorLine(
                    reason=failure.reason,
                    message=failure.message,
                    status=failure.status,
                    address=failure.address,
                )
            )

    def _attempt(self, event: Attempted | ReplyRestarted) -> None:
        if isinstance(event, ReplyRestarted):
            self._write(kinds.RestartLine())
        elif event.failure is not None and event.goes_on:
            self._write(
                kinds.RetryLine(
                    reason=event.failure.reason,
                    message=event.failure.message,
                    delay=round(event.delay, 1),
                    attempt=event.attempt,
                    action=event.action,
                    next=event.next,
                )
            )

    def finish(self, end: TurnFinished, output: Any = None) -> None:
        """The last line; `output` is the answer where it has a form."""
        used = end.usage
        self._write(
            kinds.EndLine(
                status=end.outcome,
                answer="" if end.failure else without_stop(end.text),
                tokens=kinds.TokenCounts(
                    input=used.input_tokens, output=used.output_tokens, cached=used.cache_read
                ),
                cost=None if self._uncounted else _cost(used),
                seconds=round(end.seconds, 2),
                refused=list(map(self._redact, end.refused)),
                session=self._session.id,
                output=output,
            )
        )

    def _approval(self, event: Asked | Answered) -> None:
        if isinstance(event, Asked):
            self._questions[event.id] = shown_question(event.question, self._redact)
            return
        question = self._questions.pop(event.id, None)
        if isinstance(question, Approve):
            self._write(
                kinds.ApprovalLine(
                    command=question.command,
                    reasons=list(question.reasons),
                    answer=event.answer.kind,
                    by=event.by,
                )
            )

    def _write(self, line: kinds.Line) -> None:
        _write(line, self._out)


def write_early_end(sentence: str) -> None:
    """The last lines of a turn that could not begin."""
    _write(kinds.ErrorLine(reason="unknown", message=sentence, status=None, address=""), sys.stdout)
    _write(
        kinds.EndLine(
            status="failed",
            answer="",
            tokens=kinds.TokenCounts(),
            cost=0.0,
            seconds=0.0,
            refused=(),
            session="",
        ),
        sys.stdout,
    )


def _write(line: kinds.Line, out: TextIO) -> None:
    tree: Any = mended(msgspec.to_builtins(line))
    out.write(msgspec.json.encode({"v": tree["v"], **tree}).decode() + "\n")
    out.flush()


def _cost(usage: Usage) -> float | None:
    """US dollars by the price list; None when a part of it has no known price."""
    return None if usage.unpriced else round(usage.cost, 6)
