"""The names that a shell offers, by kind, each with a few words; all from this machine, without network."""

from collections.abc import Iterator

import anyio

from hermes.agent.title import title_of
from hermes.apps.settings import known_keys, load
from hermes.composition import skills_of
from hermes.config.environ import environment, with_dotenv
from hermes.config.home import Home, locate, profiles_of
from hermes.lib.text import strip_escapes
from hermes.lib.visible import visible
from hermes.mcp.settings import McpSettings
from hermes.models.catalog.catalogue import known_models
from hermes.models.local import catalogue
from hermes.plugins.discovery import find_plugins
from hermes.plugins.installed import InstalledPlugins
from hermes.skills.installed import InstalledSkills
from hermes.skills.journal import ChangeJournal
from hermes.skills.settings import SkillSettings
from hermes.store.protocol import SessionRow
from hermes.store.sqlite_store import open_store

MOST = 200
"""Sessions that are offered."""


def profiles(_: str) -> Iterator[tuple[str, str]]:
    """The profiles that there are."""
    for name in profiles_of(environment()):
        yield name, ""


def settings(_: str) -> Iterator[tuple[str, str]]:
    """Every key of the settings."""
    for item in known_keys():
        yield item.key, item.description.partition(".")[0]


def models(profile: str) -> Iterator[tuple[str, str]]:
    """Local models and the known ones of all providers, the user's own too."""
    home = locate(environment(), profile)
    loaded = load(home.config_file, with_dotenv(environment(), home.env_file))
    for one in catalogue.entries():
        yield f"local/{one.alias}", ""
    for name in known_models(loaded.settings):
        yield name, ""


def sessions(profile: str) -> Iterator[tuple[str, str]]:
    """The last sessions of the home."""
    home = locate(environment(), profile)
    for row in anyio.run(_recent, home) if home.sessions_db.is_file() else ():
        yield row.id, visible(strip_escapes(row.title or title_of(row.first_text)))


def skills(profile: str) -> Iterator[tuple[str, str]]:
    """The skills that are used here."""
    home = locate(environment(), profile)
    loaded = load(home.config_file, with_dotenv(environment(), home.env_file))
    for one in skills_of(home, loaded.settings[SkillSettings]).skills():
        yield one.name, visible(strip_escapes(one.description))


def installed_skills(profile: str) -> Iterator[tuple[str, str]]:
    """The skills that were installed."""
    home = locate(environment(), profile)
    for one in InstalledSkills(home.skills, home.skill_quarantine).every().values():
        yield one.name, visible(one.source)


def plugins(profile: str) -> Iterator[tuple[str, str]]:
    """The plugins of the home."""
    for one in find_plugins(locate(environment(), profile).plugins, None):
        yield one.key, visible(one.manifest.description if one.manifest else one.fault)


def installed_plugins(profile: str) -> Iterator[tuple[str, str]]:
    """The plugins that were installed."""
    home = locate(environment(), profile)
    for name, one in InstalledPlugins(home.plugins, home.plugin_quarantine).every().items():
        yield name, visible(one.source)


def mcp_servers(profile: str) -> Iterator[tuple[str, str]]:
    """The MCP servers of the settings."""
    home = locate(environment(), profile)
    loaded = load(home.config_file, with_dotenv(environment(), home.env_file))
    for name, server in loaded.settings[McpSettings].mcp_servers.items():
        yield name, visible(server.url or server.command)


def waiting_changes(profile: str) -> Iterator[tuple[str, str]]:
    """The changes of skills that wait."""
    for one in ChangeJournal(locate(environment(), profile).skills).waiting():
        yield one.id, visible(strip_escapes(one.place))


def made_changes(profile: str) -> Iterator[tuple[str, str]]:
    """The changes of skills that were made."""
    for one in ChangeJournal(locate(environment(), profile).skills).made():
        yield one.id, visible(strip_escapes(one.place))


async def _recent(home: Home) -> list[SessionRow]:
    async with open_store(home.sessions_db, home.search_db) as store:
        return await store.recent(limit=MOST)
