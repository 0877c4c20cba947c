"""Subcommands of plugins: `hermes NAME …`, looked for when no command of ours has the name."""

import argparse
import inspect
from typing import Any

import anyio
import click

from hermes.agent.extensions import PluginProgram
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import here
from hermes.commands.plugins_here import plugins_here
from hermes.plugins.settings import PluginSettings
from hermes.types.error import HermesError

_AS_THEY_ARE = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def program_of(name: str, choices: Choices) -> click.Command | None:
    """The subcommand of that name of an enabled plugin."""
    try:
        found = here(choices)
    except HermesError:  # what is wrong with the settings is told by a command that there is
        return None
    if choices.safe_mode or not found.settings[PluginSettings].enabled:
        return None
    loaded = plugins_here(found.home, found.settings, found.environ)
    program = loaded.host.extensions.programs.get(name)
    return _command(program) if program else None


def _command(program: PluginProgram) -> click.Command:
    @click.command(program.name, help=program.description or program.help, context_settings=_AS_THEY_ARE)
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    def run(words: tuple[str, ...]) -> None:
        parser = argparse.ArgumentParser(prog=f"hermes {program.name}", description=program.help)
        program.setup(parser)
        given = parser.parse_args(words)
        handler: Any = program.run or getattr(given, "func", None)
        if handler is None:
            parser.print_help()
            return
        answer = handler(given)
        if inspect.isawaitable(answer):
            anyio.run(_awaited, answer)

    return run


async def _awaited(answer: Any) -> object:
    return await answer
