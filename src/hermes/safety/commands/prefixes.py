"""The programs that run the program behind them, from `wrappers.toml`."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from msgspec import Struct


class Prefix(Struct, frozen=True):
    """Options that take a value, how many words come before the program to run, and the subcommands that run
    one.
    """

    values: frozenset[str]
    skip: int
    behind: frozenset[str]


@cache
def prefixes() -> Mapping[str, Prefix]:
    """All of them, read once."""
    tree = tomllib.loads((files("hermes") / "data" / "wrappers.toml").read_text(encoding="utf-8"))
    return {
        name: Prefix(
            values=frozenset(entry.get("values", "").split()),
            skip=entry.get("skip", 0),
            behind=frozenset(entry.get("behind", "").split()),
        )
        for name, entry in tree.items()
    }


def only_runs(name: str) -> bool:
    """Whether a program does nothing but run the one behind it."""
    found = prefixes().get(name)
    return found is not None and not found.behind
