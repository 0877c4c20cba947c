"""Layer 10. Composition: open everything, give out sessions, close everything."""

import datetime as dt
import platform
import random
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import httpx2
import platformdirs

from hermes.agent.ledger import Ledger
from hermes.agent.log import Log, replay
from hermes.agent.prompt import builder
from hermes.agent.recovery import answers
from hermes.agent.routes import Routes
from hermes.agent.session import Parts, Session
from hermes.config.environ import environment, with_dotenv, workspace_values
from hermes.config.home import Home, locate
from hermes.config.load import Loaded, load
from hermes.config.settings import Settings
from hermes.lib.aio import background
from hermes.lib.lazy import load as late
from hermes.lib.secretnames import is_secret_name
from hermes.lib.secretvalues import SecretValues
from hermes.models.attempt import Ladder
from hermes.models.auxiliary import Errand, Task
from hermes.models.breaker import Breakers
from hermes.models.client import Limits
from hermes.models.network import client_for
from hermes.models.route import Route
from hermes.models.windows import Windows
from hermes.plugins.aliases import old_names
from hermes.store.auth import AuthFile
from hermes.store.sessions import SessionRow, Sessions, Stored
from hermes.tools.discovery import Fault, discover_builtin_tools, discover_folder, tool_files
from hermes.tools.dispatch import Dispatcher
from hermes.tools.function import FunctionTool, with_functions
from hermes.tools.registry import ToolRegistry, registry
from hermes.tools.results import Results
from hermes.tools.schemas import Schemas
from hermes.types.event import Notice
from hermes.types.message import ToolResult
from hermes.types.ports import Ports
from hermes.types.request import Endpoint, Options, Request
from hermes.types.tool import Snapshot

if TYPE_CHECKING:
    from hermes.agent.elsewhere import Reached
    from hermes.agent.workplace import Ask, Workplace, WorkplaceOptions

SYSTEM_PORTS = Ports(now=time.time, monotonic=time.perf_counter, token=partial(secrets.token_hex, 6), uniform=random.uniform)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """What a session is opened with; empty fields take what is configured.

    `resume` names a session (id, start of an id, title, `latest`). `functions` are tools made with `@hermes.tool`.
    `attended` says that somebody will answer questions; without anybody the answer to every question is no.
    """

    resume: str = ""
    model: str = ""
    base_url: str = ""
    toolsets: tuple[str, ...] | None = None
    functions: tuple[FunctionTool, ...] = ()
    system: str = ""
    cwd: Path | None = None
    source: str = "cli"
    yolo: bool = False
    attended: bool = True
    max_steps: int = 0


