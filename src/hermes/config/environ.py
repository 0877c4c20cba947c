"""The only module that reads the process environment; everything else is handed values."""

import io
import os
from collections.abc import Mapping
from pathlib import Path

from hermes.config.unreadable import unreadable
from hermes.lib.small_files import read_small
from hermes.types.error import ConfigError

CONFINED = "HERMES_SANDBOXED"
"""A variable that tells a program that it runs in our sandbox. It is a courtesy: nothing that confines
depends on it.
"""


def environment() -> dict[str, str]:
    """A copy of the process environment as it is now."""
    return dict(os.environ)  # noqa: TID251  # this module is the one place


def publish(env_file: Path) -> None:
    """Put the values of `.env` into the environment of this process, where they are not set: handlers of tool
    files read their keys there. For the start of a program that is ours alone, never in library use; what
    commands get is chosen apart from it.
    """
    for name, value in with_dotenv({}, env_file).items():
        os.environ.setdefault(name, value)  # noqa: TID251  # this module is the one place


def workspace_values(folder: Path) -> dict[str, str]:
    """The values of a workspace's `.env`, which are nobody's settings; none when it cannot be read."""
    try:
        return with_dotenv({}, folder / ".env")
    except ConfigError:
        return {}


def with_dotenv(environ: Mapping[str, str], env_file: Path) -> dict[str, str]:
    """`environ` on top of the values of a `.env` file; a variable that is set in the process wins."""
    if not env_file.is_file():
        return dict(environ)
    from dotenv import dotenv_values  # noqa: PLC0415  # where there is a file to read

    try:
        text = read_small(env_file).decode("utf-8")
        found = dotenv_values(stream=io.StringIO(text), interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(env_file, error) from error
    kept = {name: value for name, value in found.items() if value is not None}
    return {**kept, **environ}
