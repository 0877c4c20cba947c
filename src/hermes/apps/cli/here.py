"""What is in force where a command is typed: home, settings, environment, directory; for commands that only look at it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hermes.apps.cli.choices import Choices
from hermes.config.environ import environment, with_dotenv
from hermes.config.home import Home, locate
from hermes.config.load import Loaded, load
from hermes.config.settings import Settings


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