@dataclass(slots=True, kw_only=True)
class Runtime:
    """Everything that sessions share. Made by `open_runtime`, which also closes it."""

    home: Home
    loaded: Loaded
    environ: Mapping[str, str]
    http: httpx2.AsyncClient
    store: Sessions
    routes: Routes
    ledger: Ledger
    secrets: SecretValues = field(default_factory=SecretValues)
    ports: Ports = SYSTEM_PORTS
    registry: ToolRegistry = field(default_factory=lambda: registry)
    faults: tuple[Fault, ...] = ()
    schemas: Schemas = field(default_factory=Schemas)
    dispatcher: Dispatcher = field(default_factory=Dispatcher)
    _local: Any = None

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.loaded.settings

    def endpoint(self, model: str = "", base_url: str = "") -> Endpoint:
        """The endpoint that a choice, or the settings, lead to; ConfigError when it cannot be had."""
        return self.routes.endpoint(model, base_url)

    async def session(self, options: SessionOptions | None = None) -> Session:
        """A new session, or one that is resumed; ConfigError and StoreError say what cannot be."""
        chosen = options or SessionOptions()
        endpoint = self.endpoint(chosen.model, chosen.base_url)
        if chosen.resume:
            return self._resumed(chosen, endpoint)
        cwd = self._cwd(chosen)
        tools = self._tools(chosen, endpoint)
        now = self.ports.now()
        row = SessionRow(
            id=f"{dt.datetime.fromtimestamp(now, tz=dt.UTC):%Y%m%d_%H%M%S}_{self.ports.token()[:6]}",
            title="",
            cwd=str(cwd),
            branch=git_branch(cwd),
            model=f"{endpoint.provider}/{endpoint.model}",
            source=chosen.source,
            parent="",
            created=now,
            updated=now,
            messages=0,
            first_text="",
        )
        reached = await self._reach(row, chosen)
        system = chosen.system or self._system(endpoint, cwd, reached)
        self.store.create(row, system=system, tools=tools.definitions)
        session = Session(self._parts(row, chosen, endpoint, system=system, tools=tools, reached=reached))
        if reached is not None:
            _ = session.workplace  # it is the session's from now on, to be closed with it
        return session

    async def _reach(self, row: SessionRow, chosen: SessionOptions) -> "Reached | None":
        """The machine elsewhere that commands run on, asked what it is, so that the prompt can say it; None for this machine."""
        if self.settings.terminal.backend == "local":
            return None
        reached: Reached = await late("hermes.agent.elsewhere").reach(self._place(row, chosen))
        return reached

    def _resumed(self, chosen: SessionOptions, endpoint: Endpoint) -> Session:
        stored = self.store.load(self.store.resolve(chosen.resume, cwd=str(self._cwd(chosen))).id)
        tools = self._stored_tools(stored, chosen)
        log = replay(stored.log)
        session = Session(self._parts(stored.row, chosen, endpoint, system=stored.system, tools=tools), log=log, title=stored.row.title)
        self._answer_open_calls(session, log, stored.begun)
        return session

    def _answer_open_calls(self, session: Session, log: Log, begun: Mapping[str, ToolResult | None]) -> None:
        """What a crash left open is answered once, in the store as well as in the log."""
        for result in answers(log.open, begun, self.ports):
            session.append(result)
        if begun:
            self.store.settle(session.id)

    def _parts(
        self,
        row: SessionRow,
        chosen: SessionOptions,
        endpoint: Endpoint,
        *,
        system: str,
        tools: Snapshot,
        reached: "Reached | None" = None,
    ) -> Parts:
        model = self.settings.model
        self.routes.learn_secrets()
        redact = partial(_redacted, known=self.secrets)
        return Parts(
            id=row.id,
            system=system,
            tools=tools,
            endpoint=endpoint,
            options=self._options(endpoint),
            route=self._route,
            along=self._along,
            errand=self._errand,
            start=self.routes.start,
            ladder=Ladder(
                http=self.http,
                limits=Limits(first_byte=model.first_byte_timeout, idle=model.idle_timeout, total=model.total_timeout),
                retries=model.max_retries,
                now=self.ports.now,
                monotonic=self.ports.monotonic,
                uniform=self.ports.uniform,
                tariff=self.ledger.tariff,
                redact=redact,
            ),
            ledger=self.ledger,
            dispatcher=self.dispatcher,
            store=self.store,
            ports=self.ports,
            redact=redact,
            secrets=self.secrets,
            workplace=partial(self._workplace, row, chosen, reached),
            environ=self.environ,
            max_steps=chosen.max_steps or self.settings.agent.max_turns,
            attended=chosen.attended,
            patience=self.settings.approvals.timeout,
        )

    def _options(self, endpoint: Endpoint) -> Options:
        model = self.settings.model
        return Options(
            temperature=model.temperature if model.temperature is not None or not endpoint.local else 0.0,
            max_output=model.max_output or None,
            effort=model.effort,
            cache=_kept(self.settings.prompt_caching.cache_ttl),
        )

    def _workplace(self, row: SessionRow, chosen: SessionOptions, reached: "Reached | None", ask: "Ask") -> "Workplace":
        """Where a session's tools work; what it takes is imported when the first tool needs it."""
        options = self._place(row, chosen)
        if self.settings.terminal.backend == "local":
            here: Workplace = late("hermes.agent.workplace").open_workplace(options, ask)
            return here
        there: Workplace = late("hermes.agent.elsewhere").open_elsewhere(options, ask, reached)
        return there

    def _place(self, row: SessionRow, chosen: SessionOptions) -> "WorkplaceOptions":
        """What a session's workplace is made from."""
        self.secrets.learn(*secrets_of(workspace_values(Path(row.cwd))))
        options: WorkplaceOptions = late("hermes.agent.workplace").options_from(
            self.settings,
            self.environ,
            cwd=Path(row.cwd),
            hermes_home=self.home.root,
            scratch=self.home.scratch / row.id,
            save=partial(late("hermes.config.edit:append_to_list"), self.home.config_file, "command_allowlist"),
            spent=partial(late("hermes.config.edit:replace_in_list"), self.home.config_file, "command_allowlist"),
            known=self.secrets,
            yolo=chosen.yolo,
            holder=f"{row.id} {row.source}",
        )
        return options

    def _tools(self, chosen: SessionOptions, endpoint: Endpoint) -> Snapshot:
        enabled = chosen.toolsets if chosen.toolsets is not None else tuple(self.settings.toolsets)
        found = self.schemas.snapshot(enabled, tuple(self.settings.agent.disabled_toolsets))
        if is_small(endpoint):
            found = replace(found, definitions=late("hermes.models.small").definitions(found.definitions))
        return with_functions(found, chosen.functions, self.environ)

    def _stored_tools(self, stored: Stored, chosen: SessionOptions) -> Snapshot:
        """The tools that a session was frozen with, as far as they still exist."""
        definitions: tuple[Mapping[str, Any], ...] = tuple(one for one in stored.tools if isinstance(one, dict))
        entries = {**self.registry.entries(), **{one.entry.name: one.entry for one in chosen.functions}}
        names = [one["function"]["name"] for one in definitions]
        tools = {name: entries[name] for name in names if name in entries}
        return Snapshot(tools=tools, definitions=definitions, generation=self.registry.generation)

    def _system(self, endpoint: Endpoint, cwd: Path, reached: "Reached | None") -> str:
        if is_small(endpoint):
            return str(late("hermes.models.small").prompt())
        day = dt.datetime.fromtimestamp(self.ports.now(), tz=dt.UTC).astimezone()
        place = builder.Place(cwd=str(cwd), platform=f"{platform.system()} {platform.machine()}", branch=git_branch(cwd))
        if reached is not None:
            place = late("hermes.agent.elsewhere").described(reached)
        return builder.build(replace(place, date=f"{day:%A, %d %B %Y}"))

    def _route(self, endpoint: Endpoint, session: Session) -> Route:
        return self.routes.main(endpoint, partial(self._ready, session))

    def _along(self, endpoints: Sequence[Endpoint], session: Session) -> Route:
        return self.routes.along(endpoints, partial(self._ready, session))

    def _errand(self, task: Task, main: Endpoint) -> Errand:
        find: Callable[..., Errand] = late("hermes.models.chains:errand")
        return find(task, main, self.settings, self.environ, stored=self.routes.auth.providers())

    async def _ready(self, session: Session, endpoint: Endpoint) -> Endpoint:
        if self._local is None:
            self._local = late("hermes.models.local.serving:LocalModels")(self.model_cache, self.http)
        first = Request(endpoint=endpoint, system=session.system, messages=(), tools=session.tools.definitions)
        opening = late("hermes.models.constrained:render")(first)
        ready: Endpoint = await self._local.ready(endpoint, opening, lambda text: session.emit(Notice(level="info", text=text)))
        return ready

    @property
    def model_cache(self) -> Path:
        """Where fetched models are kept: the user's cache folder, shared by all homes and projects."""
        return model_cache(self.environ)

    def _cwd(self, chosen: SessionOptions) -> Path:
        terminal = self.settings.terminal
        return (chosen.cwd or Path(terminal.cwd if terminal.backend == "local" else ".").expanduser()).resolve()

    def close(self) -> None:
        """Let go of everything that is not awaited."""
        self.routes.close()
        if self._local is not None:
            self._local.close()
        self.dispatcher.guest.close()
        self.store.close()


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
    faults = discover(home)
    store, known = Sessions(home.sessions_db), SecretValues(*secrets_of(values))
    async with http or client_for(loaded.settings, values) as client, background() as start:
        routes = Routes(
            settings=loaded.settings,
            environ=values,
            http=client,
            auth=AuthFile(home.auth_file),
            ports=ports,
            windows=Windows(home.windows_file, client),
            breakers=Breakers(ports.monotonic),
            start=start,
            known=known,
        )
        runtime = Runtime(
            home=home,
            loaded=loaded,
            environ=values,
            http=client,
            store=store,
            routes=routes,
            ledger=Ledger(loaded.settings.budget, store.usage, ports),
            secrets=known,
            ports=ports,
            faults=faults,
            schemas=Schemas(environ=values),
            dispatcher=Dispatcher(results=Results(folder=home.results, name=ports.token, redact=partial(_redacted, known=known))),
        )
        try:
            yield runtime
        finally:
            runtime.close()


