"""What all sessions of a runtime share, as protocols: a session needs nothing else from outside."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from msgspec import Struct, field

from hermes.agent.code_execution.settings import CodeExecutionSettings
from hermes.agent.context import ContextManager
from hermes.agent.context_engines import ContextEngines
from hermes.agent.extensions import Extensions
from hermes.agent.guardrails import GuardrailSettings
from hermes.agent.ledger import Ledger
from hermes.agent.prompt.folder_trust import FolderTrust
from hermes.agent.prompt.notes import TextRules
from hermes.agent.recall import Recall
from hermes.agent.settings import DelegationSettings
from hermes.agent.spec import SessionOptions
from hermes.agent.trajectories import NoTrajectories, Trajectories
from hermes.lib.abridged import Abridged
from hermes.lib.aio import Async
from hermes.lib.lazy import import_object
from hermes.lib.secretvalues import SecretValues
from hermes.models.reliability.executor import RequestExecutor
from hermes.models.reliability.route import Route
from hermes.models.side_calls import SideTask, Task
from hermes.skills.library import SkillLibrary
from hermes.skills.settings import SkillSettings
from hermes.store.notes import Notes
from hermes.store.protocol import SessionStore
from hermes.tools.dispatch import Dispatcher
from hermes.types.error import ConfigError, McpError
from hermes.types.ports import Ports
from hermes.types.request import Endpoint

if TYPE_CHECKING:
    from hermes.agent.session import Session
    from hermes.agent.tool_environment import ToolEnvironment


class ModelRoutes(Protocol):
    """The ways that a session's requests may go."""

    def route_for(self, session: "Session", endpoint: Endpoint) -> Route:
        """A session's route: this endpoint, then the fallbacks of the settings."""

    def chain_for(self, session: "Session", endpoints: Sequence[Endpoint]) -> Route:
        """A route over just these endpoints."""

    def side_task(self, task: Task, endpoint: Endpoint) -> SideTask:
        """The models and limits of a side task of a session on this endpoint."""

    def warm(self, session: "Session") -> None:
        """Have what answers a session ready soon: its server connected to, with nothing sent, or its model of
        this machine loaded.
        """

    async def prepare(self, session: "Session") -> None:
        """Have a session's model of this machine fetched, loaded and told its instructions."""

    def spawn(self, job: Async[Any]) -> None:
        """Run a job beside the sessions; it ends with the runtime."""


class ToolEnvironments(Protocol):
    """Where sessions' tools work."""

    @property
    def is_remote(self) -> bool:
        """Whether that is another machine than this one."""

    def open(self, session: "Session") -> "ToolEnvironment":
        """The environment of a session, with the gate in front of it; made when the first tool needs it."""


class SessionSource(Protocol):
    """Where the sessions of a runtime come from."""

    async def new(self, options: SessionOptions, /) -> "Session":
        """A new session; ConfigError and StoreError say what cannot be."""

    def find(self, session_id: str, /) -> "Session | None":
        """The session of that id, where it is in use here."""


class NoSessions:
    """A runtime that opens none for its sessions."""

    async def new(self, options: SessionOptions, /) -> "Session":
        """There is none."""
        del options
        raise ConfigError("Sessions of this runtime can have no children.")

    def find(self, session_id: str, /) -> "Session | None":
        """There is none."""
        del session_id
        return None


class ToolServers(Protocol):
    """Programs elsewhere whose tools sessions have."""

    def warm(self, toolsets: Collection[str]) -> None:
        """Connect to the servers of these toolsets soon, behind what the user does."""

    async def reload(self) -> Sequence[str]:
        """Read the settings anew and ask each server what it offers; a sentence or a difference for each."""

    def accept(self, name: str) -> None:
        """Take what a server offers now for what it may offer; McpError where there is none of that name."""


class NoServers:
    """A runtime without such programs."""

    def warm(self, toolsets: Collection[str]) -> None:
        """There is none."""

    async def reload(self) -> Sequence[str]:
        """There is none."""
        return ()

    def accept(self, name: str) -> None:
        """There is none."""
        raise McpError(f"There is no server {name!r}.")


class Redactor(Struct, frozen=True):
    """Takes credentials out of text: known ones by their value, others by their form."""

    known: SecretValues

    def redact(self, text: str) -> str:
        """The text without credentials."""
        redact: Callable[[str], str] = _by_form().redact
        return redact(self.known.redact(text))

    def redact_file(self, path: str, text: str) -> str:
        """The text of a file without credentials, and without values where its name says that they are."""
        redact: Callable[[str, str], str] = _by_form().redact_file
        return redact(path, self.known.redact(text))


@cache
def _by_form() -> Any:
    """Imported when the first text is looked at: a start has nothing to hide."""
    return import_object("hermes.safety.redact")


class RuntimeServices(Abridged, Struct, frozen=True, kw_only=True):
    """The services of one runtime. `environ` has the user's variables, for the secrets that tools name;
    `notes` says what a model gets of the notes of folders that work moves into, None for nothing, and `trust`
    where notes of a project count. Children of its sessions come from `sessions`, tools of other programs
    from `servers`.
    """

    unshown: ClassVar = ("environ",)

    store: SessionStore
    routes: ModelRoutes
    executor: RequestExecutor
    environments: ToolEnvironments
    engines: ContextEngines
    ledger: Ledger
    dispatcher: Dispatcher
    ports: Ports
    redactor: Redactor
    memory: Notes
    recall: Recall
    skills: SkillLibrary
    skill_settings: SkillSettings
    trust: FolderTrust
    environ: Mapping[str, str] = field(default_factory=dict)
    notes: TextRules | None = None
    guardrails: GuardrailSettings = field(default_factory=GuardrailSettings)
    delegation: DelegationSettings = field(default_factory=DelegationSettings)
    code: CodeExecutionSettings = field(default_factory=CodeExecutionSettings)
    sessions: SessionSource = NoSessions()
    servers: ToolServers = NoServers()
    trajectories: Trajectories = NoTrajectories()
    extensions: Extensions = field(default_factory=Extensions)

    @property
    def context(self) -> ContextManager:
        """What chooses what a model sees of a session."""
        return self.engines.current

    @property
    def secrets(self) -> SecretValues:
        """The known secrets."""
        return self.redactor.known
