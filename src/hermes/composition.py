"""Layer 10. Composition: the services of a runtime, made from settings, environment and ports."""

import os
import random  # noqa: TID251  # the ports are made here
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.allowlist import Allowlist, stamp_of
from hermes.agent.code_execution.kernel_tool import ToldOfKernel
from hermes.agent.code_execution.settings import CodeExecutionSettings
from hermes.agent.context_engines import ContextEngines
from hermes.agent.delegation.limited_tool import LimitedDelegation
from hermes.agent.guardrails import GuardrailSettings
from hermes.agent.ledger import Ledger
from hermes.agent.memory import MemorySettings
from hermes.agent.memory_provider import ProviderHome, shipped
from hermes.agent.prompt.folder_trust import FolderTrust
from hermes.agent.prompt.settings import ContextFileSettings
from hermes.agent.prompt.standard import folder_rules
from hermes.agent.recall import Recall
from hermes.agent.routes import Routes
from hermes.agent.services import Redactor, RuntimeServices, ToolServers
from hermes.agent.session import Session
from hermes.agent.settings import BudgetSettings, DelegationSettings, TrajectorySettings
from hermes.agent.trajectories import NoTrajectories, SavedTrajectories, Trajectories
from hermes.config.environ import workspace_values
from hermes.config.home import Home
from hermes.config.load import Loaded
from hermes.config.sections import Settings
from hermes.environments.settings import TerminalSettings
from hermes.hooks import Hooks
from hermes.lib.aio import Async
from hermes.lib.guest_loops import GuestLoops
from hermes.lib.lazy import import_object
from hermes.lib.secretnames import is_secret_name
from hermes.lib.secretvalues import SecretValues
from hermes.models.catalog.context_limits import ContextLimits
from hermes.models.client import Timeouts
from hermes.models.reliability.executor import RequestExecutor
from hermes.models.reliability.route import Breakers, Route
from hermes.models.settings import ModelSettings
from hermes.models.side_calls import SideTask, Task, side_task
from hermes.models.warming import EndpointWarmer
from hermes.plugins.aliases import Guest, PublishedNames
from hermes.plugins.settings import PluginSettings
from hermes.skills.library import SkillLibrary
from hermes.skills.settings import SkillSettings
from hermes.store.auth import AuthFile
from hermes.store.protocol import SessionStore
from hermes.tools.discovery import ToolFolder, discover_builtin_tools
from hermes.tools.dispatch import Dispatcher
from hermes.tools.registry import PROCESS, ToolRegistry, ToolSource
from hermes.tools.results import Results
from hermes.types.event import Notice
from hermes.types.ports import Ports
from hermes.types.question import Answer, Approve, Question
from hermes.types.request import Endpoint, Request

if TYPE_CHECKING:
    from hermes.agent.remote_environment import Reached
    from hermes.agent.tool_environment import ToolEnvironment, ToolEnvironmentOptions

SYSTEM_PORTS = Ports(
    now=time.time,  # noqa: TID251  # the ports are made here
    monotonic=time.perf_counter,  # noqa: TID251  # the ports are made here
    sleep=anyio.sleep,
    token=partial(secrets.token_hex, 6),
    uniform=random.uniform,
    pid=os.getpid,  # noqa: TID251  # the ports are made here
)


class Connections(Struct, frozen=True, kw_only=True):
    """What a runtime holds open: the store, the HTTP client, and a place for background jobs; and the secrets
    that are known, which grow.
    """

    store: SessionStore
    http: httpx2.AsyncClient
    spawn: Callable[[Async[Any]], object]
    known: SecretValues


