"""What a command written for Claude Code answers: by its exit code, in JSON, or in words."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from hermes.plugins.hook_process import BLOCKS, HookRun


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


def answer_of_claude(words: str, ran: HookRun) -> ClaudeAnswer:
    """The answer of a command that people know by these words."""
    if ran.code == BLOCKS:
        return ClaudeAnswer(blocks=ran.errors.strip() or f"{words} blocked it.")
    if ran.code != 0:
        return ClaudeAnswer(told=f"{words} {ran.how}")
    try:
        found = msgspec.json.decode(ran.output)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return ClaudeAnswer(printed=ran.output.strip())
    return _decoded(words, found) if isinstance(found, dict) else ClaudeAnswer(printed=ran.output.strip())


def together(answers: Iterable[ClaudeAnswer]) -> ClaudeAnswer:
    """What several answers come to."""
    every = list(answers)
    return ClaudeAnswer(
        stops=_lines(one.stops for one in every),
        blocks=_lines(one.blocks for one in every),
        asks=_lines(one.asks for one in every),
        context=_lines(one.context for one in every),
        printed=_lines(one.printed for one in every),
        told=_lines(one.told for one in every),
    )


def _lines(words: Iterable[str]) -> str:
    return "\n".join(filter(None, words))


def _decoded(words: str, answer: dict[str, Any]) -> ClaudeAnswer:
    special = answer.get("hookSpecificOutput")
    special = special if isinstance(special, dict) else {}
    decision = special.get("permissionDecision")
    reason = _text(special.get("permissionDecisionReason")) or _text(answer.get("reason"))
    blocks = answer.get("decision") in {"block", "deny"} or decision == "deny"
    updated = special.get("updatedInput")
    return ClaudeAnswer(
        stops=(_text(answer.get("stopReason")) or f"{words} stopped it.")
        if answer.get("continue") is False
        else "",
        blocks=(reason or f"{words} blocked it.") if blocks else "",
        asks=(reason or f"{words} wants you to look at this") if decision in {"ask", "defer"} else "",
        context=_text(special.get("additionalContext")),
        told=_text(answer.get("systemMessage")),
        arguments=updated if isinstance(updated, dict) else None,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
