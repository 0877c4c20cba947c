"""What cloned places have, kept for six hours: a search need not clone each of them again."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hermes.lib.files import write_atomic
from hermes.lib.small_files import read_small
from hermes.skills.hubs.protocol import Offer, SkillHub

_SECONDS: Final = 6 * 3_600.0


class _KeptList(Struct, frozen=True):
    """What a place had at a time, in epoch seconds."""

    at: float
    offers: list[Offer]


class KeptLists(Struct, frozen=True):
    """The lists in the folder of a home's skills; `now` tells the time in epoch seconds."""

    folder: Path
    now: Callable[[], float]

    def of(self, hub: SkillHub) -> SkillHub:
        """The same place, searched in what it had a while ago."""
        name = hashlib.sha256(hub.name.encode()).hexdigest()[:32]
        return _KeptHub(hub, self.folder / ".hub" / "index-cache" / f"{name}.json", self.now)


class _KeptHub(Struct, frozen=True):
    hub: SkillHub
    file: Path
    now: Callable[[], float]

    @property
    def name(self) -> str:
        return self.hub.name

    async def offers(self, words: str) -> Sequence[Offer]:
        every = self._read()
        if every is None:
            every = await self.hub.offers("")
            with suppress(OSError):  # a home that cannot be written keeps none
                write_atomic(self.file, msgspec.json.encode(_KeptList(self.now(), list(every))))
        return [one for one in every if one.fits(words)]

    async def fetch(self, path: str, place: Path) -> Path:
        return await self.hub.fetch(path, place)

    def _read(self) -> Sequence[Offer] | None:
        with suppress(OSError, msgspec.DecodeError, msgspec.ValidationError):
            kept = msgspec.json.decode(read_small(self.file), type=_KeptList)
            if 0 <= self.now() - kept.at < _SECONDS:
                return kept.offers
        return None
