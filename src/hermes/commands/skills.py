"""The command on skills: those that are here, those of others, and how one of them comes here."""

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from hermes.agent.skills import SessionSkills
from hermes.commands.context import CommandContext, opened
from hermes.commands.others_words import code_words, plain_words
from hermes.commands.skill_settings import ask_for_keys
from hermes.lib.text import strip_escapes
from hermes.lib.visible import one_line
from hermes.plugins.variable_owners import owned_already
from hermes.skills.guard import GuardVerdict, keeps_out
from hermes.skills.hubs.directory import HubDirectory
from hermes.skills.hubs.kept_lists import KeptLists
from hermes.skills.hubs.taps import Taps
from hermes.skills.installed import Candidate, InstalledSkills
from hermes.skills.library import files_of
from hermes.skills.settings import SkillSettings
from hermes.skills.skill_file import FILE
from hermes.skills.sources import name_for
from hermes.types.error import SkillError

_USE: Final = "/skills takes list, search WORDS, inspect NAME, install NAME or uninstall NAME."
_SHOWN: Final = 40


async def skills(talk: CommandContext, argument: str) -> None:
    """List skills, look for others, look at one, or install one after a yes."""
    word, _, rest = argument.partition(" ")
    act = _ACTS.get(word or "list")
    if act is None or (word in _NAMED and not rest.strip()):
        talk.warn(_USE)
        return
    await act(talk, rest.strip())


async def _list(talk: CommandContext, _rest: str) -> None:
    session = opened(talk)
    own = SessionSkills(session)
    rows = [
        f"- {code_words(one.name)}: {plain_words(one.description)}{_needs(own.unmet(one).names)}"
        for one in session.services.skills.skills()
    ]
    talk.tell("\n".join(rows) or "There are no skills yet; `/skills search WORDS` finds those of others.")


async def _search(talk: CommandContext, words: str) -> None:
    talk.notice("Looking for skills in all places …")
    found = await _places(talk).search(words)
    for one in found:
        if one.fault:
            talk.notice(f"{one.hub}: {one.fault}")
    offers = [offer for one in found for offer in one.offers]
    rows = [
        f"- {code_words(one.words)} ({one.trust}): {plain_words(one.description)}" for one in offers[:_SHOWN]
    ]
    more = [f"\n{len(offers) - _SHOWN} more; say more words."] if len(offers) > _SHOWN else []
    talk.tell("\n".join([*rows, *more]) or "No skill was found.")


async def _inspect(talk: CommandContext, where: str) -> None:
    async with _looked_at(talk, where) as one:
        talk.tell(_facts(talk, one))


async def _install(talk: CommandContext, where: str) -> None:
    async with _looked_at(talk, where) as one:
        if keeps_out(one.verdict, one.trust):
            talk.tell(_facts(talk, one))
            raise SkillError(
                f"{one.skill.name} was not installed. Read it; hermes skills install --force in a terminal"
                " installs it in spite of that."
            )
        why = [f"it comes from others, and the guard says {one.verdict.level}", *_found(one.verdict)]
        why += owned_already(one.skill, talk.runtime.home, talk.runtime.settings)
        about = f"{one.skill.name} from {one.source}\n{plain_words(one.skill.description)}"
        if not await talk.agreed("Install this skill?", about, why):
            talk.notice("Nothing was installed.")
            return
        made = _installed(talk).install(one, category="", at=talk.runtime.ports.now(), force=False)
    talk.notice(f"{made.name} is installed. /{made.name} calls for it; the prompt lists it in new sessions.")
    skill = talk.runtime.services.skills.find(made.name)
    await ask_for_keys(talk, skill, SessionSkills(opened(talk)).unmet(skill))


async def _uninstall(talk: CommandContext, name: str) -> None:
    known = _installed(talk).every().get(name)
    if known is None:
        raise SkillError(f"No skill {name[:80]!r} was installed; your own you delete by yourself.")
    if await talk.agreed("Remove this skill?", f"{name} from {known.source}", ["its folder goes with it"]):
        _installed(talk).uninstall(name)
        talk.notice(f"{name} is gone.")
    else:
        talk.notice("Nothing was removed.")


_Act = Callable[[CommandContext, str], Awaitable[None]]
_NAMED: Final = frozenset({"search", "inspect", "install", "uninstall"})
_ACTS: Final[Mapping[str, _Act]] = {
    "list": _list,
    "search": _search,
    "inspect": _inspect,
    "install": _install,
    "uninstall": _uninstall,
}


@asynccontextmanager
async def _looked_at(talk: CommandContext, where: str) -> AsyncIterator[Candidate]:
    """The skill that a person names, in quarantine."""
    places = _places(talk)
    source = places.typed(where)
    with tempfile.TemporaryDirectory(prefix="hermes-skills-") as place:
        folder = await places.fetch(source, Path(place))
        name, token = name_for(source, folder), talk.runtime.ports.token()
        with _installed(talk).candidate(folder, name, token, origin=source.words, trust=source.trust) as one:
            yield one


def _places(talk: CommandContext) -> HubDirectory:
    runtime = talk.runtime
    hubs, folder = runtime.settings[SkillSettings].hubs, runtime.home.skills
    kept = KeptLists(folder, runtime.ports.now)
    return HubDirectory(hubs, Taps(folder), runtime.environ, runtime.routes.http, kept)


def _installed(talk: CommandContext) -> InstalledSkills:
    home = talk.runtime.home
    return InstalledSkills(home.skills, home.skill_quarantine)


def _facts(talk: CommandContext, one: Candidate) -> str:
    lacks = SessionSkills(opened(talk)).unmet(one.skill)
    rows = [
        ("from", f"{one.source} ({one.trust})"),
        ("files", ", ".join([FILE, *files_of(one.skill)])),
        ("needs", "; ".join(lacks.sentences) or "nothing more"),
        ("guard", one.verdict.level),
    ]
    rows += [
        ("besides", owned) for owned in owned_already(one.skill, talk.runtime.home, talk.runtime.settings)
    ]
    told = [f"**{plain_words(one.skill.name)}**: {plain_words(one.skill.description)}", ""]
    return "\n".join(
        [*told, *(f"- {name}: {code_words(value)}" for name, value in rows), *_listed(one.verdict)]
    )


def _listed(verdict: GuardVerdict) -> list[str]:
    return [f"- {code_words(one)}" for one in _found(verdict)]


def _found(verdict: GuardVerdict) -> list[str]:
    """What the guard found, a line each."""
    return [
        one_line(strip_escapes(f"{one.level} {one.file}:{one.line}: {one.why} {one.words}".strip()))
        for one in verdict.findings[:_SHOWN]
    ]


def _needs(names: Sequence[str]) -> str:
    return f" (needs {', '.join(map(code_words, names))})" if names else ""
