"""Providers: names, addresses, key variables; out of the package's data."""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from hermes.types.error import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One place that serves models; `keys` are variables that may hold its key."""

    name: str
    base_url: str
    keys: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    keyless: bool = False


@cache
def providers() -> Mapping[str, Provider]:
    """Every provider by its name."""
    tree = tomllib.loads((files("hermes") / "data" / "providers.toml").read_text(encoding="utf-8"))
    return {name: _provider(name, row) for name, row in tree.items()}


def provider(name: str) -> Provider:
    """The provider of that name or alias; ConfigError names the nearest."""
    known = providers()
    if name in known:
        return known[name]
    by_alias = {alias: entry for entry in known.values() for alias in entry.aliases}
    if name in by_alias:
        return by_alias[name]
    near = difflib.get_close_matches(name, [*known, *by_alias, "local"], n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise ConfigError(f"There is no provider {name!r}.{hint} hermes models list shows them; for your own server give --base-url.")


def _provider(name: str, row: Mapping[str, object]) -> Provider:
    keys, aliases = row.get("keys", []), row.get("aliases", [])
    if not isinstance(keys, list) or not isinstance(aliases, list):
        raise TypeError(f"providers.toml: {name}: keys and aliases are lists")
    return Provider(
        name=name, base_url=str(row["base_url"]), keys=tuple(keys), aliases=tuple(aliases), keyless=bool(row.get("keyless", False))
    )
