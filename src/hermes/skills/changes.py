"""Changes of skills as values: which files get which texts, made against the files as they are.

A change is stored before it is made, with the texts of before, so that it can be shown, waited with, made
when somebody says so, and taken back.
"""

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Final, Literal

from msgspec import Struct

from hermes.lib.edit.cascade import NoMatch, replace_text
from hermes.lib.edit.diff import unified
from hermes.lib.text import clip
from hermes.skills.library import LARGEST, files_of, read_skill_file
from hermes.skills.skill_file import FILE, Skill, check, check_name
from hermes.types.error import SkillError

Action = Literal["create", "patch", "edit", "delete", "write_file", "remove_file"]
FOLDERS: Final = ("references", "templates", "scripts", "assets")
"""Where the other files of a skill lie."""
_PREVIEW: Final = 500

Texts = dict[str, str | None]
"""Texts by their paths in a skill's folder; None for a file that is not there."""
BeforeAfter = tuple[Texts, Texts]


class SkillChange(Struct, frozen=True, kw_only=True):
    """What becomes of the files of a skill: `before` are their texts now, `after` those that they get.
    `place` is its folder, by its path in the folder of skills.

    `reason` says why, `at` is in epoch seconds, `session` made it, which had read from `outside` by then.
    """

    id: str
    action: Action
    skill: str
    place: str
    before: Texts
    after: Texts
    reason: str = ""
    at: float = 0.0
    session: str = ""
    outside: tuple[str, ...] = ()

    @property
    def diff(self) -> str:
        """What it changes, as a unified diff."""
        paths = sorted(self.before | self.after)
        return "".join(
            unified(self.before.get(path), self.after.get(path), f"{self.place}/{path}") for path in paths
        )


class SkillRequest(Struct, frozen=True, kw_only=True):
    """What somebody asks to be changed, in the words of the tool `skill_manage`."""

    action: Action
    name: str
    content: str = ""
    old_string: str = ""
    new_string: str = ""
    replace_all: bool = False
    category: str = ""
    file_path: str = ""
    file_content: str = ""


def texts(wanted: SkillRequest, skill: Skill | None) -> BeforeAfter:
    """The texts before and after the change; SkillError says in words for a model what cannot be."""
    if wanted.action == "create":
        return _created(wanted, skill)
    if skill is None:
        raise SkillError(f"There is no skill {wanted.name[:80]!r} to change; action create makes one.")
    return _CHANGES[wanted.action](wanted, skill)


def _created(wanted: SkillRequest, skill: Skill | None) -> BeforeAfter:
    if skill is not None:
        raise SkillError(f"There is a skill {skill.name} already; patch or edit it.")
    if wanted.category:
        check_name(wanted.category)
    check(wanted.content, wanted.name)
    return {FILE: None}, {FILE: wanted.content}


def _patched(wanted: SkillRequest, skill: Skill) -> BeforeAfter:
    path = _place(wanted.file_path) if wanted.file_path else FILE
    before = read_skill_file(skill, path)
    if not wanted.old_string:
        raise SkillError("patch needs old_string: the text that is to be replaced.")
    try:
        done = replace_text(before, wanted.old_string, wanted.new_string, every=wanted.replace_all)
    except NoMatch as error:
        raise SkillError(f"{error}\n{path} begins:\n{clip(before, _PREVIEW)}") from error
    return {path: before}, {path: _checked(path, done.text, skill)}


def _edited(wanted: SkillRequest, skill: Skill) -> BeforeAfter:
    return {FILE: read_skill_file(skill)}, {FILE: _checked(FILE, wanted.content, skill)}


def _deleted(_wanted: SkillRequest, skill: Skill) -> BeforeAfter:
    paths = [FILE, *files_of(skill)]
    before: Texts = {path: read_skill_file(skill, path) for path in paths}
    return before, dict.fromkeys(paths)


def _written(wanted: SkillRequest, skill: Skill) -> BeforeAfter:
    path = _place(wanted.file_path)
    before = read_skill_file(skill, path) if path in files_of(skill) else None
    return {path: before}, {path: _checked(path, wanted.file_content, skill)}


def _removed(wanted: SkillRequest, skill: Skill) -> BeforeAfter:
    path = _place(wanted.file_path)
    return {path: read_skill_file(skill, path)}, {path: None}


_Change = Callable[[SkillRequest, Skill], BeforeAfter]
_CHANGES: Final[Mapping[str, _Change]] = {
    "patch": _patched,
    "edit": _edited,
    "delete": _deleted,
    "write_file": _written,
    "remove_file": _removed,
}


def _place(path: str) -> str:
    """A path of a file beside SKILL.md, in one of its folders."""
    parts = PurePosixPath(path).parts
    if len(parts) < 2 or parts[0] not in FOLDERS or ".." in parts or "\0" in path:
        raise SkillError(
            f"{path[:200]!r} is no place for a file of a skill; such a file lies in {', '.join(FOLDERS)},"
            " as references/api.md does."
        )
    return str(PurePosixPath(path))


def _checked(path: str, text: str, skill: Skill) -> str:
    if path == FILE:
        check(text, skill.name)
    elif len(text.encode()) > LARGEST:
        raise SkillError(f"{path} would have more than {LARGEST} bytes.")
    return text
