"""Publishing a skill: its folder as a commit on a branch of its own, in a clone of the repository that it is
for. Nothing leaves this machine here.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.lib.bounded_process import Bounds
from hermes.lib.safe_git import GitError, SafeGit
from hermes.lib.trees import Room, TooLarge, copy_aside
from hermes.skills.guard import MOST_BYTES, MOST_FILES, GuardVerdict, examine
from hermes.skills.hubs.repository import Cloning, cloned
from hermes.skills.library import read_skill_file
from hermes.skills.skill_file import Skill, check, load
from hermes.skills.sources import SkillSource, skill_folders
from hermes.types.error import SkillError

_BOUNDS: Final = Bounds(seconds=120.0)
_USUAL: Final = "skills"


class Publication(Struct, frozen=True, kw_only=True):
    """A skill on a branch of a clone, and where it lies there; without `changes` the repository has it so."""

    clone: Path
    branch: str
    path: str
    changes: bool


def examined(folder: Path) -> tuple[Skill, GuardVerdict]:
    """A skill that may be published, and what the guard says of it; SkillError where it is none."""
    skill = load(folder)
    check(read_skill_file(skill), skill.name)
    return skill, examine(folder)


async def prepared(
    skill: Skill, target: SkillSource, place: Path, cloning: Cloning, author: Sequence[str]
) -> Publication:
    """A branch with the skill, in a clone of the target in an empty place; `author` are a name and an
    address.
    """
    clone = await cloned(target, place, cloning)
    branch = f"skill/{skill.name}"
    folder, (name, address) = _place(clone, skill), author
    try:
        git = SafeGit(clone, cloning.environ, bounds=_BOUNDS)
        git.run("checkout", "--quiet", "-B", branch)
        _put(Path(skill.folder), folder, clone)
        git.run("add", "--all", "--force", "--", str(folder.relative_to(clone)))
        changes = bool(git.run("status", "--porcelain"))
        if changes:
            who = ("-c", f"user.name={name}", "-c", f"user.email={address}")
            git.run(*who, "commit", "--quiet", "--no-verify", "-m", f"Publish the skill {skill.name}")
    except GitError as error:
        raise SkillError(f"The branch for {skill.name} cannot be made: {error}.") from error
    path = str(folder.relative_to(clone))
    return Publication(clone=clone, branch=branch, path=path, changes=changes)


def _place(clone: Path, skill: Skill) -> Path:
    """Where a skill lies in a repository: where it lay, else beside the others."""
    found = skill_folders(clone)
    own = [one for one in found.values() if one.name == skill.name]
    if len(own) == 1:
        return own[0]
    others = {one.parent for one in found.values() if one != clone}
    top = next(iter(others)) if len(others) == 1 else clone / _USUAL
    return top / skill.name


def _put(source: Path, target: Path, clone: Path) -> None:
    """Copy the files of a skill, in the place of those that were there; no link of the repository leads out
    of it.
    """
    if target.is_symlink() or not target.parent.resolve().is_relative_to(clone.resolve()):
        raise SkillError(f"{target.relative_to(clone)} leads out of the repository.")
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        copy_aside(source.resolve(), target, Room(MOST_BYTES, MOST_FILES * 2))
    except (TooLarge, OSError) as error:
        raise SkillError(f"{source} cannot be copied: {error}.") from error
