"""Skills as one session sees them: those that are of use to it, listed and read."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.prompt.notes import TextRules, readable
from hermes.agent.prompt.skill_index import surface_of
from hermes.agent.provenance import tell
from hermes.lib.lazy import import_object
from hermes.lib.text import clip
from hermes.skills.conditions import of_use
from hermes.skills.index import categories
from hermes.skills.library import SkillLibrary, files_of, read_skill_file
from hermes.skills.lock_file import read_lock
from hermes.skills.needs import Unmet, unmet
from hermes.skills.skill_file import FILE, LONGEST, Skill, split
from hermes.types.error import SkillError
from hermes.types.event import Notice
from hermes.types.message import ContextBlock

if TYPE_CHECKING:
    from hermes.agent.session import Session

_STACKED: Final = 5
_CALLED: Final = (
    "The user calls for the skill {name}. Follow it for what they say after it.\n\n{content}\n\n{rest}"
)
_LISTED: Final = 200
_VARIABLES: Final = ("HERMES_SKILL_DIR", "CLAUDE_SKILL_DIR")


def _known_nowhere(name: str) -> str:
    """A program of a machine that is not looked at counts as there."""
    return name


def skill_blocks(session: "Session", text: str) -> Iterator[ContextBlock]:
    """The skills that a message begins with, each as `/name`, for the model to follow."""
    if not text.startswith("/"):
        return
    skills = SessionSkills(session)
    for name in called_for(text, session.services.skills):
        try:
            skill = session.services.skills.find(name)
            told, outside = skills.whole(skill), skills.outside(skill)
        except SkillError as error:
            session.emit(Notice(level="warning", text=str(error)))
            continue
        rest = {key: told[key] for key in ("folder", "files", "missing") if key in told}
        words = _CALLED.format(name=name, content=told.get("content", ""), rest=json.dumps(rest))
        yield ContextBlock(kind="skill", text=words, source=skill.folder, outside=outside)


def called_for(text: str, library: SkillLibrary) -> list[str]:
    """The names of the skills that a text begins with; those after the first that is none do not count."""
    words = takewhile(lambda word: word.startswith("/"), text.split()[:_STACKED])
    known = {one.name for one in library.skills()}
    return list(takewhile(known.__contains__, (word[1:] for word in words)))


class SessionSkills(Struct, frozen=True):
    """What a session may ask of the skills; satisfies `types.tool.Skills`."""

    session: "Session"

    def listed(self, category: str = "") -> Sequence[Mapping[str, object]]:
        """Name, description and category of each, or of those of one category."""
        found = categories(self._of_use())
        shown = [one for name, some in found.items() if category in ("", name) for one in some]
        return [
            {"name": one.name, "description": clip(self._said(one), _LISTED, notice="…", head_share=1.0)}
            | ({"category": one.category} if one.category else {})
            | ({"needs": needs} if (needs := self.unmet(one).names) else {})
            for one in shown
        ]

    def view(self, name: str, path: str = "") -> Mapping[str, object]:
        """A skill with its procedure, or a file of it; SkillError says what is not there. What a community
        wrote makes the call's result one from outside.
        """
        skill = self.session.services.skills.find(name)
        tell(self.outside(skill))
        if path and path != FILE:
            content = self._readable(skill, read_skill_file(skill, path), path)
            return {"name": skill.name, "file": path, "content": content}
        return self.whole(skill)

    def whole(self, skill: Skill) -> Mapping[str, object]:
        """A skill with its procedure, its files, and what it needs that is not there."""
        _, body = split(read_skill_file(skill))
        told: dict[str, object] = {
            "name": skill.name,
            "description": self._said(skill),
            "content": self._readable(skill, body.strip(), FILE),
            "folder": skill.folder,
            "files": files_of(skill),
            "missing": self.unmet(skill).sentences,
            "related_skills": skill.related,
        }
        return {key: value for key, value in told.items() if value}

    async def change(self, wanted: Mapping[str, Any], reason: str) -> Mapping[str, object]:
        """Make a change of a skill or have it wait for a person."""
        editor = import_object("hermes.agent.skill_changes:SkillEditor")(self.session)
        told: Mapping[str, object] = await self.session.home.run(partial(editor.change, wanted, reason))
        return told

    def outside(self, skill: Skill) -> str:
        """Where a skill came from, if nobody here or whom we trust wrote it."""
        found = read_lock(self.session.services.skills.own).get(skill.name)
        return f"the skill {found.name} of {found.source}" if found and found.trust == "community" else ""

    def unmet(self, skill: Skill) -> Unmet:
        """What a skill needs and does not find; of another machine's programs nothing is known."""
        services = self.session.services
        which = _known_nowhere if services.environments.is_remote else shutil.which
        return unmet(skill, services.environ, which, services.skills.own.parent)

    def _of_use(self) -> list[Skill]:
        services = self.session.services
        remote = services.environments.is_remote
        surface = surface_of(self.session.tools.offered, services.dispatcher.registry, remote=remote)
        return of_use(services.skills.skills(), surface)

    def _said(self, skill: Skill) -> str:
        return self._readable(skill, skill.description, FILE)

    def _readable(self, skill: Skill, text: str, path: str) -> str:
        """The text with its variables filled in, and without what is hidden or forged in it."""
        for name in _VARIABLES:
            text = text.replace(f"${{{name}}}", skill.folder)
        text = text.replace("${HERMES_SESSION_ID}", self.session.id)
        rules = replace(self.session.services.notes or TextRules(), longest=LONGEST)
        return readable(text.encode(), str(Path(skill.folder) / path), rules)
