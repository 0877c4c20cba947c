"""The skills that come with the program: copied into a home once, and brought up to date where the user has
not touched them. What a user edits stays as it is; what a user deletes stays away.
"""

import hashlib
import shutil
from collections.abc import Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hermes.lib.files import make_private, write_atomic
from hermes.skills.digest import digest
from hermes.skills.library import skill_files
from hermes.skills.lock import lock

MANIFEST: Final = ".bundled_manifest"
OPT_OUT: Final = ".no-bundled-skills"
"""A file of this name in the folder of skills keeps the bundled ones out."""


class _Manifest(Struct, frozen=True):
    """The digests of the skills as they were copied, by their places, and the stamp that the program's own
    had.
    """

    stamp: str = ""
    digests: dict[str, str] = {}


def bundled_folder() -> Path:
    """Where the program has its skills."""
    return Path(str(files("hermes"))) / "data" / "skills"


def seed(target: Path, source: Path) -> list[str]:
    """Copy the skills of `source` that are new into a home's folder of skills and replace those that are as
    they were copied; the places of these. Where nothing has changed since the last time, this is a look at
    their files. SkillError and OSError where the home cannot be written.
    """
    if (target / OPT_OUT).exists():
        return []
    stamps = dict(skill_files(source))
    stamp = hashlib.sha256(repr(sorted(stamps.items())).encode()).hexdigest()
    if _read(target / MANIFEST).stamp == stamp:
        return []
    with lock(target):
        return _bring(target, source, list(stamps), stamp)


def _bring(target: Path, source: Path, paths: list[str], stamp: str) -> list[str]:
    kept = _read(target / MANIFEST)
    places = sorted(str(Path(path).parent.relative_to(source)) for path in paths)
    fresh = {place: digest(source / place) for place in places}
    written = [place for place in places if _wants(target, place, fresh[place], kept.digests)]
    for place in written:
        _copy(source / place, target / place)
    held = {**kept.digests, **{place: fresh[place] for place in written}}
    write_atomic(target / MANIFEST, msgspec.json.encode(_Manifest(stamp, held)))
    return written


def _wants(target: Path, place: str, fresh: str, held: Mapping[str, str]) -> bool:
    """Whether a skill is to be written: it never was and nothing is there, or there is a new one and that
    which is there is as it was written.
    """
    there = (target / place).exists()
    if place not in held:
        return not there
    return held[place] != fresh and there and digest(target / place) == held[place]


def _copy(source: Path, target: Path) -> None:
    make_private(target.parent)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))


def _read(file: Path) -> _Manifest:
    with suppress(OSError, msgspec.DecodeError, msgspec.ValidationError):
        return msgspec.json.decode(file.read_bytes(), type=_Manifest)
    return _Manifest()
