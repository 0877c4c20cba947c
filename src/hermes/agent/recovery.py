"""After a crash: every call that was cut gets exactly one answer, and none is run again (invariants 1 and
2).
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from hermes.store.protocol import StoredQuestion
from hermes.tools.registry import tool_error
from hermes.types.message import ToolCall, ToolResult
from hermes.types.ports import Ports
from hermes.types.question import Clarify

CUT = "outcome_unknown"
UNKNOWN = (
    "Hermes stopped while this call ran; its outcome is unknown. Look at what it may have done before doing"
    " it again."
)
NEVER_RAN = (
    "Hermes stopped before this call was run; it changed nothing. Make it again if it is still needed."
)

ASKED = (
    "Hermes stopped while this call waited for a person's answer to the question {!r}; nothing was done after"
    " the question. {}"
)
_STATES: Mapping[str, str] = {
    "answered": "The answer has come: make the same call again to have it used.",
    "open": "It is still open: make the same call again when it should be asked on.",
    "expired": "Nobody answered in time.",
}


def answers(
    open_calls: tuple[ToolCall, ...],
    begun: Mapping[str, ToolResult | None],
    ports: Ports,
    questions: Sequence[StoredQuestion] = (),
) -> Iterator[ToolResult]:
    """The missing results: the outcome that was written, or that the call waited for the answer to one of
    the questions, or that the outcome is unknown, or that the call never ran.
    """
    waited = {one.call_id: one for one in questions}
    for call in open_calls:
        written = begun.get(call.id)
        if written is not None and not is_cut(written):
            yield written
        elif call.id in waited:
            yield _missing(call, ports, _asked(waited[call.id], ports.now()), "waited_for_answer")
        elif call.id in begun:
            outside = written.outside if written else _read(call, begun)
            yield cut(call, ports, outside=outside, **_made(call, begun))
        else:
            yield unrun(call, NEVER_RAN, ports)


def cut(call: ToolCall, ports: Ports, *, outside: str = "", **more: int) -> ToolResult:
    """The answer to a call whose process ended while it ran, which may have read from `outside`."""
    return replace(_missing(call, ports, UNKNOWN, CUT, **more), outside=outside)


def is_cut(result: ToolResult) -> bool:
    """Whether it was written before the call ended, for the case that its process does not live to see it."""
    return result.content == tool_error(UNKNOWN, status=CUT)


def unrun(call: ToolCall, why: str, ports: Ports) -> ToolResult:
    """The answer to a call that was not run."""
    return _missing(call, ports, why, "not_run")


def _asked(asked: StoredQuestion, now: float) -> str:
    question = asked.question
    state = "expired" if asked.state == "open" and not asked.is_open(now) else asked.state
    return ASKED.format(question.text if isinstance(question, Clarify) else question.command, _STATES[state])


def _made(call: ToolCall, begun: Mapping[str, ToolResult | None]) -> dict[str, int]:
    """How many of the calls that a script made had ended, and how many had not."""
    own = _calls_of(call, begun)
    ended = sum(result is not None and not is_cut(result) for result in own)
    return {"calls_ended": ended, "calls_cut": len(own) - ended} if own else {}


def _calls_of(call: ToolCall, begun: Mapping[str, ToolResult | None]) -> list[ToolResult | None]:
    return [result for name, result in begun.items() if name.startswith(f"{call.id}/")]


def _read(call: ToolCall, begun: Mapping[str, ToolResult | None]) -> str:
    """What a script had read from outside; "" where it had not, or the call ran none."""
    return next((one.outside for one in _calls_of(call, begun) if one is not None and one.outside), "")


def _missing(call: ToolCall, ports: Ports, words: str, status: str, **more: int) -> ToolResult:
    content = tool_error(words, status=status, **more)
    return ToolResult(
        id=ports.token(), at=ports.now(), call_id=call.id, name=call.name, content=content, failed=True
    )
