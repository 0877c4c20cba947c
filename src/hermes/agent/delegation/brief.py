"""What a child is told: one prompt for all children of a place, and its own task as its first message."""

from functools import cache
from typing import Final

from hermes.lib.data_files import data_text
from hermes.types.delegation import ChildTask

_LEAVES: Final = "your children cannot hand anything on."
_MIDDLE: Final = "a child with the role orchestrator can hand parts on in turn."


def child_prompt(workspace: str, task: ChildTask, *, depth: int, deepest: int) -> str:
    """The system prompt of a child at a depth, counted from 1."""
    text = _text("child").format(workspace=workspace)
    if task.role == "leaf" or depth >= deepest:
        return text
    children = _LEAVES if depth + 1 >= deepest else _MIDDLE
    more = _text("orchestrator").format(depth=depth, deepest=deepest, children=children)
    return f"{text}\n\n{more}"


def first_message(task: ChildTask) -> str:
    """The task and its context."""
    context = f"\n\n# Context\n\n{task.context}" if task.context.strip() else ""
    return f"# Task\n\n{task.goal}{context}"


@cache
def _text(name: str) -> str:
    return data_text(f"prompts/{name}.md").strip()
