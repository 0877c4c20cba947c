"""Layer 10. A runtime: what sessions share, and the sessions themselves, new and resumed."""

import datetime as dt
import platform
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal
from weakref import WeakSet

import anyio
import httpx2
from msgspec import Struct, field
from msgspec.structs import replace

import hermes.settings  # noqa: F401  # every section is known before a file is read
from hermes.agent import tool_offer
from hermes.agent.capabilities import CapabilitySettings, configured, resolved, within
from hermes.agent.hook_points import opened
from hermes.agent.log import replay
from hermes.agent.parents import bounds_of, read_by
from hermes.agent.prompt.builder import Place, PromptContext, PromptSpan, SystemPrompt
from hermes.agent.prompt.standard import standard_prompt
from hermes.agent.recovery import answers
from hermes.agent.retention import DAY, empty_temp, prune
from hermes.agent.routes import Routes
from hermes.agent.services import RuntimeServices
from hermes.agent.session import Session
from hermes.agent.settings import AgentSettings
from hermes.agent.spec import SessionOptions, SessionSpec
from hermes.composition import (
    SYSTEM_PORTS,
    Connections,
    HomeEnvironments,
    HomeRoutes,
    model_cache,
    open_tools,
    services_for,
)
from hermes.config.environ import environment, with_dotenv
from hermes.config.home import Home, locate
from hermes.config.load import Loaded, load
from hermes.config.sections import Settings
from hermes.environments.settings import TerminalSettings
from hermes.hooks import Hooks
from hermes.lib.aio import background
from hermes.lib.lazy import import_object
from hermes.lib.repository import branch_of
from hermes.models.client import client_for
from hermes.models.settings import CachingSettings, ModelSettings
from hermes.safety.settings import ApprovalSettings
from hermes.store.protocol import Owner, SessionRow, SessionStore, StoredQuestion, StoredSession
from hermes.store.sqlite_store import open_store
from hermes.tools.discovery import ToolFolder
from hermes.tools.registry import ToolRegistry
from hermes.tools.schemas import Schemas
from hermes.tools.settings import ToolOutputSettings
from hermes.types.actor import Actor
from hermes.types.capabilities import Capabilities
from hermes.types.error import ConfigError
from hermes.types.ports import Ports
from hermes.types.question import Answer
from hermes.types.request import Endpoint, Options
from hermes.types.tool import Snapshot


