"""ClawHub, the registry of OpenClaw: a search over HTTP, and each skill as a zip."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from hermes.skills.hubs.packed import unpacked
from hermes.skills.hubs.protocol import MOST_ASKED, Offer
from hermes.skills.hubs.web import HubWeb
from hermes.skills.skill_file import check_name

_SLUG: Final = re.compile(r"[\w.@/-]{1,120}")


class _ClawSkill(Struct):
    slug: str
    summary: str | None = ""


class _ClawPage(Struct):
    """A search has results, a list of all has items."""

    results: list[_ClawSkill] = field(default_factory=list)
    items: list[_ClawSkill] = field(default_factory=list)


class ClawHub(Struct, frozen=True):
    """The registry at an address; what it marks as suspicious is not listed."""

    address: str
    web: HubWeb
    name: str = "clawhub"

    async def offers(self, words: str) -> Sequence[Offer]:
        """What its search finds, or its first skills."""
        asked = {"limit": str(MOST_ASKED), "nonSuspiciousOnly": "true"}
        if words:
            found = await self.web.page(f"{self.address}/api/v1/search", _ClawPage, {"q": words, **asked})
        else:
            found = await self.web.page(f"{self.address}/api/v1/skills", _ClawPage, asked)
        return [
            Offer(words=f"{self.name}:{one.slug}", description=one.summary or "", trust="community")
            for one in (found.results or found.items)
            if _SLUG.fullmatch(one.slug)
        ]

    async def fetch(self, path: str, place: Path) -> Path:
        """The newest version of a skill by its slug."""
        folder = path.rpartition("/")[2]
        check_name(folder)
        data = await self.web.get(f"{self.address}/api/v1/download", {"slug": path})
        return unpacked(data, place / folder, f"{self.name}:{path}")
