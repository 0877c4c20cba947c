"""From events to terminal lines: tool calls, questions and their receipts, failures, retries, notices."""

from hermes.lib.text import duration, strip_escapes
from hermes.lib.visible import visible
from hermes.present.diff import change, files_changed
from hermes.present.outcome import Outcome, outcome
from hermes.present.plan import plan_lines
from hermes.present.spans import MORE_BY_KEY, Line, Span, columns, cut, line, pad, wrap
from hermes.present.words import Words, call_words, dollars, tokens
from hermes.types.error import Failure
from hermes.types.event import Attempted, Notice, PrefixBroken
from hermes.types.message import Compaction, ToolCall, ToolResult
from hermes.types.question import Answer, Approve, Deny, Grant, Question

SHORTENED = "Older results are sent in short"
_INDENT = 6
_TAIL = 5
_DIFF = 20
_EVERY = 1_000_000
_NAMES_ITS_FILE = frozenset({"patch", "write_file"})
_WIDEST = 100  # on a wide screen the seconds must still be near the command
_SIDE = 14  # room for the outcome, so that the seconds of calls stand in one column
_ROOMY = 60


def tool_lines(
    call: ToolCall,
    result: ToolResult,
    seconds: float | None,
    width: int,
    *,
    emoji: str = "",
    diff: str = "",
    whole: bool = False,
) -> list[Line]:
    """A finished call: one line, then the last lines of its output and its change (`whole` shows all,
    unwrapped).

    `seconds` is None where nobody has kept how long it took; `diff` is a change that its result does not
    have.
    """
    end = outcome(call, result)
    clock = "" if seconds is None else duration(seconds)
    words = call_words(call, emoji=emoji, whole=whole)
    diff, rows = end.diff or diff, tuple[Line, ...]()
    word = Span(end.word, "" if end.ok else "error")
    if diff:
        named = call.name not in _NAMES_ITS_FILE
        shown = change(diff, width - _INDENT, longest=_EVERY if whole else _DIFF, named=named)
        rows, word = shown.rows, Span(shown.count, "good") if end.ok else word
    spoken = Words(emoji=words.emoji, verb=words.verb, argument=words.argument + end.range, more=words.more)
    head = head_line(spoken, clock, word, width)
    if end.plan:
        items = plan_lines(end.plan, width - _INDENT, longest=len(end.plan)) if whole else []
        return [head, *_indented(items)]
    extra = _whole_command(words, width) if whole else []
    return [head, *extra, *_tail(end, width, whole=whole), *_indented(rows)]


def running_lines(
    call: ToolCall, output: str, seconds: float, width: int, *, emoji: str, spinner: str
) -> list[Line]:
    """A call that runs: its line with a live clock, and the last three lines of its output."""
    head = head_line(call_words(call, emoji=emoji), duration(seconds), Span(spinner, "accent"), width)
    rows = [row for row in strip_escapes(output).expandtabs(4).splitlines() if row.strip()]
    return [head, *_indented([cut(line(row, "dim"), width - _INDENT) for row in rows[-3:]])]


def waiting_line(call: ToolCall, width: int, *, emoji: str) -> Line:
    """A call that a question holds up."""
    return head_line(call_words(call, emoji=emoji), "", Span("waits for you", "warning"), width)


def queued_line(call: ToolCall, after: ToolCall | None, width: int) -> Line:
    """A call that waits for one before it."""
    told = f"waits for {call_words(after).verb}" if after else "waits"
    return head_line(call_words(call), "", Span(told, "dim"), width)


def head_line(words: Words, seconds: str, side: Span, width: int) -> Line:
    """Emoji, verb and argument on the left, seconds and outcome on the right, in `width` cells at most."""
    width = min(width, _WIDEST)
    left: Line = (*pad(line(words.emoji), 2), Span(" "), Span(f"{words.verb:<6} ", "strong"))
    clock: Line = (Span(f"{seconds:>6}", "dim"), Span("  ")) if seconds else ()
    right = (*clock, side) if side.text else clock[:1]
    room = _SIDE if width >= _ROOMY else 0
    space = width - columns(left) - max(columns(right), 6 + room) - 2
    more = f"  +{words.more}" if words.more else ""
    argument = (*cut(line(words.argument), max(8, space - len(more))), Span(more, "dim"))
    return cut((*left, *pad(argument, space), Span("  "), *right), width)


