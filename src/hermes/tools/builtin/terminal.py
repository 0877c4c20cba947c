"""The terminal tool: shell commands, in the foreground or as background processes."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from hermes.tools.registry import registry, tool_error, tool_result
from hermes.tools.tool_replies import blocked, no_session, workspace_of
from hermes.types.error import ExecError, Refused
from hermes.types.needs import Needs
from hermes.types.tool import ToolManifest
from hermes.types.workspace import ExecResult

LONGEST_SECONDS: Final = 600

_MEANINGS: Final = {
    ("grep", 1): "no match",
    ("egrep", 1): "no match",
    ("rg", 1): "no match",
    ("diff", 1): "the files differ",
    ("cmp", 1): "the files differ",
    ("test", 1): "the condition is false",
    ("[", 1): "the condition is false",
    ("pgrep", 1): "no such process",
    ("which", 1): "not found",
}
_LEFT_RUNNING: Final = re.compile(r"(?<!&)&\s*$|\b(?:nohup|disown|setsid)\b")


async def terminal(args: Mapping[str, Any], **keywords: Any) -> str:
    """Run a command, or start it in the background; gives output and exit code, or the process's id."""
    workspace, context = workspace_of(keywords), keywords.get("ctx")
    if workspace is None or context is None:
        return no_session("terminal")
    if not isinstance(command := args.get("command"), str) or not command.strip():
        return tool_error("command must be a non-empty string")
    seconds = int(args.get("timeout") or workspace.time_limit)
    if not args.get("background") and not 1 <= seconds <= LONGEST_SECONDS:
        return tool_error(
            f"timeout must be 1 to {LONGEST_SECONDS} seconds; for longer work use background=true and the"
            " process tool"
        )
    given = args.get("needs") or {}
    if unknown := sorted(set(given) - set(Needs.__struct_fields__)):
        return tool_error(
            f"needs has no {', '.join(unknown)}; it takes {', '.join(Needs.__struct_fields__)}: hosts and"
            " paths are lists of text, network and unconfined true or false"
        )
    needs = msgspec.convert(given, Needs)
    try:
        if args.get("background"):
            state = await workspace.start(
                command,
                cwd=args.get("workdir"),
                pty=bool(args.get("pty")),
                needs=needs,
                notify=bool(args.get("notify_on_complete")),
            )
            started = {"output": "Background process started", "session_id": state.id}
            return tool_result(**started, pid=state.pid, exit_code=0, error=None)
        before = workspace.cwd
        done = await workspace.run(
            command,
            timeout=seconds,
            cwd=args.get("workdir"),
            pty=bool(args.get("pty")),
            needs=needs,
            on_output=context.progress,
        )
    except Refused as refusal:
        return blocked(refusal, output="", exit_code=-1)
    except ExecError as error:
        return tool_result(output="", exit_code=-1, error=str(error), status="error")
    shown = await context.command_output(command, done.text, done.code)
    return tool_result(_answer(command, replace(done, text=shown), before, seconds))


def _answer(command: str, done: ExecResult, before: str, seconds: int) -> dict[str, Any]:
    answer: dict[str, Any] = {"output": done.text, "exit_code": done.code, "error": None}
    if done.timed_out:
        answer["error"] = (
            f"timed out after {seconds} s and was killed; the output so far is kept. Use background=true for"
            " longer work."
        )
    if meaning := _meaning(command, done.code):
        answer["exit_code_meaning"] = meaning
    if done.denied:
        answer["denied"] = done.denied
    if done.cwd != before:
        answer["cwd"] = done.cwd
    if done.full:
        answer["full_output"] = done.full
    if _LEFT_RUNNING.search(command):
        answer["hint"] = (
            "What this left running may end with the call; use background=true for servers and long work."
        )
    return answer


def _meaning(command: str, code: int) -> str:
    """What the code says for a program that uses it for more than failure; only where it surely is that
    program's code.
    """
    last = command.strip().rpartition("|")[2].split()
    if re.search(r"[;&\n]", command) or not last:
        return ""
    return _MEANINGS.get((last[0], code), "")


registry.register(
    name="terminal",
    toolset="terminal",
    schema={
        "name": "terminal",
        "description": (
            "Run a bash command. Directory, exports and shell options carry over to the next call. No input"
            " is available; use flags that avoid questions. For files prefer read_file, write_file, patch and"
            " search_files."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command"},
                "background": {
                    "type": "boolean",
                    "description": "Start it and return at once; follow it with the process tool",
                    "default": False,
                },
                "timeout": {
                    "type": "integer",
                    "minimum": 1,
                    "description": f"Seconds, at most {LONGEST_SECONDS}; without it a usual limit",
                },
                "workdir": {"type": "string", "description": "Directory for this call only"},
                "pty": {"type": "boolean", "description": "Give it a terminal", "default": False},
                "needs": {
                    "type": "object",
                    "description": "What it needs beyond the sandbox, where there is one (the workspace is"
                    " writable; no network, no credentials, no services). The user is asked for exactly this",
                    "properties": {
                        "hosts": {
                            "type": "array",
                            "items": {"type": "string"},
                            "description": "Hosts to reach, such as example.org or *.github.com",
                        },
                        "network": {"type": "boolean", "description": "All of the network"},
                        "paths": {
                            "type": "array",
                            "items": {"type": "string"},
                            "description": "Folders outside the workspace to write in",
                        },
                        "unconfined": {
                            "type": "boolean",
                            "description": "Run without the sandbox: for services, devices, credentials",
                        },
                    },
                },
                "notify_on_complete": {
                    "type": "boolean",
                    "description": "With background: be told when it ends",
                    "default": False,
                },
            },
            "required": ["command"],
        },
    },
    handler=terminal,
    is_async=True,
    emoji="💻",
    max_result_size_chars=100_000,
    manifest=ToolManifest(effects=("files", "processes", "network"), workspace=True),
)
