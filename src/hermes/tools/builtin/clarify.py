"""The clarify tool: ask the person a question, with choices or open."""

from collections.abc import Mapping
from typing import Any, Final

from hermes.tools.registry import registry, tool_error, tool_result
from hermes.types.question import Answer, Clarify, Deny, Reply
from hermes.types.tool import ToolManifest

MOST_CHOICES: Final = 4
UNANSWERED: Final = (
    "The user did not answer. Decide by yourself where that can be undone, else say what you need to know."
)

SCHEMA = {
    "name": "clarify",
    "description": (
        "Ask the user, and wait for the answer: with up to 4 choices (words of their own are always possible)"
        " or open. Only for what you cannot find out and should not assume; approvals are asked for by"
        " themselves."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "question": {"type": "string"},
            "choices": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_CHOICES},
        },
        "required": ["question"],
    },
}


async def clarify(args: Mapping[str, Any], **keywords: Any) -> str:
    """The answer in the person's words, or what the policy says where nobody answers."""
    context = keywords.get("ctx")
    if context is None:
        return tool_error("clarify needs a session; it cannot be called on its own.")
    question, choices = str(args["question"]).strip(), _choices(args)
    if not question:
        return tool_error("The question is empty; ask it in a sentence.")
    if len(choices) > MOST_CHOICES:
        return tool_error(f"There may be {MOST_CHOICES} choices; these are {len(choices)}.")
    answer: Answer = await context.ask(Clarify(text=question, options=choices))
    return tool_result(question=question, choices_offered=list(choices), **_said(answer))


def _choices(args: Mapping[str, Any]) -> tuple[str, ...]:
    """The choices, each once, without empty ones."""
    return tuple(dict.fromkeys(filter(None, (str(one).strip() for one in args.get("choices") or ()))))


def _said(answer: Answer) -> dict[str, str]:
    match answer:
        case Reply(text=text, decided=""):
            return {"user_response": text}
        case Reply(text=text):
            return {"user_response": "", "chosen": text, "note": "Nobody answered; the settings chose."}
        case Deny(reason=reason) if reason:
            return {"user_response": "", "note": reason}
        case _:
            return {"user_response": "", "note": UNANSWERED}


registry.register(
    name="clarify",
    toolset="clarify",
    schema=SCHEMA,
    handler=clarify,
    is_async=True,
    emoji="❓",
    manifest=ToolManifest(effects=()),
)
