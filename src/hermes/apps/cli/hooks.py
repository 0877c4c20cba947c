"""`hermes hooks`: the commands of the settings that are run at hook points."""

import json
from typing import Any

import anyio
import click

from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import Here, agreed, here, to_change
from hermes.lib.visible import visible
from hermes.plugins.hook_consent import HookConsent
from hermes.plugins.settings import ShellHookSettings
from hermes.plugins.shell_hooks import CommandHook, answer_of, command_hooks, point_of, question_of
from hermes.types.error import ConfigError


@click.group()
def hooks() -> None:
    """Commands that are run at hook points, each once you have said yes to it."""


@hooks.command("list")
@tables.lists
@click.pass_obj
def list_hooks(choices: Choices) -> None:
    """Every command, where it is run, and whether you have said yes to it as it is now."""
    found = here(choices)
    rows = [
        (one.event, one.hook.command, one.hook.matcher, f"{one.hook.timeout:g} s", _state(found, one))
        for one in _hooks(found)
    ]
    if not rows:
        click.echo("There are no commands at hook points; docs/guide/hooks.md tells how.", err=True)
        return
    tables.show(rows, head=("HOOK", "COMMAND", "MATCHER", "TIME", "STATE"))


@hooks.command()
@click.argument("event")
@click.option("--for-tool", default="terminal", help="The tool that is said to be called.")
@click.option("--arguments", default="{}", metavar="JSON", help="The arguments that it is said to get.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask; this keeps no yes.")
@click.pass_obj
def test(choices: Choices, event: str, *, for_tool: str, arguments: str, yes: bool) -> None:
    """Run the commands of EVENT on made-up words, and show what they answer."""
    found, offered = here(choices), _offered(for_tool, arguments)
    point_of(event)
    chosen = [one for one in _hooks(found) if event in (one.event, one.point) and one.fits(for_tool)]
    if not chosen:
        raise ConfigError(f"No command is run at {event} for {for_tool}; hermes hooks list shows them.")
    for one in chosen:
        if not (yes or _consent(found).covers(one.event, one.hook) or _accepted(choices, found, one)):
            click.echo(visible(f"{one.words}: not run"))
            continue
        ran = anyio.run(one.run, offered, found.environ)
        answer = json.dumps(answer_of(one, ran), ensure_ascii=False)
        click.echo(visible(f"{one.words}: exit code {ran.code}, answers {answer}"))


@hooks.command()
@click.argument("command", default="")
@click.pass_obj
def revoke(choices: Choices, command: str) -> None:
    """Take back your yes to COMMAND, or to all of them."""
    count = HookConsent(to_change(choices).root).revoke(command)
    click.echo(f"{count} taken back.")


@hooks.command()
@click.pass_obj
def doctor(choices: Choices) -> None:
    """Say what keeps commands from being run; the exit code is 1 where something does."""
    found = here(choices)
    faults = [visible(f"{one.words}: {told}") for one in _hooks(found) for told in _faults(found, one)]
    click.echo("\n".join(faults) or "Nothing is wrong.")
    raise SystemExit(1 if faults else 0)


def _hooks(found: Here) -> list[CommandHook]:
    return command_hooks(found.settings[ShellHookSettings].hooks)


def _consent(found: Here) -> HookConsent:
    return HookConsent(found.home.root)


def _state(found: Here, one: CommandHook) -> str:
    if _consent(found).covers(one.event, one.hook):
        return "runs"
    accepted = _consent(found).every().values()
    known = any((old.event, old.command) == (one.event, one.hook.command) for old in accepted)
    return "changed since your yes" if known else "waits for your yes"


def _accepted(choices: Choices, found: Here, one: CommandHook) -> bool:
    to_change(choices)
    news = _consent(found).news(one.event, one.hook)
    if not agreed(visible(question_of(one, news)), "runs it once"):
        return False
    _consent(found).accept(one.event, one.hook)
    return True


def _faults(found: Here, one: CommandHook) -> list[str]:
    waits = [] if _consent(found).covers(one.event, one.hook) else [_state(found, one)]
    return [*one.faults(), *waits]


def _offered(tool: str, arguments: str) -> dict[str, Any]:
    try:
        args = json.loads(arguments)
    except ValueError as error:
        raise ConfigError(f"--arguments is no JSON: {error}.") from error
    return {"tool_name": tool, "args": args, "session_id": "test"}
