"""What a child may use: the tools of its parent, without those that belong to whoever talks to people."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from hermes.agent.delegation.brief import child_prompt
from hermes.agent.delegation.limited_tool import DELEGATE
from hermes.agent.spec import SessionOptions
from hermes.tools.toolsets import resolve_all
from hermes.types.actor import DELEGATION, Actor
from hermes.types.capabilities import Capabilities
from hermes.types.delegation import ChildTask
from hermes.types.error import HermesError

if TYPE_CHECKING:
    from hermes.agent.session import Session

BLOCKED: Final = frozenset(
    {DELEGATE, "clarify", "memory", "remember", "send_message", "execute_code", "cronjob"}
)
"""Tools that no child has, but that an orchestrator may delegate."""

_LASTING: Final = frozenset({"memory", "send"})
"""Effects of other tools that no child has either: what later sessions are told, and words to people."""

TOO_DEEP: Final = (
    "This session is at level {} and delegation.max_spawn_depth is {}: it can have no children. Do the work"
    " here."
)


def child_options(parent: "Session", task: ChildTask) -> SessionOptions:
    """How the child for a task is opened; HermesError where there may be none, or a toolset is unknown."""
    settings, depth = parent.services.delegation, parent.spec.depth + 1
    if depth > settings.max_spawn_depth:
        raise HermesError(TOO_DEEP.format(parent.spec.depth, settings.max_spawn_depth))
    return SessionOptions(
        model=settings.wanted_model,
        base_url=settings.base_url,
        effort=settings.reasoning_effort,
        system=child_prompt(str(parent.spec.cwd), task, depth=depth, deepest=settings.max_spawn_depth),
        cwd=parent.spec.cwd,
        source=DELEGATION,
        actor=Actor(app=DELEGATION, id=parent.id),
        yolo=parent.spec.yolo,
        attended=False,
        max_steps=settings.max_iterations,
        parent=parent.id,
        notes=parent.spec.notes,
        capabilities=Capabilities(tools=tuple(_names(parent, task, depth))),
    )


def _names(parent: "Session", task: ChildTask, depth: int) -> Iterable[str]:
    wanted = set(parent.tools.tools)
    if task.toolsets:
        wanted &= resolve_all(task.toolsets, parent.services.dispatcher.registry)
    wanted -= {name for name in wanted if not _LASTING.isdisjoint(parent.tools.tools[name].manifest.effects)}
    may_delegate = task.role == "orchestrator" and depth < parent.services.delegation.max_spawn_depth
    return sorted(wanted - BLOCKED | ({DELEGATE} & set(parent.tools.tools) if may_delegate else set()))
