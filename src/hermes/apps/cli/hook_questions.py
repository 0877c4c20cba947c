"""Commands of hooks that are new are asked about in the terminal, before the screen opens."""

import click

from hermes.apps.cli.choices import Choices
from hermes.apps.settings import load
from hermes.config.environ import environment, with_dotenv
from hermes.config.home import locate
from hermes.lib.lazy import import_object
from hermes.lib.visible import visible
from hermes.plugins.settings import PluginSettings, ShellHookSettings


def ask_new(choices: Choices) -> None:
    """Ask about each command that nobody has said yes to as it is now; a yes is kept."""
    environ = environment()
    home = locate(environ, choices.profile)
    if not home.config_file.is_file() or b"hooks" not in home.config_file.read_bytes():
        return  # a start has no time to read settings twice
    settings = load(home.config_file, with_dotenv(environ, home.env_file), choices.flags).settings
    chosen = settings[ShellHookSettings]
    if chosen.hooks_auto_accept or settings[PluginSettings].safe_mode:
        return
    consent = import_object("hermes.plugins.hook_consent:HookConsent")(home.root)
    commands = import_object("hermes.plugins.hook_commands")
    project = commands.project_of_work(settings)
    for one in commands.command_hooks(chosen.hooks):
        place = commands.place_of(one, project)
        if consent.covers(one.event, one.hook, place):
            continue
        if is_agreed(commands.question_of(one, project, consent)):
            consent.accept(one.event, one.hook, place)


def is_agreed(question: str) -> bool:
    """Whether the answer is yes; where none comes, it is no."""
    try:
        return click.confirm(visible(question), default=False)
    except click.Abort:
        click.echo()
        return False