class Runtime(Struct, kw_only=True):
    """What the sessions of one home share, and where they come from.

    Made by `open_runtime`, which also closes it.
    """

    home: Home
    loaded: Loaded
    services: RuntimeServices
    routing: HomeRoutes
    environments: HomeEnvironments
    tool_folder: ToolFolder
    schemas: Schemas
    prompt: SystemPrompt
    _sessions: WeakSet[Session] = field(default_factory=WeakSet)

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
    def store(self) -> SessionStore:
        """Where sessions are kept."""
        return self.services.store

    @property
    def routes(self) -> Routes:
        """The ways of this home's requests."""
        return self.routing.routes

    @property
    def registry(self) -> ToolRegistry:
        """The tools of this home."""
        return self.tool_folder.registry

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.loaded.settings

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
        self.routes.learn_secrets()
        endpoint = self.endpoint(chosen.model, chosen.base_url)
        if chosen.resume:
            return await self._resumed(chosen, endpoint)
        now, cwd = self.ports.now(), self._cwd(chosen)
        session_id = f"{dt.datetime.fromtimestamp(now, tz=dt.UTC):%Y%m%d_%H%M%S}_{self.ports.token()}"
        tools = self._tools(chosen, endpoint)
        bounds = self._bounds(chosen, cwd)
        if chosen.parent:
            bounds = bounds.meet(await bounds_of(chosen.parent, self._sessions, self.store))
        spec = self._spec(
            session_id,
            chosen,
            endpoint,
            cwd=cwd,
            system=chosen.system
            or await self._system(await self._prompt_context(chosen, endpoint, tools, bounds, session_id)),
            tools=tools,
            bounds=bounds,
        )
        spec = replace(spec, outside=await read_by(chosen.parent, self._sessions, self.store))
        row = SessionRow(
            id=spec.id,
            cwd=str(cwd),
            branch=branch_of(cwd),
            model=f"{endpoint.provider}/{endpoint.model}",
            source=chosen.source,
            parent=spec.parent,
            created=now,
            updated=now,
        )
        await self.store.create(
            row, system=spec.system, tools=spec.tools.definitions, capabilities=spec.capabilities
        )
        async with self._claimed(row.id, chosen):
            session = Session(spec, self.services)
            self._sessions.add(session)
            self._open_environment(session)
            await opened(session, resumed=False)
        return session

    async def _resumed(self, chosen: SessionOptions, endpoint: Endpoint) -> Session:
        found = await self.store.resolve(chosen.resume, cwd=str(self._cwd(chosen)))
        async with self._claimed(found.id, chosen):
            session = await self._continued(await self.store.load(found.id), chosen, endpoint)
            self._open_environment(session)
            await opened(session, resumed=True)
        return session

    def _open_environment(self, session: Session) -> None:
        """Open it now where that cannot wait for the first tool; it is closed with the session."""
        if self.environments.opens_first and session.spec.tools.definitions:
            _ = session.environment

    @asynccontextmanager
    async def _claimed(self, session_id: str, chosen: SessionOptions) -> AsyncIterator[None]:
        """Have a session from now on, unless it cannot be opened."""
        await self.store.claim(session_id, self._owner(chosen))
        try:
            yield
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.store.release(session_id)
            raise

    async def _continued(self, stored: StoredSession, chosen: SessionOptions, endpoint: Endpoint) -> Session:
        """The session as it was left; what a crash left open is answered once, in store and log."""
        row, log = stored.row, replay(stored.log)
        spec = self._spec(
            row.id,
            chosen,
            endpoint,
            cwd=Path(row.cwd),
            system=stored.system,
            tools=tool_offer.stored(stored.tools, self.registry, chosen.functions),
            bounds=self._bounds(chosen, Path(row.cwd)).meet(stored.capabilities),
        )
        spec = replace(spec, parent=row.parent, outside=await read_by(row.parent, self._sessions, self.store))
        session = Session(spec, self.services, log=log, title=row.title, used=stored.used)
        self._sessions.add(session)
        questions, now = await self.store.questions(row.id), self.ports.now()
        if log.open or stored.begun:
            await session.settle(*answers(log.open, stored.begun, self.ports, questions))
        for one in questions:
            if one.answer is None and not one.is_open(now):
                await self.store.end_question(one.id, "expired")
        session.questions.restore([one for one in questions if one.answer or one.is_open(now)])
        return session

    async def questions(self, session_id: str = "") -> list[StoredQuestion]:
        """The open questions of a session, or of all sessions of the home, whichever process asked them."""
        now = self.ports.now()
        return [one for one in await self.store.questions(session_id) if one.is_open(now)]

    async def answer(self, question_id: str, answer: Answer, *, by: Actor) -> bool:
        """Answer a question of any process; False when it is not open (any more), or not addressed to `by`.

        A process that waits for it learns of it within seconds; where none does, the answer is used when the
        session is resumed. TypeError and ValueError when it is no answer.
        """
        if any(session.questions.is_answered(question_id) for session in self._sessions):
            return False  # its row may not be written yet
        return await self.store.answer(question_id, answer, by=by.origin, at=self.ports.now())

    def _owner(self, chosen: SessionOptions) -> Owner:
        pid, host = self.ports.pid(), platform.node()
        return Owner(pid=pid, host=host, app=chosen.source, since=self.ports.now())

    def _spec(
        self,
        session_id: str,
        chosen: SessionOptions,
        endpoint: Endpoint,
        *,
        cwd: Path,
        system: str,
        tools: Snapshot,
        bounds: Capabilities,
    ) -> SessionSpec:
        return SessionSpec(
            id=session_id,
            system=system,
            tools=within(tools, bounds),
            endpoint=endpoint,
            options=self._options(endpoint),
            capabilities=bounds,
            cwd=cwd,
            actor=chosen.actor or Actor(app=chosen.source),
            parent=chosen.parent,
            ephemeral=chosen.ephemeral,
            attended=chosen.attended and bounds.asks,
            yolo=chosen.yolo,
            max_steps=chosen.max_steps or self.settings[AgentSettings].max_turns,
            continuations=self.settings[ModelSettings].continuations,
            approval_timeout=self.settings[ApprovalSettings].timeout,
        )

    def _bounds(self, chosen: SessionOptions, cwd: Path) -> Capabilities:
        """What the settings and the opener let a session do at most."""
        user = Path(self.environ.get("HOME") or Path.home())
        settings = configured(self.settings[CapabilitySettings], cwd=cwd, home=user)
        bounds = resolved(chosen.capabilities, cwd=cwd, home=user).meet(settings)
        if not bounds.reads(str(cwd)):
            raise ConfigError(
                f"A session has to read the folder it works in, and its bounds leave {cwd} out."
            )
        return bounds

    def _options(self, endpoint: Endpoint) -> Options:
        model = self.settings[ModelSettings]
        return Options(
            temperature=model.temperature if model.temperature is not None or not endpoint.local else 0.0,
            max_output=model.max_output or None,
            effort=model.effort,
            cache=_kept(self.settings[CachingSettings].cache_ttl),
        )

    def _tools(self, chosen: SessionOptions, endpoint: Endpoint) -> Snapshot:
        self.tool_folder.refresh()
        return tool_offer.offered(self.settings, self.schemas, chosen, self.environ, endpoint)

    async def _place(self, session_id: str, cwd: Path, chosen: SessionOptions) -> Place:
        """Where the session works, in words for its prompt; a machine elsewhere is asked what it is."""
        day = dt.datetime.fromtimestamp(self.ports.now(), tz=dt.UTC).astimezone()
        if self.environments.is_remote:
            reached = await self.environments.reach(session_id, cwd, yolo=chosen.yolo)
            place: Place = import_object("hermes.agent.remote_environment").described(reached)
        else:
            kind = f"{platform.system()} {platform.release()} {platform.machine()}"
            home = self.environ.get("HOME") or str(Path.home())
            place = Place(cwd=str(cwd), platform=kind, branch=branch_of(cwd), home=home)
        return replace(place, date=f"{day:%A, %d %B %Y}")

    async def prompt_spans(self, chosen: SessionOptions) -> tuple[list[tuple[str, PromptSpan]], Snapshot]:
        """The stretches of the prompt that a new session would get, each with the name of its section, and
        its tools.
        """
        endpoint = self.routes.unkeyed(chosen.model, chosen.base_url)
        tools, bounds = self._tools(chosen, endpoint), self._bounds(chosen, self._cwd(chosen))
        context = await self._prompt_context(chosen, endpoint, within(tools, bounds), bounds, "")
        if context.small:
            return [("small", PromptSpan("built in", await self._system(context)))], tools
        return await self.prompt.spans(context), tools

    async def _system(self, context: PromptContext) -> str:
        if context.small:
            return str(import_object("hermes.models.local.local_prompt").prompt())
        return self.services.redactor.redact(await self.prompt.text(context))

    async def _prompt_context(
        self,
        chosen: SessionOptions,
        endpoint: Endpoint,
        tools: Snapshot,
        bounds: Capabilities,
        session_id: str,
    ) -> PromptContext:
        return PromptContext(
            place=await self._place(session_id, self._cwd(chosen), chosen),
            app="oneshot" if chosen.source == "cli" and not chosen.attended else chosen.source,
            model=endpoint.model,
            family=endpoint.profile.family,
            window=endpoint.context_window,
            tools=frozenset(tools.tools),
            bounds=bounds,
            small=tool_offer.is_small(endpoint),
        )

    def _cwd(self, chosen: SessionOptions) -> Path:
        terminal = self.settings[TerminalSettings]
        local = terminal.backend == "local"
        cwd = Path(chosen.cwd or Path(terminal.cwd if local else ".").expanduser()).resolve()
        if local and not cwd.is_dir():
            raise ConfigError(f"{cwd} is no folder: a session works in a folder that is there.")
        return cwd

    def close(self) -> None:
        """Let go of everything that is not awaited."""
        self.routing.close()
        self.services.dispatcher.guests.close()
        self.tool_folder.close()


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
    loaded = load(home.config_file, values, flags)
    tool_folder = open_tools(home)
    async with (
        open_store(home.sessions_db, home.search_db) as store,
        http or client_for(loaded.settings, values) as client,
        background() as start,
    ):
        registry = tool_folder.registry
        connections = Connections(store=store, http=client, spawn=start)
        services, routing, environments = services_for(
            home, loaded.settings, values, connections, ports, registry
        )
        runtime = Runtime(
            home=home,
            loaded=loaded,
            services=services,
            routing=routing,
            environments=environments,
            tool_folder=tool_folder,
            schemas=Schemas(registry, config_file=home.config_file),
            prompt=standard_prompt(loaded.settings, home),
        )
        if days := loaded.settings[ToolOutputSettings].keep_days:
            folders, before = (home.scratch, home.results), ports.now() - days * DAY
            start(partial(prune, store, folders, before=before))
        start(partial(empty_temp, store, home.scratch, before=ports.now() - DAY))
        try:
            yield runtime
        finally:
            runtime.close()


def _kept(ttl: Literal["5m", "1h", "off"]) -> Literal["", "5m", "1h"]:
    return "" if ttl == "off" else ttl
