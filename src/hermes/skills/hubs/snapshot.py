"""Snapshots of installed skills: where each came from and the digest of its files, to have the same ones in
another home.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from hermes.lib.files import write_atomic
from hermes.lib.small_files import read_small
from hermes.skills.lock_file import Installed
from hermes.types.error import SkillError

_FORM: Final = 1
State = Literal["is here", "is here with other files", "new"]


class KeptSkill(Struct, frozen=True, kw_only=True):
    """A skill of a snapshot."""

    name: str
    source: str
    digest: str
    category: str = ""

    def state(self, known: Mapping[str, Installed]) -> State:
        """What it is in a home with these installed skills."""
        if self.name not in known:
            return "new"
        is_same = known[self.name].digest == self.digest
        return "is here" if is_same else "is here with other files"


class SkillSnapshot(Struct, frozen=True, kw_only=True):
    """The installed skills of a home, and its taps."""

    form: Literal[1] = _FORM
    skills: Sequence[KeptSkill] = ()
    taps: Sequence[str] = ()


def snapshot_of(installed: Mapping[str, Installed], taps: Sequence[str]) -> SkillSnapshot:
    """What is kept of the skills of a home; one whose source is a folder is found on this machine alone."""
    skills = [
        KeptSkill(
            name=one.name,
            source=one.source,
            digest=one.digest,
            category=one.place.rpartition("/")[0],
        )
        for one in installed.values()
    ]
    return SkillSnapshot(skills=skills, taps=taps)


def write_snapshot(file: Path, snapshot: SkillSnapshot) -> None:
    """Keep a snapshot as JSON."""
    write_atomic(file, msgspec.json.format(msgspec.json.encode(snapshot)) + b"\n")


def read_snapshot(file: Path) -> SkillSnapshot:
    """A snapshot that was kept; SkillError where it cannot be read."""
    try:
        return msgspec.json.decode(read_small(file), type=SkillSnapshot)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise SkillError(f"{file} is no snapshot of skills that can be read: {error}.") from error
