"""Which skills are of use to a session: those for its system, its tools and its toolsets."""

from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from hermes.skills.skill_file import Conditions, Skill

_SYSTEMS: Final = {"darwin": "macos", "mac": "macos", "osx": "macos", "win32": "windows"}


class Surface(Struct, frozen=True, kw_only=True):
    """What a session has: its system (as `sys.platform` has it, or `remote` for another machine's, which is
    not known), the names of its tools, and a test of whether a toolset is on offer.
    """

    platform: str
    tools: frozenset[str]
    has_toolset: Callable[[str], bool]


def of_use(skills: Iterable[Skill], surface: Surface) -> list[Skill]:
    """Those whose conditions hold, in the same order."""
    return [one for one in skills if _holds(one.conditions, surface)]


def _holds(wanted: Conditions, has: Surface) -> bool:
    return (
        _on_platform(wanted, has.platform)
        and has.tools.issuperset(wanted.requires_tools)
        and all(map(has.has_toolset, wanted.requires_toolsets))
        and has.tools.isdisjoint(wanted.fallback_for_tools)
        and not any(map(has.has_toolset, wanted.fallback_for_toolsets))
    )


def _on_platform(wanted: Conditions, platform: str) -> bool:
    if not wanted.platforms or platform == "remote":
        return True
    return _system(platform) in map(_system, wanted.platforms)


def _system(name: str) -> str:
    folded = name.casefold()
    return _SYSTEMS.get(folded, folded)