def _indented(rows: list[Line] | tuple[Line, ...]) -> list[Line]:
    return [(Span(" " * _INDENT), *row) for row in rows]


def _tail(end: Outcome, width: int, *, whole: bool) -> list[Line]:
    rows = end.output.split("\n") if end.output else []
    shown = rows if whole else rows[-_TAIL:]
    lines = [line(row, "dim") if whole else cut(line(row, "dim"), width - _INDENT) for row in shown]
    hidden = len(rows) - len(shown)
    if hidden:
        earlier = "1 earlier line" if hidden == 1 else f"{hidden} earlier lines"
        lines.append((Span(f"… {earlier}", "dim"), MORE_BY_KEY))
    return _indented(lines)


def _whole_command(words: Words, width: int) -> list[Line]:
    """The command as it was given, where its line shows only a part."""
    if not words.more and len(words.whole) < width - 2 * _INDENT and "\n" not in words.whole:
        return []
    return _indented(
        [row for part in words.whole.split("\n") for row in wrap(line(part), max(8, width - _INDENT))]
    )


def notice_lines(notice: Notice, width: int) -> list[Line]:
    """A notice, wrapped; its level is a word, not only a colour."""
    head = {"info": (), "warning": (Span("warning: ", "warning"),), "error": (Span("error: ", "error"),)}[
        notice.level
    ]
    return [
        row
        for part in strip_escapes(notice.text).splitlines()
        for row in wrap(line(part, "dim" if not head else ""), width, first=head)
    ]


def failure_lines(failure: Failure, width: int, *, key: str = "", fix: str = "") -> list[Line]:
    """A model failure: the provider's own sentence, the address and the key's last four, what to do; each
    wrapped, none cut.

    A fault that is not a provider's (it has no address) is its own sentence, whole.
    """
    status = f" ({failure.status})" if failure.status else ""
    sentence = " ".join(strip_escapes(failure.message).split()) or failure.reason.replace("_", " ")
    if failure.reason == "unknown" and not failure.address:
        return wrap(line(sentence), width, first=(Span("✗ ", "error"),), rest=(Span("  "),))
    first: Line = (Span("✗ ", "error"), Span(f"{_CAUSES[failure.reason]}{status}: ", "error"), Span(sentence))
    where = " · ".join(part for part in (failure.address, f"key …{key[-4:]}" if key else "") if part)
    more = [line(where, "dim")] * bool(where) + [line(fix)] * bool(fix)
    indent: Line = (Span("  "),)
    rows = [row for part in more for row in wrap(part, width, first=indent, rest=indent)]
    return [*wrap(first, width, rest=indent), *rows]


_CAUSES = {
    "auth": "the key was refused",
    "auth_permanent": "the account was refused",
    "billing": "the account cannot pay",
    "rate_limit": "too many requests",
    "overloaded": "the model is overloaded",
    "server_error": "the server failed",
    "timeout": "no answer in time",
    "connection": "no connection",
    "connection_refused": "no server runs there",
    "cut_short": "the server cut the reply",
    "certificate": "the server's certificate is not trusted",
    "bad_reply": "the server sent something that is no reply",
    "empty_reply": "the model gave no answer",
    "context_overflow": "the conversation is too long for the model",
    "payload_too_large": "the request is too large",
    "image_too_large": "an image is too large",
    "model_not_found": "no such model",
    "provider_policy_blocked": "the provider's policy forbids it",
    "content_policy_blocked": "the provider refused the content",
    "format_error": "the server did not accept the request",
    "plugin_failed": "the request was not sent",
    "thinking_signature": "the server did not take back its own reasoning",
    "tool_images": "the model takes no images from tools",
    "parameter": "the model does not take a parameter",
    "long_context_tier": "the account may not use the long window",
    "llama_cpp_grammar_pattern": "the server cannot read a tool's pattern",
    "budget": "the budget is spent",
    "unknown": "the model call failed",
}


RESTARTED = "↺ The reply was cut; it begins again:"


