"""What people call a place of skills: a folder of this machine, a git repository, by its address or as
`owner/repository` of GitHub, an address of one skill, or a hub with a name before a colon.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, get_args

from msgspec import Struct

from hermes.lib.nearest import nearest
from hermes.skills.library import skill_files
from hermes.skills.lock_file import Trust
from hermes.types.error import SkillError

GITHUB: Final = "https://github.com"
TRUSTED: Final = frozenset({"openai/skills", "anthropics/skills"})
"""Repositories whose skills are looked at by their owners before they are published."""
CLONE: Final = "repository"
"""The folder that a repository is cloned to."""
Kind = Literal["folder", "repository", "direct", "marketplace", "well-known", "clawhub", "lobehub"]
_REPOSITORY: Final = re.compile(r"[\w.-]+/[\w.-]+")
_LOCAL: Final = r"http(?=://(?:127\.0\.0\.1|localhost|\[::1\])[:/])"
_ADDRESS: Final = re.compile(rf"(?:https|file|{_LOCAL})://\S+")
_SITE: Final = re.compile(rf"(?:https|{_LOCAL})://\S+")
_DIRECT: Final = re.compile(rf"(?:https|{_LOCAL})://\S+(?:\.zip|\.tar\.gz|\.tgz|/SKILL\.md)")


class SkillSource(Struct, frozen=True, kw_only=True):
    """A place with skills: what kind it is, the `address` that leads there (of a folder its path), and in it
    the `path` of one skill. `name` is what people call it.
    """

    kind: Kind
    name: str
    trust: Trust
    address: str = ""
    path: str = ""

    @property
    def is_cloned(self) -> bool:
        """Whether all of it is fetched to tell what is there."""
        return self.kind in {"repository", "marketplace"}

    @property
    def words(self) -> str:
        """What leads here again."""
        joint = "#" if "://" in self.name else "/" if "/" in self.name else ":"
        return f"{self.name}{joint}{self.path}" if self.path else self.name


def source_of(words: str, github: str = GITHUB) -> SkillSource:
    """What somebody means who names a place; SkillError where it is none. `github` is where repositories are
    that have no address.
    """
    here = Path(words).expanduser()
    if words.startswith((".", "/", "~")) or (here.is_dir() and not _REPOSITORY.fullmatch(words)):
        return _folder(here, words)
    if _DIRECT.fullmatch(words):
        return SkillSource(kind="direct", name=words, trust="community", address=words)
    if _ADDRESS.fullmatch(words):
        address, _, path = words.partition("#")
        trust = _trust(address, github)
        return SkillSource(kind="repository", name=address, trust=trust, address=address, path=path)
    kind, _, rest = words.partition(":")
    found = _of_hub(kind, rest, github) or _repository(words, github)
    if found is None:
        raise SkillError(
            f"{words[:200]!r} is no place of skills: name a folder, owner/repository/path of GitHub, the"
            " https address of a git repository, with #path for one of its skills, or what hermes skills"
            " search lists, such as clawhub:NAME."
        )
    return found


def refuse_two_meanings(words: str, github: str = GITHUB) -> None:
    """SkillError where what somebody types is a folder of here and may be a repository, too: one that is
    meant to be looked at is not fetched from people who happen to have a name like that.
    """
    if _REPOSITORY.fullmatch(words) and not words.startswith(".") and Path(words).is_dir():
        address = repository_address(words, github)
        raise SkillError(f"{words} is a folder here, and may be a repository: name ./{words} or {address}.")


def repository_address(name: str, github: str) -> str:
    """The address of a repository that people call by its address or as `owner/repository`."""
    return name if "://" in name else f"{github}/{name}"


def is_repository(words: str) -> bool:
    """Whether somebody names a whole repository."""
    return bool(_REPOSITORY.fullmatch(words) or _ADDRESS.fullmatch(words))


def skill_folders(top: Path) -> dict[str, Path]:
    """The folders with a skill below a place, by their paths in it ("." for the place itself), without those
    that a link leads to outside of it.
    """
    folders = [Path(path).parent for path, _ in skill_files(top)]
    within = [one for one in folders if one.resolve().is_relative_to(top.resolve())]
    return {str(one.relative_to(top)): one for one in within}


def name_for(source: SkillSource, folder: Path) -> str:
    """What a skill in a folder of a source is called where its front matter names none: like the folder, or
    the repository that it is all of.
    """
    return source.name.rpartition("/")[2] if folder.name == CLONE else folder.name


def chosen(top: Path, name: str, path: str = "") -> Path:
    """The folder of the one skill that is meant below a place that people call by a name; SkillError where
    there are others to choose from, or none.
    """
    return chosen_of(skill_folders(top), name, path)


def chosen_of(found: Mapping[str, Path], name: str, path: str = "") -> Path:
    """The same of folders that were found."""
    if path:
        fitting = [one for key, one in found.items() if key == path.strip("/") or one.name == path]
        if len(fitting) == 1:
            return fitting[0]
        near = nearest(path, found)
        raise SkillError(
            f"{name} has no skill {path[:80]!r}"
            + (f"; did you mean {near[0]}?" if near else f"; it has {_named(found)}.")
        )
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise SkillError(f"There is no SKILL.md in {name}.")
    raise SkillError(f"{name} has {len(found)} skills; name one of them: {_named(found)}.")


def _folder(here: Path, words: str) -> SkillSource:
    if not here.is_dir():
        raise SkillError(f"There is no folder {words[:200]}.")
    place = str(here.resolve())
    return SkillSource(kind="folder", name=place, trust="trusted", address=place)


def _repository(words: str, github: str) -> SkillSource | None:
    parts = words.split("/", 2)
    name = "/".join(parts[:2])
    if not _REPOSITORY.fullmatch(name):
        return None
    address, path = repository_address(name, github), "".join(parts[2:])
    return SkillSource(
        kind="repository", name=name, trust=_trust(address, github), address=address, path=path
    )


def _of_hub(kind: str, rest: str, github: str) -> SkillSource | None:
    """A place by the name of its hub and what stands behind the colon."""
    if kind in {"clawhub", "lobehub"}:
        return SkillSource(kind=_kind(kind), name=kind, trust="community", path=rest)
    if kind == "well-known" and _SITE.fullmatch(rest):
        address, _, path = rest.partition("#")
        name = f"{kind}:{address}"
        return SkillSource(kind="well-known", name=name, trust="community", address=address, path=path)
    if kind == "marketplace":
        split = rest.partition("#")[::2] if "://" in rest else None
        inner = _repository(rest, github) if split is None else None
        name, path = split or ((inner.name, inner.path) if inner else ("", ""))
        if is_repository(name):
            address = repository_address(name, github)
            name = f"{kind}:{name}"
            return SkillSource(kind="marketplace", name=name, trust="community", address=address, path=path)
    return None


def _kind(word: str) -> Kind:
    return next(one for one in get_args(Kind) if one == word)


def _trust(address: str, github: str) -> Trust:
    """Who vouches for a repository; by its name only where names are those of GitHub itself."""
    name = address.removeprefix(f"{GITHUB}/").removesuffix(".git")
    is_known = address.startswith(f"{GITHUB}/") and github == GITHUB and name in TRUSTED
    return "trusted" if is_known else "community"


def _named(found: Mapping[str, Path]) -> str:
    names = sorted(found)
    return ", ".join(names[:20]) + (" …" if len(names) > 20 else "") or "none"
