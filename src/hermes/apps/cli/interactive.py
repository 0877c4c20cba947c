"""The way from the command line to the interactive screen."""

import anyio

from hermes.apps.cli.choices import Choices, session_options
from hermes.lib.lazy import load as late


def run(choices: Choices) -> int:
    """Open the screen and give its exit code."""
    return anyio.run(_run, choices)


async def _run(choices: Choices) -> int:
    code: int = await late("hermes.apps.tui.app:run")(choices, session_options)
    return code
