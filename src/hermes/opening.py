"""Layer 10. The opening of sessions: what a new one is made of, and how a stored one goes on."""

import datetime as dt
import platform
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, Literal
from weakref import WeakSet

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from hermes.agent import tool_offer
from hermes.agent.capabilities import CapabilitySettings, configured, resolved, within
from hermes.agent.hook_points import opened
from hermes.agent.log import replay
from hermes.agent.parents import bounds_of, depth_below, mode_of, read_by, running, written_elsewhere
from hermes.agent.prompt.builder import Place, PromptContext, PromptSpan, SystemPrompt
from hermes.agent.prompt.folder_trust import NotesInQuestion
from hermes.agent.prompt.settings import ContextFileSettings
from hermes.agent.recovery import answers
from hermes.agent.services import RuntimeServices
from hermes.agent.session import Session
from hermes.agent.settings import AgentSettings, DelegationSettings, GoalSettings
from hermes.agent.spec import SessionOptions, SessionSpec, check, new_session_id
from hermes.composition import HomeEnvironments, HomeRoutes
from hermes.config.sections import Settings
from hermes.environments.settings import TerminalSettings
from hermes.lib.aio import collect
from hermes.lib.lazy import import_object
from hermes.lib.repository import branch_of
from hermes.lib.text import mend_surrogates
from hermes.mcp.servers import McpServers
from hermes.models.settings import CachingSettings, ModelSettings
from hermes.safety.settings import ApprovalSettings
from hermes.store.protocol import Owner, SessionRow, SessionStore, StoredSession
from hermes.tools.discovery import ToolFolder
from hermes.tools.schemas import Schemas
from hermes.types.actor import Actor
from hermes.types.capabilities import Capabilities
from hermes.types.error import ConfigError, StoreError
from hermes.types.event import Notice
from hermes.types.ports import Ports
from hermes.types.request import Endpoint, Options
from hermes.types.tool import ToolSnapshot

AT_ONCE: Final = 32
"""Sessions that are closed side by side."""
MODEL_LOST: Final = "This session was left with {left}, which cannot be had: {why} {now} answers now."


