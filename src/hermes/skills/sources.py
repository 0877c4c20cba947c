"""Where skills come from: a folder of this machine, or a git repository, by its address or as
`owner/repository` of GitHub. A repository is fetched shallow, nothing in it is run, and no credential is
offered to it.
"""

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.lib.bounded_process import Bounds
from hermes.lib.nearest import nearest
from hermes.lib.safe_git import GitError, SafeGit
from hermes.skills.library import skill_files
from hermes.skills.lock_file import Trust
from hermes.types.error import SkillError

GITHUB: Final = "https://github.com"
TRUSTED: Final = frozenset({"openai/skills", "anthropics/skills"})
"""Repositories whose skills are looked at by their owners before they are published."""
_REPOSITORY: Final = re.compile(r"[\w.-]+/[\w.-]+")
_ADDRESS: Final = re.compile(r"(?:https|file|http(?=://(?:127\.0\.0\.1|localhost|\[::1\])[:/]))://\S+")
_ALLOWED: Final = {"GIT_ALLOW_PROTOCOL": "https:http:file", "GIT_LFS_SKIP_SMUDGE": "1"}
_MOST_FILES, _MOST_BYTES = 20_000, 200_000_000
_BOUNDS: Final = Bounds(seconds=120.0, output=16 << 20)
_SIZE: Final = re.compile(rb"(?:\A|\0)\d+ blob [0-9a-f]+ +(\d+)\t")
_WAY: Final = re.compile(r"(?i:https?|all|no)_proxy|GIT_SSL_CAINFO|SSL_CERT_FILE")
"""Variables that say how servers are reached."""


class SkillSource(Struct, frozen=True, kw_only=True):
    """A place with skills: a local `folder`, or the `address` of a git repository; `path` leads to one of
    them. `name` is what people call it.
    """

    name: str
    trust: Trust
    folder: str = ""
    address: str = ""
    path: str = ""

    @property
    def words(self) -> str:
        """What leads here again."""
        joint = "#" if "://" in self.name else "/"
        return f"{self.name}{joint}{self.path}" if self.path else self.name


def source_of(words: str) -> SkillSource:
    """What somebody means who names a place: a folder that is there, `owner/repository[/path]`, or an address
    with `#path`; SkillError where it is none.
    """
    here = Path(words).expanduser()
    if words.startswith((".", "/", "~")) or (here.is_dir() and not _REPOSITORY.fullmatch(words)):
        if not here.is_dir():
            raise SkillError(f"There is no folder {words[:200]}.")
        return SkillSource(name=str(here.resolve()), trust="trusted", folder=str(here.resolve()))
    if _ADDRESS.fullmatch(words):
        address, _, path = words.partition("#")
        return SkillSource(name=address, trust=_trust(address), address=address, path=path)
    parts = words.split("/", 2)
    if len(parts) >= 2 and _REPOSITORY.fullmatch("/".join(parts[:2])):
        name = "/".join(parts[:2])
        address = f"{GITHUB}/{name}"
        return SkillSource(name=name, trust=_trust(address), address=address, path="".join(parts[2:]))
    raise SkillError(
        f"{words[:200]!r} is no place of skills: name a folder, owner/repository/path of GitHub, or the"
        " https address of a git repository, with #path for one of its skills."
    )


@contextmanager
def fetched(source: SkillSource, environ: Mapping[str, str]) -> Iterator[Path]:
    """The folder of a source, on this machine for as long as it is needed; SkillError where it cannot be
    had.
    """
    if source.folder:
        yield Path(source.folder)
        return
    with tempfile.TemporaryDirectory(prefix="hermes-skills-") as place:
        _clone(source, Path(place), environ)
        yield Path(place) / "repository"


def skill_folders(top: Path) -> dict[str, Path]:
    """The folders with a skill below a place, by their paths in it ("." for the place itself), without those
    that a link leads to outside of it.
    """
    folders = [Path(path).parent for path, _ in skill_files(top)]
    within = [one for one in folders if one.resolve().is_relative_to(top.resolve())]
    return {str(one.relative_to(top)): one for one in within}


def chosen(top: Path, source: SkillSource) -> Path:
    """The folder of the one skill that is meant; SkillError where there are others to choose from, or
    none.
    """
    found = skill_folders(top)
    if source.path:
        fitting = [
            one for path, one in found.items() if path == source.path.strip("/") or one.name == source.path
        ]
        if len(fitting) == 1:
            return fitting[0]
        near = nearest(source.path, found)
        raise SkillError(
            f"{source.name} has no skill {source.path[:80]!r}"
            + (f"; did you mean {near[0]}?" if near else f"; it has {_named(found)}.")
        )
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise SkillError(f"There is no SKILL.md in {source.name}.")
    raise SkillError(f"{source.name} has {len(found)} skills; name one of them: {_named(found)}.")


def _named(found: Mapping[str, Path]) -> str:
    names = sorted(found)
    return ", ".join(names[:20]) + (" …" if len(names) > 20 else "") or "none"


def _clone(source: SkillSource, place: Path, environ: Mapping[str, str]) -> None:
    """Fetch a repository and write its files, if these are not too much: a few kB of it can stand for
    anything.
    """
    way = {name: value for name, value in environ.items() if _WAY.fullmatch(name)}
    repository = place / "repository"
    try:
        get = SafeGit(place, environ, {**way, **_ALLOWED}, _BOUNDS)
        options = ("--quiet", "--depth=1", "--no-tags", "--no-checkout")
        get.run("clone", *options, "--", source.address, repository.name)
        git = SafeGit(repository, environ, bounds=_BOUNDS)
        sizes = [int(size) for size in _SIZE.findall(git.run("ls-tree", "-r", "-l", "-z", "HEAD"))]
        if len(sizes) > _MOST_FILES or sum(sizes) > _MOST_BYTES:
            most = f"{_MOST_FILES:,} files and {_MOST_BYTES:,} bytes are the most"
            raise SkillError(f"{source.name} has too much in it: {most}.")
        git.run("checkout", "--quiet", "HEAD")
    except GitError as error:
        raise SkillError(f"{source.name} cannot be fetched: {error}.") from error


def _trust(address: str) -> Trust:
    name = address.removeprefix(f"{GITHUB}/").removesuffix(".git")
    return "trusted" if address.startswith(f"{GITHUB}/") and name in TRUSTED else "community"
