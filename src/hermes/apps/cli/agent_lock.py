"""`agent.lock`: what an agent is made of, by name, hash and text; how it is read, written and compared."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from hermes.lib.edit.diff import unified
from hermes.lib.files import write_atomic
from hermes.lib.small_files import read_small
from hermes.types.error import ConfigError

FILE: Final = "agent.lock"
_LONGEST: Final = 20_000
"""Characters of a text that is kept, so that a change of it can be shown."""
_LARGEST: Final = 8_000_000
_FORMAT: Final = 1

Section = Literal["model", "prompt", "tools", "mcp", "plugins", "hooks", "skills", "policy"]


class LockedItem(Struct, frozen=True, kw_only=True):
    """One thing that an agent is made of; `text` is empty where it is long, or is a folder. `by` names the
    one of the same part that brings it, such as the server of a tool.
    """

    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    text: Annotated[str, Meta(max_length=_LONGEST)] = ""
    by: str = ""


Locked = Mapping[Section, Mapping[str, LockedItem]]


class AgentLock(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that an agent is made of."""

    version: Literal[1] = _FORMAT
    locked: dict[Section, dict[str, LockedItem]]


class LockDrift(Struct, frozen=True, kw_only=True):
    """One name that is not as the lock has it, with the difference where both texts are known."""

    section: Section
    name: str
    how: Literal["added", "removed", "changed"]
    diff: str = ""


def locked_text(text: str, *, by: str = "") -> LockedItem:
    """A text as an item, with what brings it."""
    mended = text.encode("utf-8", "replace")
    kept = mended.decode() if len(text) <= _LONGEST else ""
    return LockedItem(sha256=hashlib.sha256(mended).hexdigest(), text=kept, by=by)


def write_lock(path: Path, lock: AgentLock) -> None:
    """Write a lock; the same one is the same bytes."""
    data = msgspec.json.format(msgspec.json.encode(lock, order="sorted"), indent=2)
    write_atomic(path, data + b"\n", mode=0o644)


def read_lock_file(path: Path) -> AgentLock:
    """The lock in a file; ConfigError says in a sentence why it cannot be had."""
    try:
        return msgspec.json.decode(read_small(path, _LARGEST), type=AgentLock)
    except FileNotFoundError as error:
        raise ConfigError(f"There is no {path}; hermes lock write makes it.") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no agent.lock: {error}. hermes lock write makes it anew.") from error


def drifts(before: Locked, now: Locked) -> Iterator[LockDrift]:
    """What is not as it was locked, by section and name."""
    for section in dict.fromkeys((*now, *before)):
        old, new = before.get(section, {}), now.get(section, {})
        for name in sorted(old.keys() | new.keys()):
            if name not in old:
                yield LockDrift(section=section, name=name, how="added")
            elif name not in new and old[name].by in _differing(old, new):
                continue  # what brings it is told; whether that still has it, nobody knows
            elif name not in new:
                yield LockDrift(section=section, name=name, how="removed")
            elif old[name].sha256 != new[name].sha256:
                yield LockDrift(
                    section=section, name=name, how="changed", diff=_difference(old[name], new[name])
                )


def _differing(old: Mapping[str, LockedItem], new: Mapping[str, LockedItem]) -> set[str]:
    """The names of those that are gone or changed."""
    return {name for name, one in old.items() if name not in new or new[name].sha256 != one.sha256}


def _difference(old: LockedItem, new: LockedItem) -> str:
    """The difference of two texts, past the names of files that they do not have."""
    if not (old.text and new.text):
        return ""
    return "\n".join(unified(old.text, new.text, "text").splitlines()[2:])
