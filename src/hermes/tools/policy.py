"""What is true of each tool beside its schema: whether it may run beside others, and whether it changes anything."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPolicy:
    """`parallel`: never, safe, or by path (`paths` names the arguments); `effects`: an intent is written before a run."""

    parallel: Literal["never", "safe", "by_path"] = "never"
    paths: tuple[str, ...] = ()
    patch: str = ""
    effects: bool = True


UNKNOWN = ToolPolicy()


@cache
def policies() -> Mapping[str, ToolPolicy]:
    """The table, by tool name."""
    tree = tomllib.loads((files("hermes") / "data" / "tools.toml").read_text(encoding="utf-8"))
    return {name: _policy(row) for name, row in tree.items()}


def policy_of(tool: str) -> ToolPolicy:
    """A tool's policy; one that nobody described runs alone and counts as changing things."""
    return policies().get(tool, UNKNOWN)


def _policy(row: Mapping[str, object]) -> ToolPolicy:
    parallel = row.get("parallel", "never")
    if parallel not in {"never", "safe", "by_path"}:
        raise ValueError(f"tools.toml: parallel is never, safe or by_path, not {parallel!r}")
    return ToolPolicy(
        parallel=parallel,
        paths=tuple(cast("list[str]", row.get("paths", []))),  # a test walks every entry
        patch=str(row.get("patch", "")),
        effects=bool(row.get("effects", True)),
    )
