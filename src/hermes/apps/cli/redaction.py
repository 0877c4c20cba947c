"""What takes credentials out of that which commands show of earlier sessions."""

from pathlib import Path

from hermes.agent.services import Redactor
from hermes.apps.cli.choices import Choices
from hermes.commands.variables import known_secrets
from hermes.config.environ import environment, with_dotenv
from hermes.config.home import locate


def redactor_for(choices: Choices, cwd: Path) -> Redactor:
    """Knows the credentials of the chosen home, of the process and of that workspace."""
    environ = environment()
    home = locate(environ, choices.profile)
    return Redactor(known_secrets(home, with_dotenv(environ, home.env_file), cwd))
