"""What the commands on skills of others share: the places that are asked, and a skill looked through in
quarantine.
"""

import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import anyio
import click

from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import here, home_with_skills
from hermes.composition import SYSTEM_PORTS, skills_of
from hermes.lib.text import strip_escapes
from hermes.lib.visible import one_line
from hermes.models.client import client_for
from hermes.skills.guard import GuardVerdict
from hermes.skills.hubs.directory import HubDirectory
from hermes.skills.hubs.kept_lists import KeptLists
from hermes.skills.hubs.taps import Taps
from hermes.skills.installed import Candidate, InstalledSkills
from hermes.skills.library import SkillLibrary
from hermes.skills.needs import Unmet, unmet
from hermes.skills.settings import SkillSettings
from hermes.skills.skill_file import Skill
from hermes.skills.sources import SkillSource, name_for, refuse_two_meanings

T = TypeVar("T")


def ask_places(choices: Choices, work: Callable[[HubDirectory], Awaitable[T]]) -> T:
    """What some work with the places of the home in force gives."""
    now = here(choices)

    async def asked() -> T:
        async with client_for(now.settings, now.environ) as client:
            hubs = now.settings[SkillSettings].hubs
            kept = KeptLists(now.home.skills, SYSTEM_PORTS.now)
            return await work(HubDirectory(hubs, taps_of(choices), now.environ, client, kept))

    return anyio.run(asked)


@contextmanager
def typed_candidate(choices: Choices, words: str) -> Iterator[Candidate]:
    """The skill that somebody types, as `candidate` has it; SkillError where the words mean two things."""
    refuse_two_meanings(words, here(choices).settings[SkillSettings].hubs.github)
    with candidate(choices, words) as one:
        yield one


@contextmanager
def candidate(choices: Choices, words: str) -> Iterator[Candidate]:
    """The skill of a source, fetched and looked through in quarantine; nothing of it stays there."""
    with tempfile.TemporaryDirectory(prefix="hermes-skills-") as place:

        async def fetched(places: HubDirectory) -> tuple[SkillSource, Path]:
            source = places.source(words)
            return source, await places.fetch(source, Path(place))

        source, folder = ask_places(choices, fetched)
        name, token, origin = name_for(source, folder), SYSTEM_PORTS.token(), source.words
        with installed_in(choices).candidate(folder, name, token, origin=origin, trust=source.trust) as one:
            yield one


def library_of(choices: Choices) -> SkillLibrary:
    """The skills of the home in force, those that come with the program among them."""
    return skills_of(home_with_skills(choices), here(choices).settings[SkillSettings])


def unmet_here(choices: Choices) -> Callable[[Skill], Unmet]:
    """What tells of a skill what it needs and does not find in the home in force."""
    now = here(choices)
    return lambda skill: unmet(skill, now.environ, shutil.which, now.home.root)


def installed_in(choices: Choices) -> InstalledSkills:
    """The skills of others in the home in force."""
    home = here(choices).home
    return InstalledSkills(home.skills, home.skill_quarantine)


def taps_of(choices: Choices) -> Taps:
    """The taps of the home in force."""
    return Taps(here(choices).home.skills)


def tell_verdict(name: str, verdict: GuardVerdict) -> None:
    """The verdict, and a line for each finding, on stderr."""
    click.echo(f"{name}: {verdict.level}", err=True)
    for one in verdict.findings:
        place = f"{one.file}:{one.line}" if one.line else one.file or "the folder"
        words = f" · {one.words}" if one.words else ""
        click.echo(one_line(strip_escapes(f"  {one.level}  {place}: {one.why}{words}")), err=True)
