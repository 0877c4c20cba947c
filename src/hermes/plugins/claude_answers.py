"""What a command written for Claude Code answers: by its exit code, in JSON, or in words."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.config.misfits import misfit
from hermes.lib.text import clip
from hermes.plugins.claude_hooks import ClaudeHook
from hermes.plugins.hook_process import BLOCKS, FOR_MODEL, HookRun, UnreadableAnswer

FOR_PERSON: Final = 2_000
"""Letters of a hook's words that a person is shown."""
_LONGEST: Final[Mapping[str, int]] = {
    "stops": FOR_PERSON,
    "blocks": FOR_MODEL,
    "asks": FOR_PERSON,
    "context": FOR_MODEL,
    "printed": FOR_MODEL,
    "told": FOR_PERSON,
}
UNREAD: Final = "{} has given an answer that cannot be read: {}."


class ClaudeAnswer(Struct, frozen=True, kw_only=True):
    """An answer: why it stops the turn, why it blocks what was to happen, and why a person is to be asked,
    each "" where it does not; words for the model; what it has printed that is no JSON; what the user is
    told; and the arguments that a call should have instead of its own.
    """

    stops: str = ""
    blocks: str = ""
    asks: str = ""
    context: str = ""
    printed: str = ""
    told: str = ""
    arguments: Mapping[str, Any] | None = None


class ClaudeDecision(Struct, frozen=True, kw_only=True, rename="camel"):
    """What an answer may say of a call, as Claude Code has it."""

    permission_decision: Literal["allow", "deny", "ask", "defer"] | None = None
    permission_decision_reason: str | None = None
    additional_context: str | None = None
    updated_input: dict[str, Any] | None = None


class ClaudeJson(Struct, frozen=True, kw_only=True, rename="camel"):
    """An answer in JSON, as Claude Code has it; a decision about a call may stand at its top, too."""

    continue_: bool | None = msgspec.field(default=None, name="continue")
    stop_reason: str | None = None
    decision: Literal["approve", "allow", "block", "deny"] | None = None
    reason: str | None = None
    system_message: str | None = None
    permission_decision: Literal["allow", "deny", "ask", "defer"] | None = None
    permission_decision_reason: str | None = None
    hook_specific_output: ClaudeDecision | None = None


def answer_of_claude(one: ClaudeHook, ran: HookRun, redact: Callable[[str], str] = str) -> ClaudeAnswer:
    """The answer of a command without known secrets, as long as it may be. One that cannot be read blocks
    what the command guards, and is told elsewhere.
    """
    try:
        found = _answer(one.words, ran)
    except UnreadableAnswer as error:
        why = UNREAD.format(one.words, error)
        found = ClaudeAnswer(blocks=why) if one.guards else ClaudeAnswer(told=why)
    # first, for what is cut in the middle of a secret is not known to be one
    return _bounded(replace(found, **{name: redact(getattr(found, name)) for name in _LONGEST}))


def decisions_of(answer: dict[str, Any]) -> ClaudeJson:
    """What an answer in JSON decides; UnreadableAnswer where that is nothing that is known."""
    try:
        return msgspec.convert(answer, ClaudeJson)
    except msgspec.ValidationError as error:
        raise UnreadableAnswer(misfit(error, ClaudeJson)) from error


def together(answers: Iterable[ClaudeAnswer]) -> ClaudeAnswer:
    """What several answers come to, no longer than one of them may be."""
    every = list(answers)
    joined = {name: "\n".join(filter(None, (getattr(one, name) for one in every))) for name in _LONGEST}
    return _bounded(replace(ClaudeAnswer(), **joined))


def _bounded(answer: ClaudeAnswer) -> ClaudeAnswer:
    return replace(answer, **{name: clip(getattr(answer, name), most) for name, most in _LONGEST.items()})


def _answer(words: str, ran: HookRun) -> ClaudeAnswer:
    if ran.code == BLOCKS:
        return ClaudeAnswer(blocks=ran.errors.strip() or f"{words} blocked it.")
    if ran.code != 0:
        return ClaudeAnswer(told=f"{words} {ran.how}")
    found = ran.answer()
    if found is None:
        return ClaudeAnswer(printed=ran.printed)
    return _decoded(words, decisions_of(found))


def _decoded(words: str, answer: ClaudeJson) -> ClaudeAnswer:
    special = answer.hook_specific_output or ClaudeDecision()
    decisions = {special.permission_decision, answer.permission_decision}
    reasons = (special.permission_decision_reason, answer.permission_decision_reason, answer.reason)
    reason = next(filter(None, reasons), "")
    blocks = answer.decision in {"block", "deny"} or "deny" in decisions
    return ClaudeAnswer(
        stops=(answer.stop_reason or f"{words} stopped it.") if answer.continue_ is False else "",
        blocks=(reason or f"{words} blocked it.") if blocks else "",
        asks=(reason or f"{words} wants you to look at this") if decisions & {"ask", "defer"} else "",
        context=special.additional_context or "",
        told=answer.system_message or "",
        arguments=special.updated_input,
    )
