"""Layer 10. A runtime: what the sessions of a home share, opened and closed together."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import anyio
import httpx2
from msgspec import Struct
from msgspec.structs import replace

import hermes.settings  # noqa: F401  # every section is known before a file is read
from hermes.agent.code_execution.settings import CodeExecutionSettings
from hermes.agent.context_engines import ContextEngines
from hermes.agent.delegation.current_settings import CurrentSettings
from hermes.agent.prompt.builder import PromptSpan, SystemPrompt
from hermes.agent.prompt.folder_trust import FolderTrust, NotesInQuestion
from hermes.agent.prompt.standard import standard_prompt
from hermes.agent.retention import DAY, empty_temp, prune
from hermes.agent.routes import Routes
from hermes.agent.services import RuntimeServices
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.composition import (
    SYSTEM_PORTS,
    Connections,
    model_cache,
    open_tools,
    secrets_of,
    services_for,
)
from hermes.config.environ import environment, with_dotenv
from hermes.config.home import Home, locate
from hermes.config.load import Loaded, load
from hermes.config.names import setting_names
from hermes.config.sections import Settings
from hermes.hooks import Hooks
from hermes.lib.abridged import Abridged
from hermes.lib.aio import background
from hermes.lib.lazy import import_object
from hermes.lib.secretvalues import SecretValues
from hermes.mcp.instructions import ServerInstructions
from hermes.mcp.opening import mcp_servers
from hermes.mcp.servers import McpServers
from hermes.mcp.settings import McpSettings
from hermes.models.catalog.plugin_providers import PluginProviders
from hermes.models.client import client_for
from hermes.opening import SessionOpener
from hermes.plugins.host import host_of
from hermes.plugins.plugged import LoadedPlugin, hooked, news_of, plugged, replugged
from hermes.store.protocol import SessionStore, StoredQuestion
from hermes.store.questions import suited
from hermes.store.sqlite_store import open_store
from hermes.tools.registry import ToolRegistry
from hermes.tools.schemas import Schemas
from hermes.tools.settings import ToolOutputSettings
from hermes.types.actor import Actor
from hermes.types.ports import Ports
from hermes.types.question import Answer
from hermes.types.request import Endpoint
from hermes.types.tool import ToolSnapshot

OF_THE_ORIGINAL: Final = (
    "This home was made by the original Hermes Agent: hermes import takes over its sessions, keys and the"
    " rest."
)


class Runtime(Abridged, Struct, kw_only=True):
    """What the sessions of one home share, and where they come from; `variables` are what `environ` shows.

    `read` gives the settings as the home has them now. Made by `open_runtime`, which also closes it.
    """

    unshown: ClassVar = ("variables",)

    home: Home
    loaded: Loaded
    opener: SessionOpener
    variables: dict[str, str]
    read: Callable[[], Settings]
    plugins: tuple[LoadedPlugin, ...] = ()
    told: tuple[str, ...] = ()

    @property
    def services(self) -> RuntimeServices:
        """What its sessions share."""
        return self.opener.services

    @property
    def prompt(self) -> SystemPrompt:
        """The sections of the system prompt."""
        return self.opener.prompt

    @property
    def environ(self) -> Mapping[str, str]:
        """The user's variables, those of the home's `.env` included."""
        return self.services.environ

    @property
    def ports(self) -> Ports:
        """The clock, randomness and ids of this runtime."""
        return self.services.ports

    @property
    def hooks(self) -> Hooks:
        """Callbacks at named points of sessions, turns and calls: `hooks.register(point, callback)`."""
        return self.services.dispatcher.hooks

    @property
    def context_engines(self) -> ContextEngines:
        """The context managers that `context.engine` may name; add one before the first session."""
        return self.services.engines

    @property
    def store(self) -> SessionStore:
        """Where sessions are kept."""
        return self.services.store

    @property
    def routes(self) -> Routes:
        """The ways of this home's requests."""
        return self.opener.routing.routes

    @property
    def registry(self) -> ToolRegistry:
        """The tools of this home."""
        return self.opener.tool_folder.registry

    @property
    def mcp(self) -> McpServers:
        """The MCP servers of this home."""
        return self.opener.servers

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.loaded.settings

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know of the settings, of plugins and of the commands of hooks."""
        faults = (f"plugin {one.found.key}: {told}" for one in self.plugins for told in one.faults)
        return (*self.loaded.warnings, *faults, *self.told)

    @property
    def model_cache(self) -> Path:
        """Where fetched models are kept: the user's cache folder, shared by all homes and projects."""
        return model_cache(self.environ)

    def endpoint(self, model: str = "", base_url: str = "") -> Endpoint:
        """The endpoint that a choice, or the settings, lead to; ConfigError when it cannot be had."""
        return self.routes.endpoint(model, base_url)

    async def session(self, options: SessionOptions | None = None) -> Session:
        """A new session, or one that is resumed; ConfigError and StoreError say what cannot be."""
        chosen = options or SessionOptions()
        return await (self.opener.resumed(chosen) if chosen.resume else self.opener.new(chosen))

    def notes_in_question(self, chosen: SessionOptions) -> NotesInQuestion | None:
        """The notes of a project to ask about before a new session is opened with these options; ConfigError
        when it cannot be.
        """
        return self.opener.notes_in_question(chosen)

    @property
    def trust(self) -> FolderTrust:
        """In which folders the notes of a project count."""
        return self.services.trust

    async def prompt_spans(self, chosen: SessionOptions) -> tuple[list[tuple[str, PromptSpan]], ToolSnapshot]:
        """The stretches of the prompt that a new session would get, each with the name of its section, and
        its tools.
        """
        return await self.opener.prompt_spans(chosen)

    async def questions(self, session_id: str = "") -> list[StoredQuestion]:
        """The open questions of a session, or of all sessions of the home, whichever process asked them."""
        now = self.ports.now()
        return [one for one in await self.store.questions(session_id) if one.is_open(now)]

    async def answer(self, question_id: str, answer: Answer, *, by: Actor) -> bool:
        """Answer a question of any process; False when it is not open (any more), or not addressed to `by`.

        A process that waits for it learns of it within seconds; where none does, the answer is used when the
        session is resumed. TypeError and ValueError when it is no answer, or none to a question of this kind.
        """
        if any(session.questions.is_answered(question_id) for session in self.opener.living):
            return False  # its row may not be written yet
        if asked := await self.store.question(question_id):
            suited(answer, asked.question)
        return await self.store.answer(question_id, answer, by=by.origin, at=self.ports.now())

    async def take_plugins(self) -> list[str]:
        """Load the plugins that were enabled since, and take back those that are not any more; what has
        changed, in sentences. ConfigError where the settings cannot be read.
        """
        before = {one.found.key: one for one in self.plugins}
        host = host_of(self.services, self.home, self.routes)
        self.plugins = await replugged(self.home, self.read(), host, self.plugins)
        return news_of(before, {one.found.key: one for one in self.plugins})

    def keep_secret(self, name: str, value: str) -> None:
        """Write a key into the home's `.env`, know it as a secret, and have it in `environ` from now on."""
        import_object("hermes.config.edit:set_secret")(self.home.env_file, name, value)
        self.services.redactor.known.learn(value)
        self.variables[name] = value

    def close(self) -> None:
        """Let go of everything that is not awaited."""
        for plugin in self.plugins:
            plugin.unload()
        self.mcp.close()
        self.opener.routing.close()
        self.services.recall.close()
        self.services.dispatcher.guests.close()
        self.opener.tool_folder.close()


