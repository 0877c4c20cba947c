"""The answers that a question offers, as a person chooses or types them, and what they cover."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from hermes.lib.lazy import import_object
from hermes.types.question import Answer, Approve, Clarify, Deny, Grant, Question, Reply, Scope

_WIDER: Final = re.compile(
    r"(?P<scope>session|always)(?: (?P<uses>[1-9]\d{0,3})(?: (?:uses?|times))?)?(?: for"
    r" (?P<count>[1-9]\d{0,3}) ?(?P<unit>[a-z]+))?"
)
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_UNITS: Final = {
    "second": "s", "seconds": "s", "sec": "s", "s": "s", "minute": "m", "minutes": "m", "min": "m", "m": "m",
    "hour": "h", "hours": "h", "h": "h", "day": "d", "days": "d", "d": "d",
}  # fmt: skip

_DOING: Final = {"read": "reading", "write": "writing", "delete": "deleting"}


@dataclass(frozen=True, slots=True)
class AnswerChoice:
    """One answer and the keys that choose it, the first of which is shown; without an answer it asks for
    words first.
    """

    keys: tuple[str, ...]
    label: str
    answer: Answer | None


ONCE, SESSION, ALWAYS, NO, OTHERWISE = ("1",), ("2",), ("3",), ("4", "n"), ("5",)
"""The keys of an answer: the same in each question, whichever answers it has."""


def answer_choices(question: Question, config_file: str) -> tuple[AnswerChoice, ...]:
    """What a question offers; `config_file` keeps an answer that is always to hold."""
    if isinstance(question, Clarify):
        given = ((option, Reply(text=option)) for option in question.options)
        options = (*given, ("another answer: type it", None))
        return tuple(AnswerChoice((str(number),), *option) for number, option in enumerate(options, 1))
    rows = [AnswerChoice(ONCE, "once", Grant(scope="once"))]
    if question.session_pattern:
        told = f"this session: {covers(question.session_pattern)}"
        rows.append(AnswerChoice(SESSION, told, Grant(scope="session")))
    if question.always_pattern:
        told = f"always: {covers(question.always_pattern)} (saved in {config_file})"
        rows.append(AnswerChoice(ALWAYS, told, Grant(scope="always")))
    return (
        *rows,
        AnswerChoice(NO, "no (n)", Deny()),
        AnswerChoice(OTHERWISE, "no, and say what to do instead", None),
    )


def place_and_reasons(question: Approve) -> str:
    """Where an action would run, and why it was stopped."""
    return f"in {question.cwd}" + (
        f" · stopped because: {'; '.join(question.reasons)}" if question.reasons else ""
    )


def covers(pattern: str) -> str:
    """What a wider yes covers, in words, where the question shows the action itself."""
    scope: Scope = import_object("hermes.safety.grants:parse")(pattern)  # which reads commands, too
    needs = f", with no more than it needs now ({', '.join(scope.needs)})" if scope.needs else ""
    kept = (
        "its definition stays as it is" if scope.kind == "tool" else "the files that it runs stay as they are"
    )
    content = f", while {kept}" if scope.content else ""
    return f"{_covered(scope)}{needs}{content}"


def _covered(scope: Scope) -> str:
    match scope.kind:
        case "exact":
            where = f" in {scope.directory}" if scope.directory else " in any directory"
            return f"exactly this command{where}"
        case "program":
            return (
                f"every `{scope.words} …` in {scope.directory} that does nothing else"
                f" ({', '.join(scope.rules)})"
            )
        case "host":
            return f"every command that needs only {scope.words} of the network"
        case "path":
            return f"{_DOING[scope.words]} {scope.path}, whatever is in it"
        case "tool":
            return f"every call of {scope.words}, whatever it is called with"
        case "edits":
            return f"{scope.words}, so that edits ask no longer"
        case "rules":
            return f"every command, in any directory, that does nothing else ({', '.join(scope.rules)})"


def limits(question: Approve) -> str:
    """A sentence with words for a yes with a limit, where the question offers one that lasts."""
    session = ("session 3 uses", "session for 2 h") if question.session_pattern else ()
    offered = (*session, "always for 7 days") if question.always_pattern else session
    return f"Or a limited yes: {', '.join(offered)}." if offered else ""


def answer_from(text: str, question: Approve, now: float) -> Answer:
    """What typed words mean; all but a plain yes that the question offers is a no, and other words say what
    to do instead.
    """
    said = " ".join(text.split()).lower()
    if said in {"yes", "once"}:
        return Grant()
    return _wider(said, question, now) or Deny(reason="" if said in {"", "no", "n"} else text.strip())


def words_under_no(text: str, question: Approve, now: float) -> Answer:
    """What words mean that a person typed after having chosen no: a yes only where it has a limit, for there
    are choices for one without.
    """
    answer = answer_from(text, question, now)
    unlimited = isinstance(answer, Grant) and not (answer.uses or answer.until)
    return Deny(reason=text.strip()) if unlimited else answer


def _wider(said: str, question: Approve, now: float) -> Grant | None:
    found = _WIDER.fullmatch(said)
    unit = _UNITS.get(found["unit"] or "s") if found else None
    if found is None or unit is None:
        return None
    scope: Literal["session", "always"] = "session" if found["scope"] == "session" else "always"
    if not (question.session_pattern if scope == "session" else question.always_pattern):
        return None
    until = now + int(found["count"]) * _SECONDS[unit] if found["count"] else 0.0
    return Grant(scope=scope, uses=int(found["uses"] or 0), until=until)
