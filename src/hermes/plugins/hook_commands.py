"""The commands of `hooks` in either form, at their hook points: each once a person has said yes to it."""

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from hermes.config.sections import Settings
from hermes.environments.settings import TerminalSettings
from hermes.hooks import WHEN, HookCallback
from hermes.lib.text import clip
from hermes.plugins.claude_events import ClaudeEvents, events_of, project_at
from hermes.plugins.claude_hooks import ClaudeHook, HookLeftOut, in_claudes_form
from hermes.plugins.hook_consent import HookConsent, bound_files
from hermes.plugins.host import PluginHost
from hermes.plugins.settings import ShellHook, ShellHookSettings
from hermes.plugins.shell_hooks import CommandHook, answer_of

logger = logging.getLogger(__name__)

AnyHook = CommandHook | ClaudeHook
_BOUND: Final = "A change of these files is asked about again: {}."
_UNBOUND: Final = "It names no file that is there: a change of what it runs would not be noticed."
_SHOWN: Final = 2_000
_ASKS: Final = "hermes hooks accept {} asks"


class HookChoice(Struct, frozen=True, kw_only=True):
    """Which commands may be run: those that were accepted, or `every` one; `told` are those, each with its
    project, of which it was said that they are not.
    """

    consent: HookConsent
    every: bool
    told: set[tuple[str, Path | None]] = field(default_factory=set)

    def covers(self, one: AnyHook, project: Path) -> bool:
        """Whether a command may be run as it is now, in this project."""
        return self.every or self.consent.covers(one.event, one.hook, place_of(one, project))

    def untold(self, one: AnyHook, project: Path) -> str:
        """What is told of a command that may not be run; "" where that was done."""
        known, key = len(self.told), (f"{one.event}: {one.hook.command}", place_of(one, project))
        self.told.add(key)
        return not_accepted(one) if len(self.told) > known else ""

    def lost(self, one: AnyHook, project: Path) -> str:
        """Why nothing may pass a command that does not run: there was a yes to it, and it was changed."""
        if self.every or not self.consent.has_changed(one.event, one.hook, place_of(one, project)):
            return ""
        return (
            f"{one.words} guards this, and was changed since the user's yes. Only the user can mend that:"
            f" {_ASKS.format(one.event)}; hermes hooks revoke takes the yes back."
        )


def every_entry(settings: Mapping[str, Sequence[ShellHook]]) -> list[AnyHook | HookLeftOut]:
    """Every command of the settings in their order, and what of them is not run."""
    return [
        one
        for event, some in settings.items()
        for entry in some
        for one in (
            in_claudes_form(event, entry)
            if entry.hooks is not None
            else [CommandHook(event=event, hook=entry)]
        )
    ]


def command_hooks(settings: Mapping[str, Sequence[ShellHook]]) -> list[AnyHook]:
    """Every command of the settings that can be run, in their order."""
    return [one for one in every_entry(settings) if not isinstance(one, HookLeftOut)]


def place_of(one: AnyHook, project: Path) -> Path | None:
    """The project that a yes to a command is for; None where it is for none."""
    return project if isinstance(one, ClaudeHook) else None


def question_of(one: AnyHook, project: Path, consent: HookConsent) -> str:
    """What a person is asked about a command: what it is, each line marked as one of its own, when and in
    which project it is run, which files the yes is for, and why it is asked about.
    """
    place = place_of(one, project)
    files, news = bound_files(one.hook, place), consent.news(one.event, one.hook, place)
    where = f" in {place}" if place else ""
    when = f"It is run {WHEN[one.point]}{where}."
    bound = _BOUND.format(clip(", ".join(files), _SHOWN, notice=" … ")) if files else _UNBOUND
    fits = f", matcher {one.hook.matcher!r}" if one.hook.matcher else ""
    command = "\n".join(f"│ {line}" for line in one.hook.command.splitlines())
    return f"hook {one.event}{fits}:\n{command}\n{when}\n{bound}\n{news} Run it from now on?"


def not_accepted(one: AnyHook) -> str:
    """What is told of a command that nobody has said yes to."""
    return f"{one.words} is not run: nobody has said yes to it as it is now; {_ASKS.format(one.event)}."


def notices_of(settings: Mapping[str, Sequence[ShellHook]]) -> list[str]:
    """What a person should know of entries that are not run, or not as they are written."""
    return [
        words
        for one in every_entry(settings)
        if not isinstance(one, CommandHook)
        for words in (
            [one.words] if isinstance(one, HookLeftOut) else [f"{one.words}: {told}" for told in one.notices]
        )
    ]


def project_of_work(settings: Settings) -> Path:
    """The project that sessions work in where nothing else is said."""
    return project_at(Path(settings[TerminalSettings].cwd).expanduser())


def register_commands(host: PluginHost, settings: Settings, consent: HookConsent) -> tuple[str, ...]:
    """Have the commands of the settings run at their points; what a person should know of them."""
    chosen, project = settings[ShellHookSettings], project_of_work(settings)
    every = command_hooks(chosen.hooks)
    choice = HookChoice(consent=consent, every=chosen.hooks_auto_accept)
    for one in every:
        one.fits("")
    theirs = ClaudeEvents(hooks=events_of(every), sessions=host.sessions, environ=host.environ, choice=choice)
    for point, call in theirs.callbacks.items():  # each command has a time of its own
        host.hooks.register(point, call, owner="the settings", seconds=math.inf)
    for one in every:
        if isinstance(one, CommandHook):
            callback, seconds = _callback(one, choice, host.environ), one.hook.timeout + 1
            host.hooks.register(one.point, callback, owner="the settings", seconds=seconds)
    waiting = (choice.untold(one, project) for one in every if not choice.covers(one, project))
    return (*filter(None, waiting), *notices_of(chosen.hooks))


def _callback(one: CommandHook, choice: HookChoice, environ: Mapping[str, str]) -> HookCallback:
    """What is called at the hook point: the command, where it may be run as it is now."""

    async def run(**offered: Any) -> Any:
        if not one.fits(str(offered.get("tool_name", ""))):
            return None
        if choice.covers(one, Path()):
            return answer_of(one, await one.run(offered, environ))
        if words := choice.untold(one, Path()):
            logger.warning("%s", words)
        why = choice.lost(one, Path()) if one.point == "pre_tool_call" else ""
        return {"action": "block", "message": why} if why else None

    run.__qualname__ = one.words
    return run
