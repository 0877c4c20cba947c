"""Git repositories with skills, taps among them. One is fetched shallow, nothing in it is run, and no
credential is offered to it.
"""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import anyio.to_thread
from msgspec import Struct
from msgspec.structs import replace

from hermes.lib.bounded_process import Bounds
from hermes.lib.safe_git import GitError, SafeGit
from hermes.skills.guard import examine
from hermes.skills.hubs.protocol import MOST_OFFERS, Offer
from hermes.skills.skill_file import load
from hermes.skills.sources import CLONE, SkillSource, chosen, skill_folders
from hermes.types.error import SkillError

_ALLOWED: Final = {"GIT_ALLOW_PROTOCOL": "https:http:file", "GIT_LFS_SKIP_SMUDGE": "1"}
_MOST_FILES, _MOST_BYTES = 20_000, 200_000_000
_OUTPUT: Final = 16 << 20
_SIZE: Final = re.compile(rb"(?:\A|\0)\d+ blob [0-9a-f]+ +(\d+)\t")
_WAY: Final = re.compile(r"(?i:https?|all|no)_proxy|GIT_SSL_CAINFO|SSL_CERT_FILE")
"""Variables that say how servers are reached."""


class Cloning(Struct, frozen=True, kw_only=True):
    """How repositories are fetched: with which environment, and within how many seconds."""

    environ: Mapping[str, str]
    seconds: float = 120.0


class Repository(Struct, frozen=True):
    """The skills of one repository."""

    source: SkillSource
    cloning: Cloning

    @property
    def name(self) -> str:
        """What people call it."""
        return self.source.name

    async def offers(self, words: str) -> Sequence[Offer]:
        """Its skills that fit the words."""
        with tempfile.TemporaryDirectory(prefix="hermes-skills-") as place:
            top = await cloned(self.source, Path(place), self.cloning)
            return await looked_at(skill_folders(top), self.source, words)

    async def fetch(self, path: str, place: Path) -> Path:
        """A skill by its path, or by the name of its folder."""
        return chosen(await cloned(self.source, place, self.cloning), self.name, path)


class LocalFolder(Struct, frozen=True):
    """The skills of a folder of this machine."""

    source: SkillSource

    @property
    def name(self) -> str:
        """Its path."""
        return self.source.name

    async def offers(self, words: str) -> Sequence[Offer]:
        """Its skills that fit the words."""
        return await looked_at(skill_folders(Path(self.source.address)), self.source, words)

    async def fetch(self, path: str, place: Path) -> Path:
        """A skill where it lies; nothing is brought to the place."""
        del place
        return chosen(Path(self.source.address), self.name, path)


async def looked_at(folders: Mapping[str, Path], source: SkillSource, words: str) -> list[Offer]:
    """The skills in folders of a source, by their paths there, as far as they can be read and fit the words;
    each looked through by the guard.
    """
    return await anyio.to_thread.run_sync(lambda: list(_fitting(folders, source, words)))


def offer_of(source: SkillSource, path: str, description: str) -> Offer:
    """A skill of a source by its path there."""
    inner = "" if path == "." else path
    words = SkillSource(kind=source.kind, name=source.name, trust=source.trust, path=inner).words
    return Offer(words=words, description=description, trust=source.trust)


def _fitting(folders: Mapping[str, Path], source: SkillSource, words: str) -> Iterator[Offer]:
    found = 0
    for path, folder in sorted(folders.items()):
        with suppress(SkillError, OSError):
            offer = offer_of(source, path, load(folder).description)
            if offer.fits(words) and found < MOST_OFFERS:
                found += 1
                yield replace(offer, level=examine(folder).level)


async def cloned(source: SkillSource, place: Path, cloning: Cloning) -> Path:
    """The files of a repository in an empty place, if these are not too much; SkillError where it cannot be
    had.
    """
    return await anyio.to_thread.run_sync(partial(_clone, source, place, cloning))


@contextmanager
def fetched(source: SkillSource, cloning: Cloning) -> Iterator[Path]:
    """The files of a folder of this machine, or of a repository as long as the block runs; SkillError where
    they cannot be had, or it is another kind of place.
    """
    if source.kind == "folder":
        yield Path(source.address)
        return
    if source.kind != "repository":
        raise SkillError(f"{source.name} is no folder and no git repository.")
    with tempfile.TemporaryDirectory(prefix="hermes-fetched-") as place:
        yield _clone(source, Path(place), cloning)


def _clone(source: SkillSource, place: Path, cloning: Cloning) -> Path:
    """A few kB of a repository can stand for anything: what it has is told before it is written out."""
    way = {name: value for name, value in cloning.environ.items() if _WAY.fullmatch(name)}
    repository = place / CLONE
    bounds = Bounds(seconds=cloning.seconds, output=_OUTPUT)
    try:
        get = SafeGit(place, cloning.environ, {**way, **_ALLOWED}, bounds)
        options = ("--quiet", "--depth=1", "--no-tags", "--no-checkout")
        get.run("clone", *options, "--", source.address, repository.name)
        git = SafeGit(repository, cloning.environ, bounds=bounds)
        sizes = [int(size) for size in _SIZE.findall(git.run("ls-tree", "-r", "-l", "-z", "HEAD"))]
        if len(sizes) > _MOST_FILES or sum(sizes) > _MOST_BYTES:
            most = f"{_MOST_FILES:,} files and {_MOST_BYTES:,} bytes are the most"
            raise SkillError(f"{source.name} has too much in it: {most}.")
        git.run("checkout", "--quiet", "HEAD")
    except GitError as error:
        raise SkillError(f"{source.name} cannot be fetched: {error}.") from error
    return repository
