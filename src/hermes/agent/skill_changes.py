"""Changes that a session makes to skills: somebody says yes to the diff, or it waits for that; the agent's
own skills may be set free of it.
"""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import msgspec
from msgspec import Struct

from hermes.agent.outside import sources_of
from hermes.lib.visible import spelled_out, visible
from hermes.safety.plan import WORDS
from hermes.skills.changes import SkillChange, SkillRequest, texts
from hermes.skills.journal import ChangeJournal
from hermes.skills.skill_file import Skill
from hermes.types.error import SkillError
from hermes.types.question import Approve, Deny

if TYPE_CHECKING:
    from hermes.agent.session import Session

_WHY = "it changes a procedure that later sessions follow"
_SAYS = "the agent says: {}"
_WAITS = "It waits for the user, who sees it with hermes skills review. Go on without it."
_MADE = "It counts from the next session on; hermes skills revert takes it back."


class SkillEditor(Struct, frozen=True):
    """The changes that one session wants."""

    session: "Session"

    async def change(self, wanted: Mapping[str, Any], reason: str) -> Mapping[str, object]:
        """Make a change or have it wait, and say which; SkillError says in words for a model what cannot
        be.
        """
        if self.session.is_planning:
            raise SkillError(WORDS)
        change = self._change(_wanted(wanted), reason)
        self._journal.refuse_taken(change)
        if self._is_free(change):
            return await self._made(change)
        if not self.session.spec.attended:
            self._journal.propose(change)
            return _told(change, "waits", _WAITS)
        answer = await self.session.questions.ask(self._question(change))
        if isinstance(answer, Deny):
            raise SkillError(f"The user said no to this change of {change.skill}. {answer.reason}".strip())
        return await self._made(change)

    @property
    def _journal(self) -> ChangeJournal:
        return ChangeJournal(self.session.services.skills.own)

    def _is_free(self, change: SkillChange) -> bool:
        if self.session.services.skill_settings.self_edit != "direct" or change.outside:
            return False
        return change.action == "create" or self._journal.is_own(change)

    async def _made(self, change: SkillChange) -> Mapping[str, object]:
        await anyio.to_thread.run_sync(self._journal.make, change)
        return _told(change, "made", _MADE)

    def _change(self, wanted: SkillRequest, reason: str) -> SkillChange:
        services, skill = self.session.services, self._existing(wanted.name)
        before, after = texts(wanted, skill)
        return SkillChange(
            id=services.ports.token(),
            action=wanted.action,
            skill=wanted.name,
            place=self._place(skill) if skill else str(PurePosixPath(wanted.category, wanted.name)),
            before=before,
            after=after,
            reason=reason,
            at=services.ports.now(),
            session=self.session.id,
            outside=tuple(one.name for one in sources_of(self.session))[-3:],
        )

    def _existing(self, name: str) -> Skill | None:
        """The skill of this name, if there is one; SkillError for one that is only read."""
        library = self.session.services.skills
        found = next((one for one in library.skills() if one.name == name), None)
        if found is not None and not Path(found.folder).resolve().is_relative_to(library.own.resolve()):
            raise SkillError(f"The skill {name} lies in {found.folder}, which is only read.")
        return found

    def _place(self, skill: Skill) -> str:
        return str(Path(skill.folder).relative_to(self.session.services.skills.own))

    def _question(self, change: SkillChange) -> Approve:
        redactor = self.session.services.redactor
        return Approve(
            command=f"skill_manage {change.action} {change.skill}",
            cwd=str(self.session.services.skills.own),
            reasons=(_WHY, *([_SAYS.format(visible(change.reason))] if change.reason else [])),
            rule="skill",
            diff=redactor.redact(spelled_out(change.diff)),
        )


def _wanted(given: Mapping[str, Any]) -> SkillRequest:
    known = {name: given[name] for name in SkillRequest.__struct_fields__ if given.get(name) is not None}
    try:
        return msgspec.convert(known, SkillRequest)
    except msgspec.ValidationError as error:
        raise SkillError(f"skill_manage cannot read its arguments: {error}.") from error


def _told(change: SkillChange, state: str, note: str) -> Mapping[str, object]:
    return {"skill": change.skill, "change": change.id, "state": state, "note": note}