class HomeRoutes:
    """The ways of one home's requests, with its local models made ready when they are first used."""

    def __init__(self, routes: Routes) -> None:
        self.routes = routes
        self._local: Any = None
        self._warmed: set[str] = set()
        self._warmer = EndpointWarmer(routes.http, routes.ports.monotonic)

    def route_for(self, session: Session, endpoint: Endpoint) -> Route:
        """A session's route: this endpoint, then the fallbacks of the settings."""
        return self.routes.route_for(endpoint, partial(self._prepared, session), session.id)

    def chain_for(self, session: Session, endpoints: Sequence[Endpoint]) -> Route:
        """A route over just these endpoints."""
        return self.routes.chain_for(endpoints, partial(self._prepared, session), session.id)

    def side_task(self, task: Task, endpoint: Endpoint) -> SideTask:
        """The models and limits of a side task of a session on this endpoint."""
        routes = self.routes
        return side_task(task, endpoint, routes.settings, routes.environ, stored=routes.auth.providers())

    def warm(self, session: Session) -> None:
        """Have what answers a session ready soon: its server connected to, with nothing sent, or its model of
        this machine loaded, if it has been fetched.
        """
        endpoint = session.endpoint
        if self._warmer.due(endpoint):
            self.spawn(partial(self._warmer.warm, endpoint))
        elif endpoint.local and endpoint.model not in self._warmed:
            self._warmed.add(endpoint.model)
            self.spawn(partial(self._local_models.warm, endpoint, self._opening_of(session, endpoint)))

    def spawn(self, job: Async[Any]) -> None:
        """Run a job beside the sessions; it ends with the runtime."""
        self.routes.spawn(job)

    def close(self) -> None:
        """Write what the pools have counted, and stop local models."""
        self.routes.close()
        if self._local is not None:
            self._local.close()

    async def prepare(self, session: Session) -> None:
        """Have a session's model of this machine fetched, loaded and told its instructions; the session's
        events tell what takes time.
        """
        await self._prepared(session, session.endpoint)

    async def _prepared(self, session: Session, endpoint: Endpoint) -> Endpoint:
        """The endpoint once it can answer: a model of this machine is fetched and loaded first."""

        def tell(text: str) -> None:
            session.emit(Notice(level="info", text=text))

        opening = self._opening_of(session, endpoint)
        ready: Endpoint = await self._local_models.ready(endpoint, opening, tell)
        return ready

    def _opening_of(self, session: Session, endpoint: Endpoint) -> list[dict[str, Any]]:
        """The messages that every session of this kind begins with."""
        system, tools = session.system, session.tools.definitions
        first = Request(endpoint=endpoint, system=system, messages=(), tools=tools)
        opening: list[dict[str, Any]] = import_object("hermes.models.local.constrained:render")(first)
        return opening

    @property
    def _local_models(self) -> Any:
        if self._local is None:
            self._local = import_object("hermes.models.local.serving:LocalModels")(
                model_cache(self.routes.environ), self.routes.http
            )
        return self._local


class HomeEnvironments:
    """Where the sessions of one home work; what it takes is imported when the first tool needs it."""

    def __init__(
        self,
        settings: Settings,
        home: Home,
        environ: Mapping[str, str],
        known: SecretValues,
        ports: Ports,
        spawn: Callable[[Async[Any]], object],
    ) -> None:
        self._settings, self._home, self._environ = settings, home, environ
        self._known, self._ports, self._spawn = known, ports, spawn
        self._stamp = stamp_of(home.config_file)
        self._reached: dict[str, Reached] = {}

    @property
    def is_remote(self) -> bool:
        """Whether commands run on another machine than this one."""
        return self._settings[TerminalSettings].backend != "local"

    @property
    def opens_first(self) -> bool:
        """Whether a session's environment is opened with it: a machine elsewhere was reached for it, and
        where a sandbox is demanded nothing begins without one.
        """
        return self.is_remote or self._settings[TerminalSettings].sandbox == "on"

    async def reach(self, session_id: str, cwd: Path, *, yolo: bool) -> "Reached":
        """The machine elsewhere that a session's commands will run on, asked what it is."""
        options = self._options(session_id, cwd, yolo=yolo, holder="")
        reached: Reached = await import_object("hermes.agent.remote_environment").reach(options)
        self._reached[session_id] = reached
        return reached

    def open(self, session: Session) -> "ToolEnvironment":
        """The environment of a session, with the gate in front of it."""
        spec = session.spec

        async def ask(question: Question) -> Answer:
            if isinstance(question, Approve):
                question = replace(question, diff=session.services.redactor.redact(question.diff))
            return await session.home.run(partial(session.questions.ask, question))

        options = replace(
            self._options(spec.id, spec.cwd, yolo=spec.yolo, holder=f"{spec.id} {spec.actor.origin}"),
            spawn=partial(session.home.call, self._spawn),
            bounds=spec.capabilities,
        )
        if self.is_remote:
            reached = self._reached.pop(spec.id, None)
            opened: ToolEnvironment = import_object("hermes.agent.remote_environment").open_remote(
                options, ask, reached
            )
        else:
            opened = import_object("hermes.agent.tool_environment").open_local(options, ask)
        opened.attach(session)
        return opened

    def _options(self, session_id: str, cwd: Path, *, yolo: bool, holder: str) -> "ToolEnvironmentOptions":
        self._known.learn(*secrets_of(workspace_values(cwd)))
        edit, key = import_object("hermes.config.edit"), "command_allowlist"
        options: ToolEnvironmentOptions = import_object("hermes.agent.tool_environment").options_from(
            self._settings,
            self._environ,
            cwd=cwd,
            hermes_home=self._home.root,
            scratch=self._home.scratch_of(session_id),
            save=partial(edit.append_to_list, self._home.config_file, key),
            spent=partial(edit.replace_in_list, self._home.config_file, key),
            allowed=Allowlist(self._home.config_file, partial(edit.list_items, key=key), self._stamp).changed,
            ports=self._ports,
            known=self._known,
            yolo=yolo,
            holder=holder,
        )
        return options


def _trust(home: Home, settings: Settings, environ: Mapping[str, str]) -> FolderTrust:
    """In which folders the notes of a project count."""
    rule, user_home = settings[ContextFileSettings].trust, Path(environ.get("HOME") or Path.home())
    return FolderTrust(file=home.trust_file, rule=rule, user_home=user_home)


