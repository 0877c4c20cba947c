"""The programs that run the program behind them, from `wrappers.toml`."""

from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from hermes.lib.data_files import data_table


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
    tree = data_table("wrappers.toml")
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
