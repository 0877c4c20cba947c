"""The process tool: follow, feed and stop background processes."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from hermes.tools.outcome import no_session, workspace_of
from hermes.tools.registry import registry, tool_error, tool_result
from hermes.types.error import ExecError
from hermes.types.workspace import Processes, ProcessState

LONGEST_WAIT: Final = 180


async def process(args: Mapping[str, Any], **keywords: Any) -> str:
    """Carry out one action on a background process and give its state."""
    workspace = workspace_of(keywords)
    if workspace is None:
        return no_session("process")
    action = str(args.get("action", ""))
    if action == "list":
        return tool_result(processes=[_described(state) for state in workspace.processes.list()])
    if action not in _ACTIONS:
        return tool_error(f"action must be one of: list, {', '.join(_ACTIONS)}")
    process_id = str(args.get("session_id") or "")
    try:
        state = await _ACTIONS[action](workspace.processes, process_id, args)
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


async def _poll(processes: Processes, process_id: str, _args: Mapping[str, Any]) -> ProcessState:
    return processes.poll(process_id)


async def _log(processes: Processes, process_id: str, args: Mapping[str, Any]) -> ProcessState:
    return processes.log(process_id, offset=max(0, int(args.get("offset") or 0)), limit=max(1, int(args.get("limit") or 200)))


async def _wait(processes: Processes, process_id: str, args: Mapping[str, Any]) -> ProcessState:
    return await processes.wait(process_id, min(max(1, int(args.get("timeout") or LONGEST_WAIT)), LONGEST_WAIT))


async def _kill(processes: Processes, process_id: str, _args: Mapping[str, Any]) -> ProcessState:
    return await processes.kill(process_id)


async def _write(processes: Processes, process_id: str, args: Mapping[str, Any]) -> ProcessState:
    return await processes.write(process_id, str(args.get("data") or ""))


async def _submit(processes: Processes, process_id: str, args: Mapping[str, Any]) -> ProcessState:
    return await processes.write(process_id, str(args.get("data") or "") + "\n")


async def _close(processes: Processes, process_id: str, _args: Mapping[str, Any]) -> ProcessState:
    return await processes.close(process_id)


_ACTIONS: Final[dict[str, Callable[[Processes, str, Mapping[str, Any]], Awaitable[ProcessState]]]] = {
    "poll": _poll,
    "log": _log,
    "wait": _wait,
    "kill": _kill,
    "write": _write,
    "submit": _submit,
    "close": _close,
}

registry.register(
    name="process",
    toolset="terminal",
    schema={
        "name": "process",
        "description": "Background processes started by terminal: list; poll (state, last output); log (lines); wait (until it ends); "
        "kill; write (to its input); submit (write and Enter); close (its input).",
        "parameters": {
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": ["list", *_ACTIONS]},
                "session_id": {"type": "string", "description": "Its id, for all but list"},
                "data": {"type": "string", "description": "Text for write and submit"},
                "timeout": {"type": "integer", "minimum": 1, "description": f"Seconds for wait, at most {LONGEST_WAIT}"},
                "offset": {"type": "integer", "description": "First line for log; default the last lines"},
                "limit": {"type": "integer", "minimum": 1, "description": "Lines for log, default 200"},
            },
            "required": ["action"],
        },
    },
    handler=process,
    is_async=True,
    emoji="⚙️",
)