@asynccontextmanager
async def open_runtime(
    *,
    environ: Mapping[str, str] | None = None,
    profile: str = "",
    flags: Mapping[str, Any] | None = None,
    http: httpx2.AsyncClient | None = None,
    ports: Ports = SYSTEM_PORTS,
) -> AsyncIterator[Runtime]:
    """A runtime on a home; `environ` stands for the process environment, `http` for the network, in tests."""
    given = environment() if environ is None else environ
    home = locate(given, profile)
    values = with_dotenv(given, home.env_file)
    loaded = _open_to_providers(load(home.config_file, values, flags))
    read = lambda: load(home.config_file, values, flags).settings  # noqa: E731  # the settings as they are now
    delegation = CurrentSettings(home.config_file, loaded.settings, read)
    async with (
        open_store(home.sessions_db, home.search_db) as store,
        http or client_for(loaded.settings, values) as client,
        background() as start,
    ):
        loaded = await _with_the_original(home, loaded, store)
        known = SecretValues(*secrets_of(values))
        connections = Connections(store=store, http=client, spawn=start, known=known)
        servers = _servers(home, values, read, connections, ports)
        tools = open_tools(home, values, delegation.now, loaded.settings[CodeExecutionSettings], servers)
        services, routing, environments = services_for(
            home, loaded, values, connections, ports, tools.registry, servers
        )
        opener = SessionOpener(
            settings=loaded.settings,
            services=services,
            routing=routing,
            environments=environments,
            delegation=delegation.now,
            tool_folder=tools,
            servers=servers,
            schemas=Schemas(tools.registry, config_file=home.config_file),
            prompt=_prompt(loaded.settings, home, services, servers),
        )
        opener.services = replace(services, sessions=opener)
        servers.told = opener.tell
        runtime = Runtime(home=home, loaded=loaded, opener=opener, variables=values, read=read)
        await _plug(runtime)
        _tidy(home, loaded.settings, connections, ports)
        try:
            yield runtime
        finally:
            with anyio.CancelScope(shield=True):
                await opener.close_sessions()
            runtime.close()


