"""The process tool: follow, feed and stop background processes."""

from collections.abc import Mapping
from typing import Any, Final

from hermes.tools.registry import registry, tool_error, tool_result
from hermes.tools.tool_replies import no_session, workspace_of
from hermes.types.error import ExecError
from hermes.types.tool import ToolManifest
from hermes.types.workspace import Processes, ProcessState

LONGEST_WAIT: Final = 180
_ACTIONS: Final = ("list", "poll", "log", "wait", "kill", "write", "submit", "close")


async def process(args: Mapping[str, Any], **keywords: Any) -> str:
    """Carry out one action on a background process and give its state."""
    workspace = workspace_of(keywords)
    if workspace is None:
        return no_session("process")
    action = str(args.get("action", ""))
    if action == "list":
        return tool_result(processes=[_described(state) for state in workspace.processes.list()])
    if action not in _ACTIONS:
        return tool_error(f"action must be one of: {', '.join(_ACTIONS)}")
    process_id = str(args.get("session_id") or "")
    try:
        state = await _state_after(action, workspace.processes, process_id, args)
    except KeyError:
        known = ", ".join(state.id for state in workspace.processes.list()) or "none"
        return tool_error(f"there is no process {process_id!r}; known are: {known}")
    except ExecError as error:
        return tool_error(str(error))
    return tool_result({**_described(state), "output": state.text, "total_chars": state.total_chars})


def _described(state: ProcessState) -> dict[str, Any]:
    return {
        "session_id": state.id,
        "command": state.command,
        "pid": state.pid,
        "status": "running" if state.code is None else "exited",
        "exit_code": state.code,
    }


async def _state_after(
    action: str, processes: Processes, process_id: str, args: Mapping[str, Any]
) -> ProcessState:
    match action:
        case "poll":
            return processes.poll(process_id)
        case "log":
            first, most = max(0, int(args.get("offset") or 0)), max(1, int(args.get("limit") or 200))
            return processes.log(process_id, offset=first, limit=most)
        case "wait":
            seconds = max(1, int(args.get("timeout") or LONGEST_WAIT))
            return await processes.wait(process_id, min(seconds, LONGEST_WAIT))
        case "kill":
            return await processes.kill(process_id)
        case "write" | "submit":
            enter = "\n" if action == "submit" else ""
            return await processes.write(process_id, str(args.get("data") or "") + enter)
        case _:
            return await processes.close(process_id)


registry.register(
    name="process",
    toolset="terminal",
    schema={
        "name": "process",
        "description": (
            "Background processes started by terminal: list; poll (state, last output); log (lines); wait"
            " (until it ends); kill; write (to its input); submit (write and Enter); close (its input)."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": list(_ACTIONS)},
                "session_id": {"type": "string", "description": "Its id, for all but list"},
                "data": {"type": "string", "description": "Text for write and submit"},
                "timeout": {
                    "type": "integer",
                    "minimum": 1,
                    "description": f"Seconds for wait, at most {LONGEST_WAIT}",
                },
                "offset": {"type": "integer", "description": "First line for log; default the last lines"},
                "limit": {"type": "integer", "minimum": 1, "description": "Lines for log, default 200"},
            },
            "required": ["action"],
        },
    },
    handler=process,
    is_async=True,
    emoji="⚙️",
    manifest=ToolManifest(effects=("processes",), workspace=True),
)
