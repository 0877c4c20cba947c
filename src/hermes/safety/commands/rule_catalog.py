"""What every finding in a command means, for people: the rules of the table, and what only code finds."""

from functools import cache

from msgspec import Struct

from hermes.lib.data_files import data_table
from hermes.safety.commands.rules import table


class CatalogEntry(Struct, frozen=True, kw_only=True):
    """A rule's name, its effect and reason; commands that it finds, and near ones that pass."""

    id: str
    effect: str
    reason: str
    match: tuple[str, ...]
    passes: tuple[str, ...]


@cache
def entries() -> tuple[CatalogEntry, ...]:
    """All of them, the rules of the table first; a name stands twice where its effect depends on what it
    touches.
    """
    tree = data_table("findings.toml")
    rules = [
        CatalogEntry(id=one.id, effect=one.effect, reason=one.reason, match=one.match, passes=one.passes)
        for one in table().rules
    ]
    found = [
        CatalogEntry(**{**one, "match": tuple(one["match"]), "passes": tuple(one["passes"])})
        for one in tree["finding"]
    ]
    return (*rules, *found)
