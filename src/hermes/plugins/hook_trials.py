"""Run one command of `hooks` on made-up words, for somebody who tries it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from hermes.plugins.claude_answers import answer_of_claude
from hermes.plugins.claude_calls import absolute_from, calls_of, response_of
from hermes.plugins.claude_hooks import ClaudeHook
from hermes.plugins.hook_commands import AnyHook
from hermes.plugins.hook_process import HookRun
from hermes.plugins.shell_hooks import answer_of

_MADE_UP: Final[Mapping[str, Mapping[str, Any]]] = {
    "UserPromptSubmit": {"prompt": ""},
    "Stop": {"stop_hook_active": False},
    "SubagentStop": {"stop_hook_active": False},
    "SessionStart": {"source": "startup"},
    "SessionEnd": {"reason": "other"},
    "Notification": {"message": "", "notification_type": "permission_prompt"},
}
"""What commands in the form of Claude Code are told at events that are about no tool."""


class HookTrial(Struct, frozen=True, kw_only=True):
    """A call that is made up, where it is made, and the user's variables."""

    tool: str
    args: Mapping[str, Any]
    project: Path
    environ: Mapping[str, str]

    def fits(self, one: AnyHook) -> bool:
        """Whether a command would be run on it."""
        if isinstance(one, ClaudeHook):
            return bool(self._told(one))
        return one.fits(self.tool)

    async def run(self, one: AnyHook) -> list[tuple[HookRun, Any]]:
        """How a command ends, and what it answers, for each call that this one is to it."""
        if isinstance(one, ClaudeHook):
            program = one.program(self.project, self.environ)
            ran = [await program.run(told) for told in self._told(one)]
            return [(run, _said(one, run)) for run in ran]
        offered = {"tool_name": self.tool, "args": self.args, "session_id": "test"}
        done = await one.run(offered, self.environ)
        return [(done, answer_of(one, done))]

    def _told(self, one: ClaudeHook) -> list[dict[str, Any]]:
        where = {"session_id": "test", "transcript_path": "", "cwd": str(self.project)}
        base = {**where, "hook_event_name": one.event}
        if "ToolUse" not in one.event:
            return [{**base, **_MADE_UP.get(one.event, {})}]
        calls = calls_of(self.tool, self.args, absolute_from(lambda: str(self.project)))
        more = {} if one.event == "PreToolUse" else {"tool_response": response_of(calls[0], "{}")}
        return [
            {**base, "tool_name": call.named(name), "tool_input": call.arguments, **more}
            for call in calls
            if (name := one.fitting(call.names)) is not None
        ]


def _said(one: ClaudeHook, run: HookRun) -> dict[str, Any]:
    answer = msgspec.to_builtins(answer_of_claude(one, run))
    return {name: value for name, value in answer.items() if value}