def discover(home: Home) -> tuple[Fault, ...]:
    """Load built-in tools and the user's own; the files that failed, with their reasons."""
    faults = discover_builtin_tools()
    if home.tools.is_dir() and tool_files(home.tools):
        with old_names():
            faults += discover_folder(home.tools)
    return faults


def model_cache(environ: Mapping[str, str]) -> Path:
    """The folder of fetched models: HERMES_CACHE, or the user's cache folder."""
    return Path(environ.get("HERMES_CACHE") or platformdirs.user_cache_path("hermes")) / "models"


def _kept(ttl: Literal["5m", "1h", "off"]) -> Literal["", "5m", "1h"]:
    return "" if ttl == "off" else ttl


def secrets_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of the variables whose names say that they are credentials."""
    return tuple(value for name, value in environ.items() if value and is_secret_name(name))


def _redacted(text: str, known: SecretValues) -> str:
    """`text` without credentials: known ones by their value, others by their form."""
    return str(late("hermes.safety.redact:redact")(known.hide(text)))


def is_small(endpoint: Endpoint) -> bool:
    """Whether a model gets the small prompt and few tools."""
    return endpoint.local or endpoint.context_window <= builder.SMALL_WINDOW


def git_branch(cwd: Path) -> str:
    """The branch that a folder's repository is on, or nothing; read from its HEAD file."""
    for folder in (cwd, *cwd.parents):
        head = folder / ".git" / "HEAD"
        if head.is_file():
            return head.read_text(encoding="utf-8", errors="replace").strip().removeprefix("ref: refs/heads/")[:60]
    return ""
