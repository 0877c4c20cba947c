"""The way from the command line to the interactive screen."""

import anyio

from hermes.apps.cli.choices import Choices, session_options
from hermes.apps.cli.cli_context import home_with_skills
from hermes.config.environ import publish
from hermes.lib.lazy import import_object


def run(choices: Choices) -> int:
    """Open the screen and give its exit code."""
    return anyio.run(_run, choices)


async def _run(choices: Choices) -> int:
    publish(home_with_skills(choices).env_file)
    code: int = await import_object("hermes.apps.tui.app:run")(choices, session_options)
    return code
