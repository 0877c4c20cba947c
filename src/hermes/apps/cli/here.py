"""What a session that starts in this directory would work with, for commands that only look at it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import msgspec

from hermes.agent.workplace import WorkplaceOptions, open_workplace
from hermes.apps.cli.choices import Choices
from hermes.config.environ import environment, with_dotenv
from hermes.config.home import Home, locate
from hermes.config.load import Loaded, load
from hermes.config.settings import Settings
from hermes.safety.decide import Policy
from hermes.types.question import Answer, Deny, Question


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


def policy(place: Here, sandbox: Literal["auto", "on", "off"], *, yolo: bool) -> Policy:
    """What a session here would decide by. Unless `sandbox` is off it is tried, in a folder that is gone afterwards."""
    settings = place.settings
    with TemporaryDirectory(prefix="hermes-look-") as scratch:
        options = WorkplaceOptions(
            cwd=place.cwd,
            user_home=place.user_home,
            hermes_home=place.home.root,
            scratch=Path(scratch),
            environ=place.environ,
            terminal=msgspec.structs.replace(settings.terminal, sandbox=sandbox),
            approvals=settings.approvals,
            output=settings.tool_output,
            allowlist=tuple(settings.command_allowlist),
            save=_forget,
            yolo=yolo,
        )
        return open_workplace(options, _nobody).gate.policy


async def _nobody(question: Question) -> Answer:
    del question
    return Deny()


def _forget(pattern: str) -> None:
    del pattern
