"""Asking a person for the keys that skills need. They go to the home's `.env`, and to no model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes.agent.skills import SessionSkills, called_for
from hermes.commands.context import CommandContext, opened
from hermes.config.edit import is_secret
from hermes.lib.visible import one_line
from hermes.plugins.variable_owners import owners_of
from hermes.skills.needs import Unmet

if TYPE_CHECKING:
    from hermes.skills.skill_file import Skill, SkillVariable


def lacks_keys(talk: CommandContext, text: str) -> bool:
    """Whether a message begins with skills that need keys which nobody has given, nor left out before."""
    return text.startswith("/") and any(
        one.name not in talk.left_out for _, lacks in _called(talk, text) for one in askable(lacks)
    )


async def ask_for_called(talk: CommandContext, text: str) -> None:
    """Ask for the keys of the skills that a message begins with, but for those that were left out before."""
    if lacks_keys(talk, text):
        for skill, lacks in _called(talk, text):
            await ask_for_keys(talk, skill, lacks)


async def ask_for_keys(talk: CommandContext, skill: "Skill", lacks: Unmet) -> None:
    """Ask for each key that a skill lacks, and keep what is given."""
    for one in askable(lacks):
        owners = owners_of(one.name, talk.runtime.home, talk.runtime.settings)
        value = await talk.secret(asked_about(skill.name, one, owners))
        if value:
            talk.runtime.keep_secret(one.name, value)
            talk.notice(f"{one.name} is kept in {talk.runtime.home.env_file}.")
        else:
            talk.left_out.add(one.name)


def askable(lacks: Unmet) -> Sequence["SkillVariable"]:
    """The variables that a person may be asked for: those that `.env` holds by their names."""
    return [one for one in lacks.variables if is_secret(one.name)]


def asked_about(skill: str, one: "SkillVariable", owners: Sequence[str]) -> str:
    """What a person reads who is asked for a key: what it is besides comes before the skill's own words."""
    told = " ".join(filter(None, (one.prompt, f"({one.help})" if one.help else "")))
    also = f", which is {' and '.join(owners)}: what you give counts there, too" if owners else ""
    return one_line(f"The skill {skill} needs {one.name}{also}{f': {told}' if told else ''}")


def _called(talk: CommandContext, text: str) -> list[tuple["Skill", Unmet]]:
    session = opened(talk)
    skills = session.services.skills
    found = [skills.find(name) for name in called_for(text, skills)]
    return [(one, SessionSkills(session).unmet(one)) for one in found]
