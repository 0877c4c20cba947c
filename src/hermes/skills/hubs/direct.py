"""A skill at an address of its own: a SKILL.md, or an archive of its folder."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from hermes.lib.archives import ArchivedFile
from hermes.skills.hubs.packed import unpacked, written
from hermes.skills.hubs.protocol import Offer
from hermes.skills.hubs.web import HubWeb
from hermes.skills.skill_file import FILE


class DirectAddress(Struct, frozen=True):
    """One file on the web."""

    name: str
    web: HubWeb

    async def offers(self, words: str) -> Sequence[Offer]:
        """What is there: one skill, which is read when it is fetched."""
        offer = Offer(words=self.name, description="", trust="community")
        return [offer] if offer.fits(words) else []

    async def fetch(self, path: str, place: Path) -> Path:
        """The skill that is there; `path` leads nowhere else."""
        del path
        data = await self.web.get(self.name)
        folder = place / self.name.split("/")[-2 if self.name.endswith(FILE) else -1].partition(".")[0]
        if self.name.endswith(FILE):
            return written({FILE: ArchivedFile(data)}, folder, self.name)
        return unpacked(data, folder, self.name)