def _open_to_providers(loaded: Loaded) -> Loaded:
    """The same with a place in its settings for the providers of models that plugins bring."""
    return replace(loaded, settings=loaded.settings.replace(PluginProviders()))


def _prompt(settings: Settings, home: Home, services: RuntimeServices, servers: McpServers) -> SystemPrompt:
    """The sections of the system prompt, what servers say of themselves among them."""
    prompt = standard_prompt(settings, home, services)
    prompt.register(ServerInstructions(servers))
    return prompt


async def _plug(runtime: Runtime) -> None:
    """Load its plugins, and have the commands of `hooks` at their points."""
    home, settings = runtime.home, runtime.settings
    host = host_of(runtime.services, home, runtime.routes)
    runtime.told = hooked(home, settings, host)
    runtime.plugins = await plugged(home, settings, host)


async def _with_the_original(home: Home, loaded: Loaded, store: SessionStore) -> Loaded:
    """In a home of the original with one word on all its keys that say nothing here, and one on its sessions
    as long as there are none of ours.
    """
    if not home.original_db.is_file():
        return loaded
    advice = setting_names().meant.values()
    strange = {one for one in loaded.ignored if not any(words in one for words in advice)}
    told = [one for one in loaded.warnings if one not in strange]
    if strange:
        count = len(strange)
        told.append(f"{count} keys of {home.config_file.name} have no effect here; hermes doctor names them.")
    if not await store.recent(limit=1):
        told.append(OF_THE_ORIGINAL)
    return replace(loaded, warnings=tuple(told))


def _tidy(home: Home, settings: Settings, connections: Connections, ports: Ports) -> None:
    """Take away, beside the sessions, what earlier ones have left."""
    start, store = connections.spawn, connections.store
    if days := settings[ToolOutputSettings].keep_days:
        folders, before = (home.scratch, home.results), ports.now() - days * DAY
        start(partial(prune, store, folders, before=before))
    start(partial(empty_temp, store, home.scratch, before=ports.now() - DAY))


def _servers(
    home: Home,
    values: Mapping[str, str],
    read: Callable[[], Settings],
    connections: Connections,
    ports: Ports,
) -> McpServers:
    """The MCP servers of a home, on the running loop."""
    configured = lambda: read()[McpSettings].mcp_servers  # noqa: E731
    servers = mcp_servers(home, configured, values, connections.known, ports, connections.spawn)
    servers.enter()
    return servers
