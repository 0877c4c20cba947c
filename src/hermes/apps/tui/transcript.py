"""What of a session stays in the scrollback, and what is still moving: events in, finished lines out."""

from hermes.agent.activity import PHASES, Activity, after
from hermes.apps.tui.standing_plan import StandingPlan
from hermes.apps.tui.turn_end import end_rows, is_remark
from hermes.apps.tui.underway import (
    KEPT_OUTPUT,
    FinishedCall,
    Movement,
    Running,
    TurnProgress,
    at_work,
    doing,
    ended_lines,
    hear_call,
    held_up_by,
    inner_lines,
    inner_rows,
    pass_over_wait,
    printer,
    whole_seconds,
)
from hermes.present.children import child_line
from hermes.present.goals import goal_lines
from hermes.present.lines import (
    RESTARTED,
    attempt_line,
    broken_line,
    compaction_line,
    notice_lines,
    queued_line,
    receipt_lines,
    running_lines,
    thinking_line,
    thought_lines,
    user_lines,
    waiting_line,
)
from hermes.present.markdown import MarkdownStream
from hermes.present.spans import Line, Span, cut, cut_text, fitting, line
from hermes.present.theme import Theme
from hermes.present.words import tokens
from hermes.types.event import (
    Added,
    Answered,
    Asked,
    Attempted,
    ChildChanged,
    Event,
    GoalChanged,
    Notice,
    PrefixBroken,
    ReplyRestarted,
    TextDelta,
    ThinkingDelta,
    Titled,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from hermes.types.message import Assistant, Compaction, ToolCall, ToolResult
from hermes.types.question import Clarify, Deny, Question

_QUIET = 10.0
_CENT = 0.01
_FRAME = 0.04
_NOTHING: tuple[float, int, list[Line]] = (0.0, 0, [])
_THOUGHT_ROWS = 5
_SHORTEST = 8


class Transcript:
    """Feed it events in order. Times are seconds of one clock; `width` may be changed at any time."""

    def __init__(self, *, width: int, config_fix: str, key: str = "", show_thinking: bool = False) -> None:
        self.width = width
        self.key = key
        self.config_fix = config_fix
        self.show_thinking = show_thinking
        self.activity = Activity()
        self.turn: TurnProgress | None = None
        self.last_finished: list[FinishedCall] = []
        self.last_thought = ""
        self.plan = StandingPlan()
        self.asked: dict[str, Question] = {}
        self._markdown: MarkdownStream | None = None
        self._opened = _NOTHING
        self._running: dict[str, Running] = {}
        self._calls: dict[str, ToolCall] = {}
        self._thinking = ""
        self._thinking_since = 0.0
        self._retrying: tuple[Attempted, float] | None = None
        self._last, self._told_no = "", False
        self._replies: list[Line] = []

    def feed(self, event: Event, now: float) -> list[Line]:
        """The lines that `event` finished, to be printed once."""
        pass_over_wait(self._running, self.activity, event, now)
        self.activity = after(self.activity, event, now)
        match event:
            case TextDelta() | ThinkingDelta():
                return self._flowing(event, now)
            case Added():
                return self._added(event, now)
            case Answered():
                return self._answered(event)
            case TurnFinished():
                return self._ended(event, now)
            case Notice() | ReplyRestarted() | PrefixBroken() | ChildChanged() | GoalChanged():
                return self._noticed(event, now)
            case Titled():
                return []
            case Attempted():
                self._moved(event, now)
                return self._changed_course(event)
            case _:
                self._moved(event, now)
                return []

    def _changed_course(self, event: Attempted) -> list[Line]:
        """What a person should find later: another key or model, or a part left out. Pauses pass."""
        if event.goes_on and event.action != "wait":
            return self.block("notice", [attempt_line(event, 0.0, self.width)])
        return []

    def _noticed(
        self, notice: Notice | ReplyRestarted | PrefixBroken | ChildChanged | GoalChanged, now: float
    ) -> list[Line]:
        """A notice; while a model is made ready, before its first step, progress shows in the working line
        instead.
        """
        if isinstance(notice, ChildChanged):
            return self._child(notice, now)
        if isinstance(notice, GoalChanged):
            return self.block("notice", goal_lines(notice, self.width))
        if isinstance(notice, ReplyRestarted):
            return [*self._close_text(), *self.block("notice", [line(RESTARTED, "warning")])]
        if isinstance(notice, PrefixBroken):
            return (
                self.block("notice", [broken_line(notice, self.width)])
                if (notice.cost or 0.0) >= _CENT
                else []
            )
        if self.turn is not None and self.activity.phase == "starting" and notice.level == "info":
            self.turn.readying = notice.text
            return []
        return self.block("notice", notice_lines(notice, self.width))

    def _moved(self, event: Movement, now: float) -> None:
        if isinstance(event, TurnStarted):
            self.turn = TurnProgress()
        elif isinstance(event, ToolStarted | ToolProgress | ToolFinished):
            hear_call(self._running, event, now)
        elif isinstance(event, Attempted):
            self._retrying = (event, now + event.delay) if event.goes_on else None
        elif isinstance(event, Asked):
            self.asked[event.id] = event.question
        elif self.turn is not None:
            self._retrying, self.turn.readying = None, ""

    @property
    def lively(self) -> bool:
        """Whether something runs, so that clocks must move."""
        return self.turn is not None or bool(self._running)

    def block(self, kind: str, rows: list[Line]) -> list[Line]:
        """`rows`, after an empty line when they are of another kind than what was printed last."""
        if not rows:
            return []
        gap = kind != self._last or kind in {"text", "user"}
        first = not self._last
        self._last = kind
        return [(), *rows] if gap and not first else rows

    def sent(self, text: str) -> list[Line]:
        """The echo of a message that was sent."""
        return self.block("user", user_lines(text, self.width))

    def moving(self, now: float, theme: Theme, tick: int) -> list[Line]:
        """What is not finished: the open paragraph and the running calls."""
        rows: list[Line] = []
        opened = self._open_text(now)
        if opened:
            rows += self._led("text", opened)
        if self._running:
            tools = [
                row for run in self._in_order() for row in self._running_rows(run, now, theme.spinner(tick))
            ]
            rows += [(), *tools] if rows or self._last not in {"tool", ""} else tools
        return rows

    def working(self, now: float, theme: Theme, tick: int) -> list[Line]:
        """The line that tells what is going on in a turn, or while older messages are summed up between two;
        none when nothing is.
        """
        turn, began = self.turn, self.activity.began
        if turn is None:
            if self.activity.phase != "summing_up":
                return []
            turn, began = TurnProgress(), self.activity.phase_since
        if self._retrying is not None:
            event, until = self._retrying
            told = attempt_line(event, until - now, self.width - 2)
            return [(Span(theme.spinner(tick) + " ", "accent"), *told)]
        usage = turn.usage
        written = usage.output_tokens + turn.streamed // 4
        parts = [whole_seconds(now - began)]
        if now - self.activity.heard > _QUIET and not self._running and not self.asked:
            parts.append(f"nothing heard for {whole_seconds(now - self.activity.heard)}")
        if usage.input_tokens or written:
            parts.append(f"↑{tokens(usage.input_tokens)} ↓{tokens(written)}")
        end = " · Esc stops"
        doing = cut_text(self._doing(), max(_SHORTEST, self.width - 2 - len(end) - len(parts[0]) - 3))
        row: Line = (
            Span(theme.spinner(tick) + " ", "accent"),
            Span(fitting((doing, *parts), self.width - 2 - len(end))),
            Span(end, "dim"),
        )
        return [cut(row, self.width)]

    def _doing(self) -> str:
        if self.asked:
            return "waiting for you"
        readying = self.turn.readying if self.turn else ""
        return doing(at_work(self._running)) or readying or PHASES[self.activity.phase]

    @property
    def printer(self) -> str:
        """The tool that printed something now, where only one may have done it; "" for none."""
        return printer(at_work(self._running), self.turn)

    def _flowing(self, event: TextDelta | ThinkingDelta, now: float) -> list[Line]:
        self._retrying = None
        if self.turn is not None:
            self.turn.streamed += len(event.text)
        if isinstance(event, ThinkingDelta):
            self._thinking_since = self._thinking_since if self._thinking else now
            self._thinking += event.text
            return []
        rows = self._thought(now)
        if self._markdown is None:
            self._markdown = MarkdownStream(self.width)
        self._markdown.width = self.width
        return [*rows, *self._text(self._markdown.feed(event.text))]

    def _thought(self, now: float) -> list[Line]:
        if not self._thinking.strip():
            return []
        self.last_thought, self._thinking = self._thinking.strip(), ""
        rows = [thinking_line(now - self._thinking_since)]
        if self.show_thinking:
            rows = self.thought_lines()
        return self.block("thinking", rows)

    def thought_lines(self) -> list[Line]:
        """The last reasoning, whole."""
        thought = self._thinking.strip() or self.last_thought
        return (
            thought_lines(thought, self.width)
            if thought
            else [line("No reasoning came with the replies.", "dim")]
        )

    def _text(self, rows: list[Line]) -> list[Line]:
        """Finished text; only its first rows get a gap, the stream makes those between blocks."""
        if not rows:
            return []
        self._opened = _NOTHING
        led = self._led("text", rows)
        self._last = "text open"
        return led

    def _led(self, kind: str, rows: list[Line]) -> list[Line]:
        return rows if self._last in {"", f"{kind} open"} else [(), *rows]

    def _open_text(self, now: float) -> list[Line]:
        """The open paragraph; between two pictures it is not rendered again, so that a key is echoed at
        once.
        """
        if self._markdown is None:
            return self._open_thought(now)
        at, width, rows = self._opened
        if width != self.width or not 0 <= now - at < _FRAME:
            rows = self._markdown.open_lines()
            self._opened = (now, self.width, rows)
        return rows

    def _open_thought(self, now: float) -> list[Line]:
        if not self._thinking.strip():
            return []
        head = cut(line(f"✻ thinking · {whole_seconds(now - self._thinking_since)}", "dim"), self.width)
        return (
            [head, *thought_lines(self._thinking.strip()[-KEPT_OUTPUT:], self.width)[-_THOUGHT_ROWS:]]
            if self.show_thinking
            else [head]
        )

    def _close_text(self) -> list[Line]:
        if self._markdown is None:
            return []
        rows = self._text(self._markdown.finish())
        self._markdown, self._opened = None, _NOTHING
        self._last = "text" if self._last == "text open" else self._last
        return rows

    def _child(self, event: ChildChanged, now: float) -> list[Line]:
        """A child has its line below its call; one in the background leaves a line when it has ended."""
        run = self._running.get(event.call_id)
        if run is not None:
            run.children[event.child] = (event, now - event.seconds)
        if not (event.background and event.has_ended):
            return []
        return self.block("notice", [child_line(event, event.seconds, self.width)])

    def _in_order(self) -> "list[Running | ToolCall]":
        """The calls that run and, in the model's order, those that still wait for them."""
        own = [run for name, run in self._running.items() if name not in self._calls]
        return [*own, *(self._running.get(name, call) for name, call in self._calls.items())]

    def _running_rows(self, run: Running | ToolCall, now: float, spinner: str) -> list[Line]:
        if isinstance(run, ToolCall) and self.asked:
            return [waiting_line(run, self.width, emoji="")]
        if isinstance(run, ToolCall):
            return [queued_line(run, held_up_by(run, self._calls, self._running), self.width)]
        if run.seconds is not None:
            rows = ended_lines(run, run.seconds, self.width)
            return rows[:1] if at_work(self._running) else rows  # the last one stands as it will be printed
        if self.asked:
            return [waiting_line(run.call, self.width, emoji=run.emoji)]
        if run.children or run.calls:
            return inner_lines(run, now, self.width, spinner)
        return running_lines(
            run.call, run.output, now - run.started, self.width, emoji=run.emoji, spinner=spinner
        )

    def _answered(self, event: Answered) -> list[Line]:
        question = self.asked.pop(event.id, None)
        self._told_no = isinstance(event.answer, Deny)
        rows = receipt_lines(question, event.answer, event.by, self.width) if question else []
        if isinstance(question, Clarify) and self._running:  # its call's line, with the question, comes first
            self._replies += rows
            return []
        return self.block("tool", rows)

    def _added(self, event: Added, now: float) -> list[Line]:
        if isinstance(event.message, Assistant):
            return self._replied(event.message, now)
        if isinstance(event.message, ToolResult):
            return self._returned(event.message, now)
        if isinstance(event.message, Compaction):
            return self.block("notice", [compaction_line(event.message)])
        return []

    def _replied(self, reply: Assistant, now: float) -> list[Line]:
        self._retrying = None
        if self.turn is not None:
            self.turn.usage += reply.usage
            self.turn.streamed = 0
        self._calls |= {call.id: call for call in reply.calls}
        rows = self._thought(now)
        if self._markdown is None and reply.text.strip() and not is_remark(reply):
            self._markdown = MarkdownStream(self.width)
            rows += self._text(self._markdown.feed(reply.text))
        return [*rows, *self._close_text()]

    def _returned(self, result: ToolResult, now: float) -> list[Line]:
        run = self._running.pop(result.call_id, None)
        asked = self._calls.pop(result.call_id, ToolCall(id=result.call_id, name=result.name, arguments={}))
        call = run.call if run else asked
        seconds = 0.0 if run is None else run.seconds if run.seconds is not None else now - run.started
        emoji, diff = (run.emoji, run.diff) if run else ("", "")
        done = FinishedCall(call=call, result=result, seconds=seconds, emoji=emoji, diff=diff)
        if self.turn is not None:
            self.turn.finished.append(done)
        rows = [*done.lines(self.width), *self.plan.take(call, result, self.width)]
        told, self._told_no = self._told_no and result.failed, False
        rows, self._replies = [*(rows[:1] if told else rows), *self._replies], []
        return self.block("tool", [*rows, *inner_rows(run, now, self.width)])

    def _ended(self, event: TurnFinished, now: float) -> list[Line]:
        rows = [*self._thought(now), *self._close_text(), *self.block("plan", self.plan.end(self.width))]
        self.last_finished = self.turn.finished if self.turn and self.turn.finished else self.last_finished
        self.turn, self._retrying = None, None
        self._running.clear()
        self._calls.clear()
        self.asked.clear()
        self._replies.clear()
        return [
            *rows,
            *self.block("end", end_rows(event, self.width, key=self.key, config_fix=self.config_fix)),
        ]

    def whole(self, *, every: bool) -> list[Line]:
        """The last call of the last turn with all of its output, or every call of it."""
        finished = self.turn.finished if self.turn and self.turn.finished else self.last_finished
        shown = finished if every else finished[-1:]
        return [row for done in shown for row in done.lines(self.width, whole=True)]
