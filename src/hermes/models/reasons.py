"""The reasons for which a model request fails: flags, meanings and providers' words, out of the package's data."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import get_args

import msgspec

from hermes.types.error import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One reason: the flags of its Failure, a sentence for a person, the words that tell it, and names of parts a request can lack.

    `certain` are words that tell it whatever the status is and whatever else was said.
    """

    meaning: str
    phrases: tuple[str, ...] = ()
    certain: tuple[str, ...] = ()
    retryable: bool = False
    rotate: bool = False
    fall_back: bool = False
    compress: bool = False
    leave_out: str = ""
    names: Mapping[str, str] = field(default_factory=dict)


@cache
def reasons() -> Mapping[Reason, Entry]:
    """Every reason, in the order of the documentation."""
    tree = tomllib.loads((files("hermes") / "data" / "failures.toml").read_text(encoding="utf-8"))
    return {name: msgspec.convert(tree[name], Entry) for name in sorted(get_args(Reason), key=list(tree).index)}


def what_follows(entry: Entry) -> str:
    """What the ladder does about a failure of this kind, in the order in which it tries."""
    steps = [
        f"once more without {entry.leave_out.replace('_', ' ')}" if entry.leave_out else "once more without it" if entry.names else "",
        "the next key" if entry.rotate else "",
        "a pause and the same again" if entry.retryable else "",
        "the next model" if entry.fall_back else "",
        "a model with more room, else the turn makes room or ends" if entry.compress and not entry.fall_back else "",
    ]
    return ", then ".join(filter(None, steps)) or "the turn ends"
