"""The skills of LobeHub's market: a search over HTTP, and each skill as a zip."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from msgspec import Struct, field

from hermes.skills.hubs.packed import unpacked
from hermes.skills.hubs.protocol import MOST_ASKED, Offer
from hermes.skills.hubs.web import HubWeb

_IDENTIFIER: Final = re.compile(r"[\w.@-]{1,200}")


class _LobeSkill(Struct):
    identifier: str
    description: str | None = ""


class _LobePage(Struct):
    items: list[_LobeSkill] = field(default_factory=list)


class LobeHub(Struct, frozen=True):
    """The market at an address."""

    address: str
    web: HubWeb
    name: str = "lobehub"

    async def offers(self, words: str) -> Sequence[Offer]:
        """What its search finds, or its first skills."""
        asked = {"q": words} if words else {}
        place = f"{self.address}/api/v1/skills"
        found = await self.web.page(place, _LobePage, {"pageSize": str(MOST_ASKED), **asked})
        return [
            Offer(words=f"{self.name}:{one.identifier}", description=one.description or "", trust="community")
            for one in found.items
            if _IDENTIFIER.fullmatch(one.identifier)
        ]

    async def fetch(self, path: str, place: Path) -> Path:
        """A skill by its identifier."""
        data = await self.web.get(f"{self.address}/api/v1/skills/{quote(path, safe='')}/download")
        return unpacked(data, place / "skill", f"{self.name}:{path}")
