"""Commands at hook points: each gets JSON on its standard input and answers in JSON, or by its exit code."""

import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from hermes.hooks import SPECS
from hermes.lib.text import clip
from hermes.plugins.claude_answers import UNREAD, decisions_of
from hermes.plugins.hook_consent import words_of
from hermes.plugins.hook_imports import import_variables
from hermes.plugins.hook_process import BLOCKS, FOR_MODEL, HookProgram, HookRun, UnreadableAnswer
from hermes.plugins.settings import ShellHook, label_of
from hermes.types.error import ConfigError

logger = logging.getLogger(__name__)

ELSEWHERE: Final[Mapping[str, str]] = {
    "PreToolUse": "pre_tool_call",
    "PostToolUse": "post_tool_call",
    "UserPromptSubmit": "pre_llm_call",
    "Stop": "pre_verify",
    "SubagentStart": "subagent_start",
    "SubagentStop": "subagent_stop",
    "SessionStart": "on_session_start",
    "SessionEnd": "on_session_finalize",
    "Notification": "pre_approval_request",
}
"""What the hook points are called in the settings of other agents."""
_NAMED: Final = frozenset({"tool_name", "args", "session_id"})


class CommandHook(Struct, frozen=True, kw_only=True):
    """A command of the settings at a hook point; `event` is what the settings call that."""

    event: str
    hook: ShellHook

    @property
    def point(self) -> str:
        """The hook point; ConfigError where there is none of this name that commands can be run at."""
        return point_of(self.event)

    @property
    def words(self) -> str:
        """What people are told of it."""
        return label_of(self.event, self.hook.command)

    @property
    def argv(self) -> list[str]:
        """Its arguments; ConfigError where they cannot be told."""
        if self.hook.shell:
            return ["/bin/sh", "-c", self.hook.command]
        program, *rest = words_of(self.hook.command) or [""]
        return [str(Path(program).expanduser()), *rest]

    def fits(self, tool: str) -> bool:
        """Whether it is meant for this tool; ConfigError where its pattern is none."""
        try:
            return not self.hook.matcher or re.fullmatch(self.hook.matcher, tool) is not None
        except re.error as error:
            raise ConfigError(f"{self.words}: its matcher is no pattern: {error}.", key="hooks") from error

    def faults(self) -> Iterator[str]:
        """What keeps it from being run whoever says yes: its settings, or a program that is not there."""
        try:
            _ = self.point
            self.fits("")
            program = self.argv[0]
            if shutil.which(program) is None:
                yield f"{program} is not there, or cannot be run"
        except ConfigError as error:
            yield str(error)

    async def run(self, offered: Mapping[str, Any], environ: Mapping[str, str]) -> HookRun:
        """Run it on what the point offers; where its time is over, it ends with all that it has started."""
        told = {
            "hook_event_name": self.event,
            "tool_name": offered.get("tool_name", ""),
            "tool_input": offered.get("args", {}),
            "session_id": offered.get("session_id", ""),
            "cwd": os.getcwd(),  # noqa: PTH109  # of the process, at once
            "extra": {name: value for name, value in offered.items() if name not in _NAMED},
        }
        more = import_variables(self.hook, None, environ)
        program = HookProgram(argv=self.argv, environ=environ, seconds=self.hook.timeout, more=more)
        return await program.run(told)


def point_of(event: str) -> str:
    """The hook point of that name, here or elsewhere; ConfigError where there is none that commands can be
    run at.
    """
    point = ELSEWHERE.get(event, event)
    if point not in SPECS or SPECS[point].kind == "around":
        known = ", ".join(sorted({*ELSEWHERE, *SPECS}))
        raise ConfigError(f"hooks.{event} is no hook point; there are {known}.", key="hooks")
    return point


def answer_of(one: CommandHook, ran: HookRun) -> Any:
    """What a command answers, in the form that callbacks have."""
    if ran.code == BLOCKS:
        return _block(ran.errors.strip() or f"{one.words} blocked it.")
    if ran.code != 0:
        logger.warning("%s %s", one.words, ran.how)
        return None
    if one.point == "pre_tool_call" and (why := _unread(ran)):
        return _block(UNREAD.format(one.words, why))
    try:
        found = ran.answer()
    except UnreadableAnswer:  # text like any other
        found = None
    if found is not None:
        return _as_ours(found)
    words = ran.output.rstrip("\n")
    return (clip(words, FOR_MODEL) if SPECS[one.point].kind == "add" else words) or None


def _unread(ran: HookRun) -> str:
    """Why nobody knows what an answer decides; "" where it can be read."""
    try:
        decisions_of(ran.answer() or {})
    except UnreadableAnswer as error:
        return str(error)
    return ""


def _block(why: str) -> dict[str, str]:
    return {"action": "block", "message": clip(why, FOR_MODEL)}


def _as_ours(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer in our form, where it has that of other agents."""
    special = answer.get("hookSpecificOutput")
    special = special if isinstance(special, dict) else {}
    words = str(special.get("permissionDecisionReason") or answer.get("reason") or "")
    if "deny" in (special.get("permissionDecision"), answer.get("decision")):
        return {"action": "block", "message": words}
    if special.get("permissionDecision") in ("ask", "defer"):
        return {"action": "approve", "message": words}
    context = special.get("additionalContext")
    return {**answer, "context": context} if isinstance(context, str) else answer
