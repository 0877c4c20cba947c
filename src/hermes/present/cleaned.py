"""Calls and questions without secrets: what was written by a model runs as it is, and is shown as this."""

from collections.abc import Callable

from msgspec.structs import replace

from hermes.lib.codec import with_texts
from hermes.types.message import ToolCall
from hermes.types.question import Approve, Question


def shown_call(call: ToolCall, redact: Callable[[str], str]) -> ToolCall:
    """The call with name and arguments as people and programs may see them."""
    return replace(call, name=redact(call.name), arguments=with_texts(call.arguments, redact), raw="")


def shown_question(question: Question, redact: Callable[[str], str]) -> Question:
    """The question with words as people and programs may see them."""
    if not isinstance(question, Approve):
        return question
    reasons = tuple(map(redact, question.reasons))
    return replace(question, command=redact(question.command), reasons=reasons)
