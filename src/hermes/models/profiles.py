"""What a model family is and how much it takes in: data, by the start or a part of the model's name."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

DEFAULT_WINDOW = 128_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Models whose name contains `pattern`: the family's name and its window in tokens."""

    pattern: str
    name: str
    window: int


@cache
def families() -> tuple[Family, ...]:
    """The table, in order: the first pattern that fits counts."""
    tree = tomllib.loads((files("hermes") / "data" / "families.toml").read_text(encoding="utf-8"))
    return tuple(Family(pattern=row["pattern"], name=row["name"], window=row["window"]) for row in tree["family"])


def family_of(model: str) -> str:
    """The family's name, or nothing when no pattern fits."""
    found = _find(model)
    return found.name if found else ""


def window_of(model: str) -> int:
    """The window in tokens; 128,000 when nothing is known."""
    found = _find(model)
    return found.window if found else DEFAULT_WINDOW


def _find(model: str) -> Family | None:
    lower = model.lower()
    return next((family for family in families() if family.pattern in lower), None)
