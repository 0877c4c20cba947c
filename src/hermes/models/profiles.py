"""What a model family takes: data, by a part of the model's name and, for some rows, by the provider that serves it."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from hermes.types.profile import PLAIN, Profile

DEFAULT_WINDOW = 128_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Models in whose name the regular expression `pattern` is found: their window in tokens and their profile."""

    pattern: str
    window: int
    profile: Profile


@cache
def families() -> tuple[Family, ...]:
    """The table, in order: the first pattern that fits counts."""
    return tuple(_family(row) for row in _tables()["family"])


def profile_of(model: str, provider: str = "") -> Profile:
    """The profile of a model, with what its provider changes; PLAIN when nothing is known."""
    found = _find(model)
    profile = found.profile if found else PLAIN
    changes = _changes(provider, profile.family)
    return replace(profile, **{name: _value(name, value) for name, value in changes.items()}) if changes else profile


def _changes(provider: str, family: str) -> Mapping[str, Any]:
    """What a provider changes for all its models, and for those of one family."""
    row = _tables().get("provider", {}).get(provider, {})
    every = {name: value for name, value in row.items() if name != "family"}
    return {**every, **row.get("family", {}).get(family, {})}


def window_of(model: str) -> int:
    """The window in tokens; 128,000 when nothing is known."""
    found = _find(model)
    return found.window if found else DEFAULT_WINDOW


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((files("hermes") / "data" / "families.toml").read_text(encoding="utf-8"))


def _family(row: Mapping[str, Any]) -> Family:
    rest = {name: value for name, value in row.items() if name not in {"pattern", "window"}}
    return Family(pattern=row["pattern"], window=row["window"], profile=msgspec.convert(rest, Profile))


def _value(name: str, value: Any) -> Any:
    return getattr(msgspec.convert({name: value}, Profile), name)


def _find(model: str) -> Family | None:
    lower = model.lower()
    return next((family for family in families() if re.search(family.pattern, lower)), None)
