"""What is in force where a command is typed: home, settings, environment, directory; for commands that only
look at it.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import click
from msgspec import Struct

from hermes.apps.cli.choices import Choices
from hermes.apps.settings import Loaded, Settings, load
from hermes.config.environ import CONFINED, environment, with_dotenv
from hermes.config.home import Home, locate
from hermes.environments.process_tree import MARKER, is_below_a_call
from hermes.environments.settings import TerminalSettings
from hermes.lib.lazy import import_object
from hermes.types.error import ConfigError, HermesError


class Here(Struct, frozen=True, kw_only=True):
    """The home, the settings and the directory in force; `user_home` is the person's own."""

    home: Home
    loaded: Loaded
    environ: Mapping[str, str]
    cwd: Path
    user_home: Path

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.loaded.settings


def here(choices: Choices) -> Here:
    """What is in force here; ConfigError when the settings have a fault."""
    environ = environment()
    home = locate(environ, choices.profile)
    environ = with_dotenv(environ, home.env_file)
    loaded = load(home.config_file, environ)
    return Here(
        home=home,
        loaded=loaded,
        environ=environ,
        cwd=Path(loaded.settings[TerminalSettings].cwd).expanduser().resolve(),
        user_home=Path(environ.get("HOME") or Path.home()),
    )


def agreed(question: str, without: str, *, default: bool = False) -> bool:
    """Whether the answer is yes. Where none comes, a UsageError that says what -y does `without` asking."""
    try:
        return click.confirm(question, default=default)
    except click.Abort:
        raise click.UsageError(f"There was no answer; -y {without} without asking.") from None


def home_with_skills(choices: Choices) -> Home:
    """The home in force, with the skills that come with the program in it; one that cannot be written goes
    without.
    """
    home = locate(environment(), choices.profile)
    bundled = import_object("hermes.skills.bundled")
    with suppress(HermesError, OSError):
        bundled.seed(home.skills, bundled.bundled_folder())
    return home


def to_change(choices: Choices) -> Home:
    """The home whose settings, keys or grants are to change; ConfigError in a command that an agent has
    started, which is not the user.
    """
    environ = environment()
    if CONFINED in environ or MARKER in environ or is_below_a_call():
        raise ConfigError(
            "This runs in a command that Hermes has started: settings, keys and grants can only be changed"
            " from outside, by the user."
        )
    return locate(environ, choices.profile)
