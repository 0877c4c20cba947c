"""Hooks in the settings of Claude Code: taken in their own form, and none is run before the user's yes."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from hermes.apps.cli.homes.part import THERE, Ours, Part
from hermes.apps.cli.homes.source import ForeignFolder, inside
from hermes.config.edit import append_to_list
from hermes.lib.text import clip
from hermes.lib.visible import visible
from hermes.plugins.claude_hooks import ClaudeHook, HookLeftOut, in_claudes_form
from hermes.plugins.settings import ShellHook

_SHOWN: Final = 200
"""Letters of the commands of an event that are shown."""


def claude_hooks(source: ForeignFolder, ours: Ours) -> Iterator[Part]:
    """The hooks of a settings file, by event."""
    tree = source.json("settings.json")
    for event, groups in inside(tree, "hooks").items():
        if tree.get("disableAllHooks") is True:
            yield _told(event, "not taken: they are switched off there")
        else:
            yield _of_event(event, groups, ours)


def _of_event(event: str, groups: Any, ours: Ours) -> Part:
    try:
        given = msgspec.convert(groups, list[ShellHook])
        entries = [one for group in given for one in in_claudes_form(event, group)]
    except msgspec.ValidationError as error:
        return _told(event, f"not taken: {visible(str(error))}")
    commands = [one.hook.command for one in entries if isinstance(one, ClaudeHook)]
    if not commands:
        why = next((f": {one.why}" for one in entries if isinstance(one, HookLeftOut)), "")
        return _told(event, f"not taken: none of them can be run here{why}")
    here = _here(event, ours)
    new = [one for one in given if one not in here]
    if not new:
        return _told(event, THERE)
    words = clip(visible("; ".join(commands)), _SHOWN, notice=" … ")
    becomes = f"added, not run before your yes: {words}"
    count = sum(len(one.hooks or ()) for one in new)
    return Part(kind="hooks", name=event, becomes=becomes, take=partial(_add, ours, event, new), count=count)


def _add(ours: Ours, event: str, new: Sequence[ShellHook]) -> None:
    for one in new:
        append_to_list(ours.home.config_file, f"hooks.{event}", msgspec.to_builtins(one))


def _here(event: str, ours: Ours) -> list[ShellHook]:
    """What the settings have at an event."""
    every = msgspec.to_builtins(ours.values["hooks"].value) if "hooks" in ours.values else {}
    return msgspec.convert(every.get(event, []), list[ShellHook])


def _told(event: str, becomes: str) -> Part:
    return Part(kind="hooks", name=visible(event[:80]), becomes=becomes)
