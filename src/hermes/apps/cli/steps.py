"""The steps of a one-shot turn on stderr, and its answer on stdout."""

import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TextIO

from hermes.lib.text import for_terminal
from hermes.lib.text_stream import EscapeFilter, TextStream
from hermes.lib.visible import visible
from hermes.present.children import child_line
from hermes.present.cleaned import shown_call, shown_question
from hermes.present.goals import goal_lines
from hermes.present.lines import (
    RESTARTED,
    attempt_line,
    compaction_line,
    failure_lines,
    notice_lines,
    receipt_lines,
    tool_lines,
)
from hermes.present.spans import MORE_BY_KEY, Line, line, plain
from hermes.types.event import (
    NEVER,
    PLANNED,
    Added,
    Answered,
    Asked,
    Attempted,
    ChildChanged,
    Event,
    GoalChanged,
    Notice,
    ReplyRestarted,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from hermes.types.message import Assistant, Compaction, Message, ToolCall, ToolResult
from hermes.types.question import Question

WIDEST = 100
_WHOLE = 10_000  # a provider's sentence is not cut: it may go to a log
_FIXES: Mapping[str, str] = {
    "auth": (
        "hermes config set NAME_API_KEY KEY stores the key of a known provider; that of your own server is in"
        " the variable that model.api_key_env names. hermes doctor says which model and address are in force."
    ),
    "model_not_found": "hermes models list shows what there is; -m takes another one.",
    "connection": "Check that the server runs and the address is right; --base-url takes another one.",
    "connection_refused": "Ollama starts with ollama serve; --base-url takes another address.",
}


class Steps:
    """Tells on stderr what happens; `verbose` adds the output of calls and what was said before the answer.

    `out` gets the answer; `live` shows there what the model says as it comes, for somebody who reads along.
    `redact` takes secrets out of what a model wrote.
    """

    def __init__(
        self, out: TextIO, redact: Callable[[str], str], *, verbose: bool, live: bool = False
    ) -> None:
        self._out, self._redact, self._verbose, self._live = out, redact, verbose, live
        self._reply, self._shown = TextStream(EscapeFilter(), self._show), ""
        self._width = min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns)
        self._held = ""
        self._calls: dict[str, tuple[ToolCall, str]] = {}
        self._finished: dict[str, ToolFinished] = {}
        self._questions: dict[str, Question] = {}
        self._open = False

    def feed(self, event: Event) -> None:
        """Tell of one event."""
        match event:
            case ToolStarted(call=call, emoji=emoji):
                self._tell_held()
                self._calls[call.id] = (shown_call(call, self._redact), emoji)
            case ToolFinished():
                self._finished[event.call_id] = event
            case Added(message=message):
                self._told(self._added(message))
            case Asked():
                self._questions[event.id] = shown_question(event.question, self._redact)
            case Answered():
                self._told(receipt_lines(self._questions.pop(event.id), event.answer, event.by, self._width))
            case Attempted(goes_on=True):
                self._told([attempt_line(event, event.delay, self._width)])
            case Notice() | ChildChanged() | GoalChanged():
                self._told(self._noticed(event))
            case TextDelta() | ReplyRestarted() | StepStarted():
                self._replied(event)
            case _:
                pass

    def finish(self, end: TurnFinished, output: Any = None) -> None:
        """The answer on stdout, as JSON where it has a form; what went wrong on stderr."""
        self._close()
        if end.failure is not None:
            self._tell_held()
            self._told(failure_lines(end.failure, _WHOLE, fix=_FIXES.get(end.failure.reason, "")))
        elif end.outcome == "interrupted":
            why = f": {end.reason}" if end.reason else "."
            sys.stderr.write(f"hermes: stopped{visible(self._redact(why))}\n")
        else:
            self._answer(end.text if output is None else json.dumps(output, ensure_ascii=False))
        if end.outcome == "refused":
            sys.stderr.write(f"hermes: {visible(self._redact(_why(end.refused)))}\n")
        if end.outcome == "budget" and (end.failure is None or end.failure.reason != "budget"):
            sys.stderr.write("hermes: the step limit was reached; --max-turns raises it.\n")

    def _answer(self, text: str) -> None:
        """The answer, unless it stands there already."""
        if not text or (self._live and self._shown.strip() == for_terminal(text).strip()):
            return
        self._out.write((for_terminal(text) if self._out.isatty() else text).rstrip("\n") + "\n")
        self._out.flush()

    def _noticed(self, event: Notice | ChildChanged | GoalChanged) -> list[Line]:
        if isinstance(event, GoalChanged):
            return goal_lines(event, self._width)
        if isinstance(event, Notice):
            return notice_lines(event, self._width)
        return [child_line(event, event.seconds, self._width)] if event.has_ended else []

    def _added(self, message: Message) -> list[Line]:
        match message:
            case ToolResult():
                return self._tool(message)
            case Assistant():
                self._held = message.text
                for call in message.calls:  # one that never starts has its result all the same
                    self._calls[call.id] = (shown_call(call, self._redact), "")
                return []
            case Compaction():
                return [compaction_line(message)]
            case _:
                return []

    def _tool(self, result: ToolResult) -> list[Line]:
        call, emoji = self._calls.get(
            result.call_id,
            (ToolCall(id=result.call_id, name=self._redact(result.name), arguments={}), ""),
        )
        end = self._finished.get(result.call_id)
        seconds, diff = (end.seconds, end.diff) if end else (0.0, "")
        lines = tool_lines(call, result, seconds, self._width, emoji=emoji, diff=diff)
        return lines if self._verbose or result.failed else lines[:1]

    def _tell_held(self) -> None:
        """What was said last, where it is not the answer and does not stand there yet."""
        text, self._held = self._held, ""
        if self._verbose and not self._live and text.strip():
            self._told([line(row) for row in for_terminal(text).splitlines()])

    def _replied(self, event: TextDelta | ReplyRestarted | StepStarted) -> None:
        self._tell_held()
        if not self._live:
            return
        if isinstance(event, TextDelta):
            self._reply.add(event.text)
            return
        if isinstance(event, ReplyRestarted):
            self._reply.forget()
            self._told([line(RESTARTED)])
        self._shown = ""

    def _show(self, text: str) -> None:
        """What the model says, as it comes."""
        self._shown += text
        self._write(text)

    def _write(self, text: str) -> None:
        self._out.write(text.encode("utf-8", "replace").decode())
        self._out.flush()
        self._open = not text.endswith("\n") if text else self._open

    def _close(self) -> None:
        """End the line that streamed text left open."""
        self._reply.end()
        if self._open:
            self._write("\n")

    def _told(self, lines: list[Line]) -> None:
        if not lines:
            return
        self._close()
        for styled in lines:
            shown = plain(span for span in styled if span != MORE_BY_KEY)
            sys.stderr.write(shown.rstrip() + "\n")
        sys.stderr.flush()


def _why(refused: Sequence[str]) -> str:
    """Which actions nobody could be asked about, which plan mode kept back, and which no answer allows."""
    kept: dict[str, list[str]] = {mark: [] for mark in _REFUSALS}
    for one in refused:
        mark = next((mark for mark in (NEVER, PLANNED) if one.endswith(mark)), "")
        kept[mark].append(one.removesuffix(mark))
    return " ".join(_REFUSALS[mark].format("; ".join(names)) for mark, names in kept.items() if names)


_REFUSALS: Final[Mapping[str, str]] = {
    "": "not allowed, and nobody can be asked here: {}. hermes approvals explain COMMAND says why, and"
    " whether anything lets it run; hermes mcp allow SERVER --trust, whether tools of a server ask.",
    NEVER: "never allowed, whatever is set or answered: {}. hermes approvals explain COMMAND says why.",
    PLANNED: "not done in plan mode, which this session was left in: {}. /plan on the screen ends it.",
}
