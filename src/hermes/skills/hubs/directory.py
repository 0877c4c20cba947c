"""All the places that skills are searched in and fetched from, as a home and its settings name them."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import anyio
import httpx2
from msgspec import Struct

from hermes.skills.hubs.clawhub import ClawHub
from hermes.skills.hubs.direct import DirectAddress
from hermes.skills.hubs.kept_lists import KeptLists
from hermes.skills.hubs.lobehub import LobeHub
from hermes.skills.hubs.marketplace import Marketplace
from hermes.skills.hubs.protocol import Offer, SkillHub
from hermes.skills.hubs.repository import Cloning, LocalFolder, Repository
from hermes.skills.hubs.taps import Taps
from hermes.skills.hubs.web import HubWeb
from hermes.skills.hubs.well_known import WellKnownSite
from hermes.skills.settings import HubSettings
from hermes.skills.sources import SkillSource, refuse_two_meanings, source_of
from hermes.types.error import SkillError

ALL: Final = "all"


class HubSearch(Struct, frozen=True, kw_only=True):
    """What one place gave: its skills, or why it gave none."""

    hub: str
    offers: Sequence[Offer] = ()
    fault: str = ""


class HubDirectory:
    """The places of a home; `client` asks those on the web, `kept` has what those had that are cloned."""

    def __init__(
        self,
        settings: HubSettings,
        taps: Taps,
        environ: Mapping[str, str],
        client: httpx2.AsyncClient,
        kept: KeptLists,
    ) -> None:
        self._settings, self._taps, self._environ, self._kept = settings, taps, environ, kept
        self._web = HubWeb(client)

    def source(self, words: str) -> SkillSource:
        """What somebody means who names a place; SkillError where it is none."""
        return source_of(words, self._settings.github)

    def typed(self, words: str) -> SkillSource:
        """The same of what somebody types now, and SkillError where it may mean a folder as well."""
        refuse_two_meanings(words, self._settings.github)
        return self.source(words)

    def hub(self, source: SkillSource, seconds: float = 120.0) -> SkillHub:
        """The place of a source, which a clone may take so many seconds from."""
        settings, cloning = self._settings, Cloning(environ=self._environ, seconds=seconds)
        match source.kind:
            case "folder":
                return LocalFolder(source)
            case "repository":
                return Repository(source, cloning)
            case "marketplace":
                return Marketplace(source, cloning, settings.github)
            case "well-known":
                return WellKnownSite(source.address, self._web)
            case "direct":
                return DirectAddress(source.address, self._web)
            case "clawhub":
                return ClawHub(_set(settings.clawhub, "clawhub"), self._web)
            case "lobehub":
                return LobeHub(_set(settings.lobehub, "lobehub"), self._web)

    async def fetch(self, source: SkillSource, place: Path) -> Path:
        """The folder of the skill that a source leads to, brought into an empty place; SkillError where it
        cannot be had.
        """
        return await self.hub(source).fetch(source.path, place)

    def names(self) -> list[str]:
        """The places that are searched, as `--source` takes them."""
        settings = self._settings
        registries = [("clawhub", settings.clawhub), ("lobehub", settings.lobehub)]
        return [
            *self._taps.every(),
            *(f"marketplace:{one}" for one in settings.marketplaces),
            *(f"well-known:{one}" for one in settings.sites),
            *(name for name, address in registries if address),
        ]

    async def search(self, words: str, only: str = ALL) -> list[HubSearch]:
        """What each place has, side by side, in the order of their names; `only` asks one. A place that fails
        or takes too long says so and holds up no other.
        """
        names = [one for one in self.names() if only in {ALL, one, one.partition(":")[0]}]
        if not names:
            raise SkillError(f"{only[:200]!r} is not searched; there are: {', '.join(self.names())}.")
        found = dict.fromkeys(names, HubSearch(hub=""))

        async def ask(name: str) -> None:
            found[name] = await self._asked(name, words)

        async with anyio.create_task_group() as group:
            for name in names:
                group.start_soon(ask, name)
        return list(found.values())

    async def _asked(self, name: str, words: str) -> HubSearch:
        seconds = self._settings.search_timeout
        try:
            source = self.source(name)
            hub = self.hub(source, seconds or 120.0)
            if source.is_cloned:
                hub = self._kept.of(hub)
            with anyio.fail_after(seconds or math.inf):
                return HubSearch(hub=name, offers=await hub.offers(words))
        except TimeoutError:
            return HubSearch(hub=name, fault=f"it did not answer within {seconds:g} s.")
        except SkillError as error:
            return HubSearch(hub=name, fault=str(error))


def _set(address: str, name: str) -> str:
    if not address:
        raise SkillError(f"{name} is switched off: skills.hubs.{name} is empty.")
    return address.rstrip("/")
