"""The only module that reads the process environment; everything else is handed values."""

import os
from collections.abc import Mapping
from pathlib import Path

from dotenv import dotenv_values

CONFINED = "HERMES_SANDBOXED"
"""A variable that tells a program that it runs in our sandbox. It is a courtesy: nothing that confines depends on it."""


def environment() -> dict[str, str]:
    """A copy of the process environment as it is now."""
    return dict(os.environ)  # noqa: TID251  # this module is the one place


def workspace_values(folder: Path) -> dict[str, str]:
    """The values of a workspace's `.env`, which are nobody's settings; none when it cannot be read."""
    try:
        return with_dotenv({}, folder / ".env")
    except (OSError, UnicodeDecodeError):
        return {}


def with_dotenv(environ: Mapping[str, str], env_file: Path) -> dict[str, str]:
    """`environ` on top of the values of a `.env` file; a variable that is set in the process wins."""
    if not env_file.is_file():
        return dict(environ)
    kept = {name: value for name, value in dotenv_values(env_file, interpolate=False).items() if value is not None}
    return {**kept, **environ}