def attempt_line(event: Attempted, remaining: float, width: int) -> Line:
    """One line to be updated in place: cause, address, and what follows: a pause, another key, another model,
    or less in the request.
    """
    failure = event.failure
    if failure is None:
        return line(f"{event.provider}/{event.model} answered")
    cause = _CAUSES[failure.reason] + (f" ({failure.status})" if failure.status else "")
    follows = {
        "wait": f"retrying in {max(0, round(remaining))}s · try {event.attempt} of {event.attempts}",
        "next_credential": "going on with the next key",
        "next_endpoint": f"going on with {event.next}",
        "leave_out": f"once more without {event.next.replace('_', ' ')}",
    }.get(event.action, "giving up")
    where = f" · {failure.address}" if failure.address else ""
    left = cut(line(f"{cause}{where}", "warning"), max(8, width - len(follows) - 3))
    return cut((*left, Span(f" · {follows}")), width)


def broken_line(event: PrefixBroken, width: int) -> Line:
    """Why the provider must read the prompt anew, and what that costs at most."""
    cost = f", about {dollars(event.cost)}" if event.cost else ""
    return cut(line(f"The prompt is read anew: {event.reason}{cost}", "dim"), width)


def question_words(question: Question) -> str:
    """What a question is about, in one line."""
    asked = asked_about(question) if isinstance(question, Approve) else strip_escapes(question.text)
    return " ".join(asked.split())


def asked_about(question: Approve) -> str:
    """What may happen or not: the command, or how many files a change is of."""
    return files_changed(visible(question.diff)) or visible(question.command)


def receipt_lines(question: Question, answer: Answer, by: str, width: int) -> list[Line]:
    """What stays of a question: the choice, by whom, and what it was about."""
    who = "you" if by in {"person", "user", "you"} else by
    if isinstance(answer, Grant):
        scope = {
            "once": "allowed once",
            "session": "allowed for this session",
            "always": "allowed from now on",
        }[answer.scope]
        head = (Span("✓ ", "good"), Span(f"{scope} by {who}: "))
    elif isinstance(answer, Deny):
        what = "denied" if isinstance(question, Approve) else "left unanswered"
        head = (Span("✗ ", "error"), Span(f"{what} by {who}: "))
    else:
        return wrap(line(answer.text, "dim"), width, first=(Span("❓ "),), rest=(Span("  "),))
    rows = [cut((*head, Span(question_words(question), "dim")), width)]
    if isinstance(answer, Deny) and answer.reason and who == "you":
        rows.append(cut(line(f"  {answer.reason}", "dim"), width))
    return rows


def user_lines(text: str, width: int) -> list[Line]:
    """A message as it was sent: whole if short, else its first three lines, a count, and the last line."""
    rows = strip_escapes(text).expandtabs(4).split("\n")
    if len(rows) > _TAIL:
        rows = [*rows[:3], f"… {len(rows) - 4} more lines", rows[-1]]
    first: Line = (Span("❯ ", "prompt"),)
    lines: list[Line] = []
    for number, row in enumerate(rows):
        wrapped = wrap(
            line(row, "strong"), width, first=(Span("  "),) if number else first, rest=(Span("  "),)
        )
        lines += [*wrapped[:3], line("  …", "dim"), wrapped[-1]] if len(wrapped) > _TAIL else wrapped
    return lines


def thinking_line(seconds: float) -> Line:
    """What stays of a model's reasoning when it is folded."""
    return line(f"✻ thought for {duration(seconds)} · Ctrl-T", "dim")


def thought_lines(text: str, width: int) -> list[Line]:
    """A model's reasoning, whole."""
    return [
        row
        for part in strip_escapes(text).split("\n")
        for row in wrap(line(part, "dim"), width, first=(Span("  "),), rest=(Span("  "),))
    ]


def compaction_line(entry: Compaction) -> Line:
    """What an entry left out of what the model sees, and what that saved."""
    if entry.saved_nothing:
        return line(f"… Nothing older could be left out: {tokens(entry.before)} tokens", "dim")
    what = (
        f"{entry.dropped} older messages were summed up"
        if entry.dropped
        else "Older results are sent in short"
    )
    saved = f": {tokens(entry.before)} → {tokens(entry.after)} tokens" if entry.before else ""
    about = f", mostly about {entry.focus}" if entry.focus else ""
    return line(f"… {what}{about}{saved}", "dim")
