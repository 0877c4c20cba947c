"""The skills that a site publishes at its well-known address, as agentskills.io and its draft for discovery
have it: an index, and the files of each skill beside it or at an address of their own.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote, urljoin

from msgspec import Struct, field

from hermes.lib.archives import ArchivedFile, BadArchive, check_path
from hermes.skills.guard import MOST_BYTES, MOST_FILES
from hermes.skills.hubs.packed import unpacked, written
from hermes.skills.hubs.protocol import Offer
from hermes.skills.hubs.web import HubWeb, NoSuchPage
from hermes.skills.skill_file import FILE, check_name
from hermes.types.error import SkillError

_INDEXES: Final = (".well-known/agent-skills/index.json", ".well-known/skills/index.json")


class _PublishedFile(Struct):
    path: str
    digest: str = ""


class _PublishedSkill(Struct):
    """A skill of an index: its files by their paths, or one address that has it whole."""

    name: str
    description: str = ""
    files: list[str | _PublishedFile] = field(default_factory=list)
    type: Literal["skill-md", "archive", ""] = ""
    url: str = ""
    digest: str = ""


class _SkillIndex(Struct):
    skills: list[_PublishedSkill] = field(default_factory=list)


class WellKnownSite(Struct, frozen=True):
    """The skills of one site, by its address."""

    address: str
    web: HubWeb

    @property
    def name(self) -> str:
        """Its address, marked as one that has an index."""
        return f"well-known:{self.address}"

    async def offers(self, words: str) -> Sequence[Offer]:
        """What its index lists."""
        _, index = await self._index()
        every = [
            Offer(words=f"{self.name}#{one.name}", description=one.description, trust="community")
            for one in index.skills
        ]
        return [one for one in every if one.fits(words)]

    async def fetch(self, path: str, place: Path) -> Path:
        """A skill by its name; SkillError also where a file is not what the index says."""
        check_name(path)
        at, index = await self._index()
        found = next((one for one in index.skills if one.name == path), None)
        if found is None:
            raise SkillError(f"{self.name} has no skill {path!r}.")
        if found.url:
            return await self._whole(found, urljoin(at, found.url), place / path)
        return await self._by_files(found, urljoin(at, f"{quote(path)}/"), place / path)

    async def _index(self) -> tuple[str, _SkillIndex]:
        """Where the index is, and what it says."""
        newer, older = (f"{self.address.rstrip('/')}/{one}" for one in _INDEXES)
        try:
            return newer, await self.web.page(newer, _SkillIndex)
        except NoSuchPage:
            return older, await self.web.page(older, _SkillIndex)

    async def _whole(self, skill: _PublishedSkill, address: str, place: Path) -> Path:
        data = await self.web.get(address, named_by=self.address)
        _check(data, skill.digest, address)
        if skill.type == "archive":
            return unpacked(data, place, f"{self.name}#{skill.name}")
        return written({FILE: ArchivedFile(data)}, place, f"{self.name}#{skill.name}")

    async def _by_files(self, skill: _PublishedSkill, beside: str, place: Path) -> Path:
        if len(skill.files) > MOST_FILES:
            raise SkillError(f"{skill.name} has more than {MOST_FILES} files.")
        got: dict[str, ArchivedFile] = {}
        left = MOST_BYTES
        for one in skill.files:
            file = _PublishedFile(one) if isinstance(one, str) else one
            _refuse_odd(file.path, got)
            data = await self.web.get(f"{beside}{quote(file.path)}", most=left)
            _check(data, file.digest, file.path)
            got[file.path] = ArchivedFile(data)
            left -= len(data)
        return written(got, place, f"{self.name}#{skill.name}")


def _refuse_odd(path: str, got: dict[str, ArchivedFile]) -> None:
    try:
        check_path(path)
    except BadArchive as error:
        raise SkillError(f"The index lists files that are not taken: {error}.") from error
    if any(path == one or path.startswith(f"{one}/") or one.startswith(f"{path}/") for one in got):
        raise SkillError(f"The index lists {path!r} twice.")


def _check(data: bytes, digest: str, what: str) -> None:
    """SkillError where bytes have another digest than the index says."""
    if digest and digest.removeprefix("sha256:") != hashlib.sha256(data).hexdigest():
        raise SkillError(f"{what} is not the file that the index means: its digest is another one.")
