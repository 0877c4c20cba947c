"""The delegate_task tool: hand work to children, each a session of its own with a fresh context."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hermes.tools.registry import registry, tool_error, tool_result
from hermes.types.delegation import ChildTask
from hermes.types.error import HermesError
from hermes.types.tool import ToolManifest

MOST_TASKS: Final = 32
LATER: Final = "Each reports with a later message; go on meanwhile, and do not wait for them."
NOT_LATER: Final = "There is no later turn here, so this call has waited for them."
DESCRIPTION: Final = (
    "Hand work to a child agent with a fresh context and the same workspace; only its report comes back. It"
    " knows nothing of this conversation: goal and context must say all it needs. Use it for what takes many"
    " steps and leaves little to tell, several independent parts as tasks; not for what one or two calls do."
)

_TASK = {
    "goal": {"type": "string", "description": "What to do, and what to report"},
    "context": {"type": "string", "description": "Paths, facts, constraints"},
    "toolsets": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Only these of your toolsets. One is terminal.",
    },
    "role": {"type": "string", "enum": ["leaf", "orchestrator"], "description": "Default leaf"},
}
SCHEMA = {
    "name": "delegate_task",
    "description": DESCRIPTION,
    "parameters": {
        "type": "object",
        "properties": {
            **_TASK,
            "tasks": {
                "type": "array",
                "maxItems": MOST_TASKS,
                "items": {"type": "object", "properties": _TASK, "required": ["goal"]},
                "description": "Several at once, instead of goal",
            },
            "background": {
                "type": "boolean",
                "description": "Return at once; the report comes with a later message",
            },
        },
        "required": [],
    },
}


async def delegate_task(args: Mapping[str, Any], **keywords: Any) -> str:
    """The reports of the children, or which were started."""
    context = keywords.get("ctx")
    if context is None:
        return tool_error("delegate_task needs a session; it cannot be called on its own.")
    tasks = _tasks(args)
    if not tasks or any(not one.goal for one in tasks):
        return tool_error("Each task needs a goal: goal, or tasks with a goal each.")
    if len(tasks) > MOST_TASKS:
        return tool_error(f"A call takes at most {MOST_TASKS} tasks; these are {len(tasks)}.")
    try:
        started = await context.delegate_later(tasks) if args.get("background") else ()
        if started:
            return _started(tasks, started)
        reports = await context.delegate(tasks)
    except HermesError as error:
        return tool_error(str(error))
    note = {"note": NOT_LATER} if args.get("background") else {}
    return tool_result(results=[one.as_result(number) for number, one in enumerate(reports)], **note)


def _tasks(args: Mapping[str, Any]) -> list[ChildTask]:
    wanted = args.get("tasks") or ([args] if args.get("goal") else [])
    return [
        ChildTask(
            goal=str(one.get("goal") or "").strip(),
            context=str(one.get("context") or ""),
            toolsets=tuple(str(name) for name in one.get("toolsets") or ()),
            role="orchestrator" if one.get("role") == "orchestrator" else "leaf",
        )
        for one in wanted
    ]


def _started(tasks: Sequence[ChildTask], sessions: Sequence[str]) -> str:
    children = [
        {"task_index": number, "session_id": session, "goal": task.goal}
        for number, (task, session) in enumerate(zip(tasks, sessions, strict=True))
    ]
    return tool_result(status="started", children=children, note=LATER)


registry.register(
    name="delegate_task",
    toolset="delegation",
    schema=SCHEMA,
    handler=delegate_task,
    is_async=True,
    emoji="🧭",
    manifest=ToolManifest(effects=("files", "processes"), workspace=True),
)
