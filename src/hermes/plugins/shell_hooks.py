"""Commands at hook points: each gets JSON on its standard input and answers in JSON, or by its exit code."""

import logging
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
from anyio.abc import ByteReceiveStream
from msgspec import Struct

from hermes.environments.child_env import child_environment
from hermes.hooks import SPECS, WHEN, HookCallback, Hooks
from hermes.lib.child_processes import open_process
from hermes.plugins.hook_consent import HookConsent, words_of
from hermes.plugins.settings import ShellHook, ShellHookSettings
from hermes.types.error import ConfigError

logger = logging.getLogger(__name__)

ELSEWHERE: Final[Mapping[str, str]] = {
    "PreToolUse": "pre_tool_call",
    "PostToolUse": "post_tool_call",
    "UserPromptSubmit": "pre_llm_call",
    "Stop": "pre_verify",
    "SubagentStop": "subagent_stop",
    "SessionStart": "on_session_start",
    "SessionEnd": "on_session_finalize",
    "Notification": "pre_approval_request",
}
"""What the hook points are called in the settings of other agents."""
BLOCKS: Final = 2
"""The exit code of a command that blocks what was to happen; what it says on standard error is why."""
_MOST: Final = 1_000_000
_NAMED: Final = frozenset({"tool_name", "args", "session_id"})


class HookRun(Struct, frozen=True, kw_only=True):
    """How a command has ended: its exit code, None where its time was over, and what it has printed."""

    code: int | None
    output: str = ""
    errors: str = ""


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
        return f"hook {self.event}: {self.hook.command}"

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
        given = msgspec.json.encode(told, enc_hook=str)
        words = self.argv
        with anyio.move_on_after(self.hook.timeout):
            return await _ran(words, given, child_environment(environ).given)
        return HookRun(code=None)


def point_of(event: str) -> str:
    """The hook point of that name, here or elsewhere; ConfigError where there is none that commands can be
    run at.
    """
    point = ELSEWHERE.get(event, event)
    if point not in SPECS or SPECS[point].kind == "around":
        known = ", ".join(sorted({*ELSEWHERE, *SPECS}))
        raise ConfigError(f"hooks.{event} is no hook point; there are {known}.", key="hooks")
    return point


def question_of(one: CommandHook, news: str) -> str:
    """What a person is asked about a command: what it is, when it is run, and why it is asked about."""
    return f"{one.words}\nIt is run {WHEN[one.point]}. {news} Run it from now on?"


def command_hooks(settings: Mapping[str, Sequence[ShellHook]]) -> list[CommandHook]:
    """Every command of the settings, in their order."""
    return [CommandHook(event=event, hook=one) for event, some in settings.items() for one in some]


def callback_of(
    one: CommandHook,
    may_run: Callable[[str, ShellHook], bool],
    environ: Mapping[str, str],
    told: set[str],
) -> HookCallback:
    """What is called at the hook point: the command, where it may be run as it is now; where not, that is
    logged unless it was `told`.
    """

    async def run(**offered: Any) -> Any:
        if not one.fits(str(offered.get("tool_name", ""))):
            return None
        if not may_run(one.event, one.hook):
            if one.words not in told:
                logger.warning("%s", not_accepted(one))
            told.add(one.words)
            return None
        return answer_of(one, await one.run(offered, environ))

    run.__qualname__ = one.words
    return run


def register_commands(
    hooks: Hooks, settings: ShellHookSettings, consent: HookConsent, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """Have the commands of the settings run at their points; what a person should know of them."""
    told: dict[str, str] = {}
    known: set[str] = set()
    may_run = _anything if settings.hooks_auto_accept else consent.covers
    for one in command_hooks(settings.hooks):
        seconds = one.hook.timeout + 1
        hooks.register(
            one.point, callback_of(one, may_run, environ, known), owner="the settings", seconds=seconds
        )
        one.fits("")
        if not may_run(one.event, one.hook):
            told[one.words] = not_accepted(one)
    known.update(told)
    return tuple(told.values())


def _anything(event: str, hook: ShellHook) -> bool:
    """Whether a command may run where the user wants none of them asked about."""
    del event, hook
    return True


def not_accepted(one: CommandHook) -> str:
    """What is told of a command that nobody has said yes to."""
    return f"{one.words} is not run: nobody has said yes to it as it is now; hermes hooks list tells more."


def answer_of(one: CommandHook, ran: HookRun) -> Any:
    """What a command answers, in the form that callbacks have."""
    if ran.code == BLOCKS:
        return {"action": "block", "message": ran.errors.strip() or f"{one.words} blocked it."}
    if ran.code != 0:
        how = "was not done in time" if ran.code is None else f"failed with {ran.code}: {ran.errors[:500]}"
        logger.warning("%s %s", one.words, how)
        return None
    try:
        found = msgspec.json.decode(ran.output)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return ran.output.rstrip("\n") or None
    return _as_ours(found) if isinstance(found, dict) else None


def _as_ours(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer in our form, where it has that of other agents."""
    special = answer.get("hookSpecificOutput")
    special = special if isinstance(special, dict) else {}
    words = str(special.get("permissionDecisionReason") or answer.get("reason") or "")
    match special.get("permissionDecision"):
        case "deny":
            return {"action": "block", "message": words}
        case "ask":
            return {"action": "approve", "message": words}
    context = special.get("additionalContext")
    return {**answer, "context": context} if isinstance(context, str) else answer


async def _ran(words: Sequence[str], given: bytes, environ: Mapping[str, str]) -> HookRun:
    output, errors = bytearray(), bytearray()
    try:
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        async with open_process(words, **pipes, env=dict(environ), start_new_session=True) as process:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_read, process.stdout, output)
                    tasks.start_soon(_read, process.stderr, errors)
                    if process.stdin is not None:
                        with suppress(anyio.BrokenResourceError):  # it does not want to know
                            await process.stdin.send(given)
                        await process.stdin.aclose()
                    code = await process.wait()
                    tasks.cancel_scope.deadline = anyio.current_time() + 0.5
            finally:
                if process.returncode is None:  # what it has started goes with it
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL)
    except OSError as error:
        return HookRun(code=127, errors=f"it cannot be started: {error.strerror or error}")
    return HookRun(
        code=code, output=output.decode("utf-8", "replace"), errors=errors.decode("utf-8", "replace")
    )


async def _read(stream: ByteReceiveStream | None, printed: bytearray) -> None:
    """Read all, and keep as much as an answer may be."""
    if stream is not None:
        async for chunk in stream:
            printed += chunk[: max(0, _MOST - len(printed))]
