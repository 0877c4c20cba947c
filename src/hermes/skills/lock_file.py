"""What is known of skills that were installed: where each came from, by which trust, and the digest of what
came.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from hermes.lib.files import write_atomic
from hermes.lib.small_files import OddFile, read_small
from hermes.types.error import SkillError

Trust = Literal["builtin", "trusted", "community"]


class Installed(Struct, frozen=True, kw_only=True):
    """A skill that came from `source`: its place in the folder of skills, the digest of its files as they
    came, what the guard said of them, and when that was (epoch seconds).
    """

    name: str
    place: str
    source: str
    trust: Trust
    digest: str
    level: str
    at: float


def read_lock(folder: Path) -> dict[str, Installed]:
    """The skills that were installed in a folder, by name; SkillError where the file is damaged."""
    file = _file(folder)
    with suppress(FileNotFoundError):
        try:
            return msgspec.json.decode(read_small(file), type=dict[str, Installed])
        except (OddFile, msgspec.DecodeError, msgspec.ValidationError) as error:
            raise SkillError(f"{file} cannot be read: {error}. Move it away.") from error
    return {}


def write_lock(folder: Path, every: Mapping[str, Installed]) -> None:
    """Keep what is known of all of them."""
    write_atomic(_file(folder), msgspec.json.format(msgspec.json.encode(every, order="sorted")) + b"\n")


def _file(folder: Path) -> Path:
    return folder / ".hub" / "lock.json"
