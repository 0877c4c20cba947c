"""Hooks in the form of Claude Code: groups of commands by event, with a matcher; which of them can be run."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import anyio
import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from hermes.config.misfits import misfit
from hermes.plugins.claude_calls import names_there
from hermes.plugins.claude_matchers import fault_of, fitting
from hermes.plugins.hook_imports import import_variables
from hermes.plugins.hook_process import HookProgram
from hermes.plugins.settings import ShellHook, label_of
from hermes.tools.toolsets import bundled

POINTS: Final[Mapping[str, str]] = {
    "PreToolUse": "pre_tool_call",
    "PostToolUse": "transform_tool_result",
    "PostToolUseFailure": "transform_tool_result",
    "UserPromptSubmit": "pre_llm_call",
    "Stop": "pre_verify",
    "SubagentStart": "subagent_start",
    "SubagentStop": "pre_verify",
    "SessionStart": "on_session_start",
    "SessionEnd": "on_session_finalize",
    "Notification": "pre_approval_request",
}
"""The hook points at which the events of Claude Code are seen."""
NOT_HERE: Final = frozenset(
    {
        *("PostToolBatch", "PermissionRequest", "PermissionDenied", "UserPromptExpansion", "StopFailure"),
        *("PreCompact", "PostCompact", "Elicitation", "ElicitationResult", "TeammateIdle", "TaskCreated"),
        *("TaskCompleted", "Setup", "InstructionsLoaded", "CwdChanged", "FileChanged", "ConfigChange"),
        *("WorktreeCreate", "WorktreeRemove", "PreModelSwitch", "PostModelSwitch", "MessageDisplay"),
        "DirectoryAdded",
    }
)
"""Events that Claude Code has and that are no hook point here."""
PROJECT: Final = "CLAUDE_PROJECT_DIR"
LONGEST: Final = 600.0
"""Seconds that a command may take at most, and takes where nothing else is said."""
_FIRST: Final = re.compile(r"\s*([\w./~+@%:-]+)(?=[\s;]|\Z)")
_WHERE: Final = 'command -v -- "$1"'
_ASKED_FOR: Final = 5.0
_CLOSING: Final = 4.0
"""Seconds at the end of a session, less than it may take to close."""
_SHELLS: Final = ("/bin/bash", "/bin/sh")


class ClaudeCommand(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"only_if": "if"}):
    """A command of a group, as the settings of Claude Code have it."""

    command: str
    type: Literal["command"] = "command"
    timeout: Annotated[float, Meta(gt=0)] = LONGEST
    statusMessage: str = ""  # noqa: N815  # as it is called there
    shell: str = ""
    args: list[str] | None = None
    only_if: str = ""
    once: bool = False
    async_: bool = msgspec.field(default=False, name="async")
    asyncRewake: bool = False  # noqa: N815  # as above

    @property
    def never(self) -> str:
        """Why it is not run; "" where it is."""
        if self.args is not None:
            return "a list of arguments has no place here; write them into command"
        return f"there is no shell {self.shell} here" if self.shell not in {"", "bash"} else ""

    @property
    def unheard(self) -> list[str]:
        """The fields that it has and that change nothing here."""
        given = {"if": self.only_if, "once": self.once, "async": self.async_, "asyncRewake": self.asyncRewake}
        return [name for name, value in given.items() if value]


class ClaudeHook(Struct, frozen=True, kw_only=True):
    """A command of the settings at an event of Claude Code; `unheard` are fields that change nothing here."""

    event: str
    hook: ShellHook
    unheard: Sequence[str] = ()

    @property
    def point(self) -> str:
        """The hook point."""
        return POINTS[self.event]

    @property
    def guards(self) -> bool:
        """Whether it says what may happen; nothing does where nobody knows what it says."""
        return self.event == "PreToolUse"

    @property
    def words(self) -> str:
        """What people are told of it."""
        return label_of(self.event, self.hook.command)

    @property
    def notices(self) -> list[str]:
        """What a person should know of it."""
        if not self.unheard:
            return []
        fields = ", ".join(self.unheard)
        return [f"{fields} changes nothing here: it is run each time that its matcher fits, and waited for."]

    def fits(self, *names: str) -> bool:
        """Whether it is meant for what has one of these names."""
        return self.fitting(names) is not None

    def fitting(self, names: Sequence[str]) -> str | None:
        """The first of the names that its matcher fits, "" where there is none to fit."""
        return fitting(self.hook.matcher, names)

    def faults(self, project: Path, environ: Mapping[str, str]) -> Iterator[str]:
        """What keeps it from being run whoever says yes: a program that is not there. Only the shell knows
        that, and it is asked where the first word is a plain one.
        """
        if found := _FIRST.match(self.hook.command):
            word = str(Path(found[1]).expanduser()) if found[1].startswith("~") else found[1]
            own = self.program(project, environ)
            asking = replace(own, argv=[*own.argv[:2], _WHERE, own.argv[0], word], seconds=_ASKED_FOR)
            if anyio.run(asking.run, {}).code:
                yield f"{word} is not there, or cannot be run"

    def doubts(self) -> Iterator[str]:
        """What may be otherwise than is meant: a matcher that fits no tool. What servers offer is not known
        before they are asked.
        """
        tools = {name for one in bundled().values() for name in one.tools} | names_there()
        if "ToolUse" in self.event and "mcp" not in self.hook.matcher and not self.fits(*tools):
            yield f"its matcher {self.hook.matcher!r} fits no tool that is known here"

    def program(self, project: Path, environ: Mapping[str, str]) -> HookProgram:
        """What is run: a shell reads the command in the folder of the project."""
        shell = next((one for one in _SHELLS if Path(one).exists()), _SHELLS[-1])
        return HookProgram(
            argv=[shell, "-c", self.hook.command],
            environ=environ,
            seconds=self.hook.timeout,
            more={PROJECT: str(project), **import_variables(self.hook, project, environ)},
            cwd=project,
        )


class HookLeftOut(Struct, frozen=True, kw_only=True):
    """An entry of a group that is not run, and why."""

    event: str
    matcher: str
    what: str
    why: str

    @property
    def words(self) -> str:
        """What people are told of it."""
        return f"{label_of(self.event, self.what)} is not run: {self.why}."


def in_claudes_form(event: str, group: ShellHook) -> Iterator[ClaudeHook | HookLeftOut]:
    """The commands of a group, and what of it is not run."""
    for given in group.hooks or ():
        yield _entry(event, group.matcher, given)


def _entry(event: str, matcher: str, given: Mapping[str, Any]) -> ClaudeHook | HookLeftOut:
    kind = given.get("type", "command")
    what = str(given.get("command") or f"a hook of the type {kind}")
    if kind != "command":
        why = f"hooks of the type {kind} have no place here"
        return HookLeftOut(event=event, matcher=matcher, what=what, why=why)
    try:
        one = msgspec.convert(given, ClaudeCommand)
    except msgspec.ValidationError as error:
        why = misfit(error, ClaudeCommand)
        return HookLeftOut(event=event, matcher=matcher, what=what, why=why)
    if why := _without_point(event) or one.never or fault_of(matcher):
        return HookLeftOut(event=event, matcher=matcher, what=what, why=why)
    seconds = min(one.timeout, _CLOSING if event == "SessionEnd" else LONGEST)
    hook = ShellHook(command=one.command, matcher=matcher, timeout=seconds, shell=True)  # noqa: S604  # a setting
    return ClaudeHook(event=event, hook=hook, unheard=one.unheard)


def _without_point(event: str) -> str:
    """Why nothing is run at an event; "" where something is."""
    if event in NOT_HERE:
        return f"{event} is no hook point here"
    known = ", ".join(sorted(POINTS))
    return "" if event in POINTS else f"{event} is no event of Claude Code's form; there are {known}"
