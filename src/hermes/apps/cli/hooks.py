"""`hermes hooks`: the commands of the settings that are run at hook points."""

import json
import sys
from pathlib import Path
from typing import Any, Final

import anyio
import click

from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import Here, agreed, here, to_change
from hermes.apps.cli.hook_questions import is_agreed
from hermes.lib.visible import visible
from hermes.plugins.claude_hooks import POINTS, ClaudeHook, HookLeftOut
from hermes.plugins.hook_commands import (
    AnyHook,
    command_hooks,
    every_entry,
    place_of,
    project_of_work,
    question_of,
)
from hermes.plugins.hook_consent import HookConsent
from hermes.plugins.hook_trials import HookTrial
from hermes.plugins.settings import ShellHookSettings, label_of
from hermes.plugins.shell_hooks import point_of
from hermes.types.error import ConfigError

_WITHOUT_YES: Final = ("changed since your yes", "waits for your yes")


@click.group()
def hooks() -> None:
    """Commands that are run at hook points, each once you have said yes to it."""


@hooks.command("list")
@tables.lists
@click.pass_obj
def list_hooks(choices: Choices) -> None:
    """Every command, where it is run, and whether you have said yes to it as it is now."""
    found = here(choices)
    rows = [_row(found, one) for one in every_entry(found.settings[ShellHookSettings].hooks)]
    if not rows:
        click.echo("There are no commands at hook points; docs/guide/hooks.md tells how.", err=True)
        return
    tables.show(rows, head=("HOOK", "COMMAND", "MATCHER", "TIME", "STATE"))
    if any(state in _WITHOUT_YES for *_, state in rows):
        click.echo("hermes hooks accept asks about those without your yes.", err=True)


@hooks.command()
@click.argument("event", default="")
@click.pass_obj
def accept(choices: Choices, event: str) -> None:
    """Show each command that waits for your yes, of EVENT or of all, and ask about it, in a terminal."""
    to_change(choices)
    found = here(choices)
    waiting = [
        one for one in _hooks(found) if event in ("", one.event, one.point) and not _covered(found, one)
    ]
    if waiting and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError(f"{len(waiting)} wait for a yes, which can only be given in a terminal.")
    for one in waiting:
        if is_agreed(_question(found, one)):
            _keep_yes(found, one)
        click.echo(visible(f"{one.words}: {_state(found, one)}"))
    if not waiting:
        click.echo("No command waits for your yes.")


@hooks.command()
@click.argument("event")
@click.option("--for-tool", default="terminal", help="The tool that is said to be called.")
@click.option("--arguments", default="{}", metavar="JSON", help="The arguments that it is said to get.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask; this keeps no yes.")
@click.pass_obj
def test(choices: Choices, event: str, *, for_tool: str, arguments: str, yes: bool) -> None:
    """Run the commands of EVENT on made-up words, and show what they answer."""
    found = here(choices)
    if event not in POINTS:
        point_of(event)
    trial = HookTrial(
        tool=for_tool, args=_arguments(arguments), project=_project(found), environ=found.environ
    )
    chosen = [one for one in _hooks(found) if event in (one.event, one.point) and trial.fits(one)]
    if not chosen:
        raise ConfigError(f"No command is run at {event} for {for_tool}; hermes hooks list shows them.")
    for one in chosen:
        if not (yes or _covered(found, one) or _accepted(choices, found, one)):
            click.echo(visible(f"{one.words}: not run"))
            continue
        for ran, said in anyio.run(trial.run, one):
            answer = json.dumps(said, ensure_ascii=False)
            click.echo(visible(f"{one.words}: exit code {ran.code}, answers {answer}"))


@hooks.command()
@click.argument("command", default="")
@click.pass_obj
def revoke(choices: Choices, command: str) -> None:
    """Take back your yes to COMMAND, or to all of them."""
    count = HookConsent(to_change(choices).root).revoke(command)
    if command and not count:
        raise ConfigError(f"There is no yes to {command!r}; hermes hooks list shows the commands.")
    click.echo(f"{count} taken back.")


@hooks.command()
@click.pass_obj
def doctor(choices: Choices) -> None:
    """Say what keeps commands from being run as they are written; the exit code is 1 where something does."""
    found = here(choices)
    every = every_entry(found.settings[ShellHookSettings].hooks)
    faults = [visible(f"{_named(one)}: {told}") for one in every for told in _faults(found, one)]
    click.echo("\n".join(faults) or "Nothing is wrong.")
    raise SystemExit(1 if faults else 0)


def _hooks(found: Here) -> list[AnyHook]:
    return command_hooks(found.settings[ShellHookSettings].hooks)


def _project(found: Here) -> Path:
    return project_of_work(found.settings)


def _row(found: Here, one: AnyHook | HookLeftOut) -> tuple[str, ...]:
    if isinstance(one, HookLeftOut):
        return (one.event, one.what, one.matcher, "", f"never runs: {one.why}")
    return (one.event, one.hook.command, one.hook.matcher, f"{one.hook.timeout:g} s", _state(found, one))


def _named(one: AnyHook | HookLeftOut) -> str:
    return label_of(one.event, one.what) if isinstance(one, HookLeftOut) else one.words


def _consent(found: Here) -> HookConsent:
    return HookConsent(found.home.root)


def _covered(found: Here, one: AnyHook) -> bool:
    return _consent(found).covers(one.event, one.hook, place_of(one, _project(found)))


def _state(found: Here, one: AnyHook) -> str:
    if _covered(found, one):
        return "runs"
    changed = _consent(found).has_changed(one.event, one.hook, place_of(one, _project(found)))
    return _WITHOUT_YES[0 if changed else 1]


def _accepted(choices: Choices, found: Here, one: AnyHook) -> bool:
    to_change(choices)
    if not agreed(visible(_question(found, one)), "runs it once"):
        return False
    _keep_yes(found, one)
    return True


def _question(found: Here, one: AnyHook) -> str:
    return question_of(one, _project(found), _consent(found))


def _keep_yes(found: Here, one: AnyHook) -> None:
    _consent(found).accept(one.event, one.hook, place_of(one, _project(found)))


def _faults(found: Here, one: AnyHook | HookLeftOut) -> list[str]:
    if isinstance(one, HookLeftOut):
        return [one.why]
    waits = [] if _covered(found, one) else [_state(found, one)]
    if not isinstance(one, ClaudeHook):
        return [*one.faults(), *waits]
    return [*one.faults(_project(found), found.environ), *one.doubts(), *one.notices, *waits]


def _arguments(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"--arguments is no JSON that can be read: {error}.") from error
    if not isinstance(found, dict):
        raise ConfigError("--arguments is no object of JSON.")
    return found
