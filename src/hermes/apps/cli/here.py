"""What is in force where a command is typed: home, settings, environment, directory; for commands that only look at it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hermes.apps.cli.choices import Choices
from hermes.config.environ import CONFINED, environment, with_dotenv
from hermes.config.home import Home, locate
from hermes.config.load import Loaded, load
from hermes.config.settings import Settings
from hermes.types.error import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
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
        cwd=Path(loaded.settings.terminal.cwd).expanduser().resolve(),
        user_home=Path(environ.get("HOME") or Path.home()),
    )


def to_change(choices: Choices) -> Home:
    """The home whose settings, keys or grants are to change; ConfigError for a command in the sandbox, which could not keep anything."""
    environ = environment()
    if CONFINED in environ:
        raise ConfigError("This runs in the sandbox of Hermes: settings, keys and grants can only be changed from outside, by the user.")
    return locate(environ, choices.profile)