def skills_of(home: Home, settings: SkillSettings) -> SkillLibrary:
    """The skills of a home and of the further folders of its settings."""
    further = [Path(one).expanduser() for one in settings.external_dirs]
    return SkillLibrary([home.skills, *further], home.skill_cache, settings.disabled)


def services_for(
    home: Home,
    loaded: Loaded,
    environ: Mapping[str, str],
    connections: Connections,
    ports: Ports,
    registry: ToolRegistry,
    servers: ToolServers,
) -> tuple[RuntimeServices, HomeRoutes, HomeEnvironments]:
    """Make the services of a home; its routes and environments also as what they are."""
    settings, known = loaded.settings, connections.known
    store, http = connections.store, connections.http
    redactor, ledger = Redactor(known), Ledger(settings[BudgetSettings], store, ports)
    results = Results(folder=home.results, name=ports.token, redact=redactor.redact)
    dispatcher = _dispatcher(settings, ports, registry, results)
    routing = HomeRoutes(_routes(home, loaded, environ, connections, ports, known))
    environments = HomeEnvironments(settings, home, environ, known, ports, connections.spawn)
    services = RuntimeServices(
        store=store,
        routes=routing,
        executor=_executor(http, settings[ModelSettings], ports, ledger, redactor),
        environments=environments,
        engines=ContextEngines(settings),
        ledger=ledger,
        dispatcher=dispatcher,
        ports=ports,
        redactor=redactor,
        memory=settings[MemorySettings].notes(home.memories),
        recall=Recall(
            shipped(),
            ProviderHome(folder=home.memories, settings=settings, environ=environ, ports=ports),
            registry,
            connections.spawn,
            redactor.redact,
        ),
        skills=skills_of(home, settings[SkillSettings]),
        skill_settings=settings[SkillSettings],
        servers=servers,
        trust=_trust(home, settings, environ),
        environ=environ,
        notes=folder_rules(settings),
        guardrails=settings[GuardrailSettings],
        trajectories=_trajectories(home, settings),
        delegation=settings[DelegationSettings],
        code=settings[CodeExecutionSettings],
    )
    return services, routing, environments


def _dispatcher(settings: Settings, ports: Ports, registry: ToolRegistry, results: Results) -> Dispatcher:
    """What runs the calls of tools, also for those that call one by its name in the registry."""
    dispatcher = Dispatcher(
        registry=registry,
        hooks=Hooks(seconds=settings[PluginSettings].hook_timeout),
        results=results,
        clock=ports.monotonic,
        guests=GuestLoops(ports.sleep),
    )
    registry.connect(dispatcher.dispatch)
    return dispatcher


def _trajectories(home: Home, settings: Settings) -> Trajectories:
    return SavedTrajectories(home.trajectories) if settings[TrajectorySettings].save else NoTrajectories()


def _executor(
    http: httpx2.AsyncClient, model: ModelSettings, ports: Ports, ledger: Ledger, redactor: Redactor
) -> RequestExecutor:
    return RequestExecutor(
        http=http,
        timeouts=Timeouts(
            first_byte=model.first_byte_timeout,
            idle=model.idle_timeout,
            total=model.total_timeout,
        ),
        retries=model.max_retries,
        first_retry=model.first_retry,
        repetition=model.repetition_limit,
        now=ports.now,
        monotonic=ports.monotonic,
        uniform=ports.uniform,
        sleep=ports.sleep,
        estimator=ledger.estimator,
        redact=redactor.redact,
    )


def _routes(
    home: Home,
    loaded: Loaded,
    environ: Mapping[str, str],
    connections: Connections,
    ports: Ports,
    known: SecretValues,
) -> Routes:
    return Routes(
        settings=loaded.settings,
        named_at=loaded.values["model.default"].origin,
        environ=dict(environ),
        http=connections.http,
        auth=AuthFile(home.auth_file),
        ports=ports,
        windows=ContextLimits(home.windows_file, connections.http),
        breakers=Breakers(ports.monotonic),
        spawn=connections.spawn,
        known=known,
    )


def open_tools(
    home: Home,
    environ: Mapping[str, str],
    delegation: Callable[[], DelegationSettings],
    code: CodeExecutionSettings,
    *others: ToolSource,
) -> ToolFolder:
    """A home's tools: a registry of its own with the built-in tools and others below it, and the user's files
    in it.
    """
    discover_builtin_tools()
    below = ToldOfKernel(LimitedDelegation(PROCESS, delegation), code)
    names = PublishedNames(Guest(home=home, environ=environ))
    folder = ToolFolder(home.tools, ToolRegistry(below, *others), prepare=names.lend)
    folder.refresh()
    return folder


def model_cache(environ: Mapping[str, str]) -> Path:
    """The folder of fetched models: HERMES_CACHE, or the user's cache folder."""
    import platformdirs  # noqa: PLC0415  # only a local model is looked for there

    return Path(environ.get("HERMES_CACHE") or platformdirs.user_cache_path("hermes")) / "models"


def secrets_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of the variables whose names say that they are credentials."""
    return tuple(value for name, value in environ.items() if value and is_secret_name(name))