class SessionOpener(Struct, kw_only=True):
    """Opens the sessions of one runtime; `living` are those that are in use."""

    settings: Settings
    services: RuntimeServices
    delegation: Callable[[], DelegationSettings]
    routing: HomeRoutes
    environments: HomeEnvironments
    tool_folder: ToolFolder
    servers: McpServers
    schemas: Schemas
    prompt: SystemPrompt
    living: WeakSet[Session] = field(default_factory=WeakSet)

    @property
    def store(self) -> SessionStore:
        """Where sessions are kept."""
        return self.services.store

    def find(self, session_id: str) -> Session | None:
        """The session of that id, where it is in use here."""
        return running(session_id, self.living)

    @property
    def ports(self) -> Ports:
        """The clock, randomness and ids."""
        return self.services.ports

    @property
    def environ(self) -> Mapping[str, str]:
        """The user's variables."""
        return self.services.environ

    async def new(self, chosen: SessionOptions) -> Session:
        """A new session; ConfigError and StoreError say what cannot be."""
        await self.store.verify()
        parent = running(chosen.parent, self.living)
        endpoint = self._endpoint(chosen, parent)
        now, cwd = self.ports.now(), self._cwd(chosen)
        session_id = new_session_id(self.ports)
        await self.servers.ready()
        tools = self._tools(chosen, endpoint, parent)
        bounds = self._bounds(chosen, cwd)
        if chosen.parent:
            bounds = bounds.meet(await bounds_of(chosen.parent, self.living, self.store))
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
        if parent is not None and spec.deps is None:
            spec = replace(spec, deps=parent.spec.deps)
        spec = await self._below_parent(spec)
        row = SessionRow(
            id=spec.id,
            cwd=str(cwd),
            branch=branch_of(cwd),
            model=endpoint.full_name,
            base_url=endpoint.own_address,
            source=chosen.source,
            parent=spec.parent,
            created=now,
            updated=now,
        )
        await self.store.create(
            row, system=spec.system, tools=tool_offer.kept(spec.tools), capabilities=spec.capabilities
        )
        async with self._claimed(row, chosen):
            session = Session(spec, self._services())
            self.living.add(session)
            self._open_environment(session)
            await opened(session, resumed=False)
        for words in self.servers.take_notes():
            session.emit(Notice(level="warning", text=words))
        return session

    async def resumed(self, chosen: SessionOptions) -> Session:
        """The session that `resume` names; ConfigError and StoreError say what cannot be."""
        await self.store.verify()
        found = await self.store.resolve(chosen.resume, cwd=str(self._cwd(chosen)))
        endpoint, lost = self._endpoint_left(chosen, found)
        async with self._claimed(found, chosen):
            session = await self._continued(await self.store.load(found.id), chosen, endpoint, lost)
            if not lost and (endpoint.full_name, endpoint.own_address) != (found.model, found.base_url):
                await self.store.update(found.id, model=endpoint.full_name, base_url=endpoint.own_address)
            self._open_environment(session)
            await opened(session, resumed=True)
        return session

    async def _below_parent(self, spec: SessionSpec) -> SessionSpec:
        """With what a child takes over from the session above it."""
        outside = (*spec.outside, *await read_by(spec.parent, self.living, self.store))
        return replace(spec, outside=outside, depth=await depth_below(spec.parent, self.living, self.store))

    def _endpoint(self, chosen: SessionOptions, parent: Session | None = None) -> Endpoint:
        check(chosen)
        _ = self.services.context  # one that is not there is a fault of the settings, told before any turn
        self.routing.routes.learn_secrets()
        if chosen.endpoint is not None:
            return chosen.endpoint
        if parent is not None and not (chosen.model or chosen.base_url or chosen.api_key):
            return parent.endpoint
        if chosen.api_key:
            found = self.routing.routes.unkeyed(chosen.model, chosen.base_url)
            return replace(found, credential=chosen.api_key)
        return self.routing.routes.endpoint(chosen.model, chosen.base_url)

    def _endpoint_left(self, chosen: SessionOptions, row: SessionRow) -> tuple[Endpoint, str]:
        """The endpoint that a session was left with, unless another was chosen, and what is told of it where
        it cannot be had.
        """
        if chosen.model or chosen.base_url or not row.model:
            return self._endpoint(chosen), ""
        try:
            return self._endpoint(replace(chosen, model=row.model, base_url=row.base_url)), ""
        except ConfigError as error:
            other = self._endpoint(chosen)
            return other, MODEL_LOST.format(left=row.model, why=error, now=other.full_name)

    def _open_environment(self, session: Session) -> None:
        """Open it now where that cannot wait for the first tool; it is closed with the session."""
        if self.environments.opens_first and session.spec.tools.definitions:
            _ = session.environment

    @asynccontextmanager
    async def _claimed(self, row: SessionRow, chosen: SessionOptions) -> AsyncIterator[None]:
        """Have a session from now on, unless it cannot be opened."""
        await self.store.claim(row.id, self._owner(row, chosen))
        try:
            yield
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.store.release(row.id)
            raise

    async def _continued(
        self, stored: StoredSession, chosen: SessionOptions, endpoint: Endpoint, lost: str
    ) -> Session:
        """The session as it was left; what a crash left open is answered once, in store and log."""
        row, log = stored.row, replay(stored.log)
        self.services.recall.open()
        spec = self._spec(
            row.id,
            chosen,
            endpoint,
            cwd=Path(row.cwd),
            system=stored.system,
            tools=tool_offer.stored(stored.tools, self.tool_folder.registry, chosen.functions),
            bounds=self._bounds(chosen, Path(row.cwd)).meet(stored.capabilities),
        )
        spec = replace(spec, parent=row.parent, outside=written_elsewhere(row), model_lost=lost)
        spec = replace(spec, tools_kept=chosen.toolsets is not None and not row.parent)
        spec = await self._below_parent(spec)
        session = Session(spec, self._services(), log=log, title=row.title, used=stored.used)
        self.living.add(session)
        if stored.goal:
            session.goal = import_object("hermes.agent.goals:left")(stored.goal)
        session.mode = await mode_of(stored, self.living, self.store)
        questions, now = await self.store.questions(row.id), self.ports.now()
        recall = import_object("hermes.agent.delegation.recall:recall")
        if log.open or stored.begun:
            found = [*answers(log.open, stored.begun, self.ports, questions)]
            await session.settle_cut(found, recall)
        for one in questions:
            if one.answer is None and not one.is_open(now):
                await self.store.end_question(one.id, "expired")
        await recall(session)
        session.questions.restore([one for one in questions if one.answer or one.is_open(now)])
        return session

    def _owner(self, row: SessionRow, chosen: SessionOptions) -> Owner:
        pid, host = self.ports.pid(), platform.node()
        return Owner(pid=pid, host=host, app=chosen.source, since=self.ports.now(), cwd=row.cwd)

    def _services(self) -> RuntimeServices:
        """What a session gets from outside, with the settings of delegation that are in force now."""
        current = self.delegation()
        return (
            self.services
            if current == self.services.delegation
            else replace(self.services, delegation=current)
        )

    def _spec(
        self,
        session_id: str,
        chosen: SessionOptions,
        endpoint: Endpoint,
        *,
        cwd: Path,
        system: str,
        tools: ToolSnapshot,
        bounds: Capabilities,
    ) -> SessionSpec:
        return SessionSpec(
            id=session_id,
            system=system,
            tools=within(tools, bounds),
            endpoint=endpoint,
            options=self._options(endpoint, chosen),
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
            clarify_timeout=self.settings[AgentSettings].clarify_timeout,
            clarify_policy=self.settings[AgentSettings].clarify_policy,
            long_seconds=self.settings[AgentSettings].long_seconds,
            goal_turns=self.settings[GoalSettings].max_turns,
            max_cost=chosen.max_cost,
            deps=chosen.deps,
            notes=self._notes_count(chosen, cwd),
        )

    def _notes_count(self, chosen: SessionOptions, cwd: Path) -> bool:
        return chosen.notes and (self.environments.is_remote or self.services.trust.counts(cwd))

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

    def _options(self, endpoint: Endpoint, chosen: SessionOptions) -> Options:
        model = self.settings[ModelSettings]
        return Options(
            temperature=model.temperature if model.temperature is not None or not endpoint.local else 0.0,
            max_output=model.max_output or None,
            effort=chosen.effort or model.effort,
            cache=_kept(self.settings[CachingSettings].cache_ttl),
        )

    def _tools(
        self, chosen: SessionOptions, endpoint: Endpoint, parent: Session | None = None
    ) -> ToolSnapshot:
        self.tool_folder.refresh()
        self.services.recall.open()
        if parent is not None and chosen.toolsets is None:
            return tool_offer.inherited(parent.tools, chosen.capabilities)
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

    def tell(self, words: str) -> None:
        """Have every living session's people know something."""
        for session in list(self.living):
            session.emit(Notice(level="info", text=words))

    async def close_sessions(self) -> None:
        """Close what nobody closed: its turns end in words, and other processes may have it."""
        left = [partial(_close, one) for one in list(self.living) if not one.closed]
        await collect(left, limit=AT_ONCE)

    async def prompt_spans(self, chosen: SessionOptions) -> tuple[list[tuple[str, PromptSpan]], ToolSnapshot]:
        """The stretches of the prompt that a new session would get, each with the name of its section, and
        its tools.
        """
        endpoint = chosen.endpoint or self.routing.routes.unkeyed(chosen.model, chosen.base_url)
        tools, bounds = self._tools(chosen, endpoint), self._bounds(chosen, self._cwd(chosen))
        context = await self._prompt_context(chosen, endpoint, within(tools, bounds), bounds, "")
        if context.small:
            return [("small", PromptSpan("built in", await self._system(context)))], tools
        return await self.prompt.spans(context), tools

    def notes_in_question(self, chosen: SessionOptions) -> NotesInQuestion | None:
        """The notes to ask about before a new session is opened with these options, if there are some that
        it would be told of.
        """
        off = chosen.system or not chosen.notes or self.settings[ContextFileSettings].mode == "off"
        endpoint = chosen.endpoint or self.routing.routes.unkeyed(chosen.model, chosen.base_url)
        if off or self.environments.is_remote or tool_offer.is_small(endpoint, self.settings):
            return None
        return self.services.trust.in_question(self._cwd(chosen))

    async def _system(self, context: PromptContext) -> str:
        if context.small:
            return str(import_object("hermes.models.local.local_prompt").prompt())
        return self.services.redactor.redact(await self.prompt.text(context))

    async def _prompt_context(
        self,
        chosen: SessionOptions,
        endpoint: Endpoint,
        tools: ToolSnapshot,
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
            small=tool_offer.is_small(endpoint, self.settings),
            notes=self._notes_count(chosen, self._cwd(chosen)),
        )

    def _cwd(self, chosen: SessionOptions) -> Path:
        terminal = self.settings[TerminalSettings]
        local = terminal.backend == "local"
        cwd = Path(chosen.cwd or Path(terminal.cwd if local else ".").expanduser()).resolve()
        if local and not cwd.is_dir():
            raise ConfigError(f"{cwd} is no folder: a session works in a folder that is there.")
        if (shown := mend_surrogates(str(cwd))) != str(cwd):  # nothing that is sent or stored can name it
            raise ConfigError(f"No session can work in {shown}, whose name is not UTF-8: rename it.")
        self.services.recall.refuse_within(cwd)
        return cwd


def _kept(ttl: Literal["5m", "1h", "off"]) -> Literal["", "5m", "1h"]:
    return "" if ttl == "off" else ttl


async def _close(session: Session) -> None:
    with suppress(StoreError):  # the next owner finds out what was not written, and answers it
        await session.close()
