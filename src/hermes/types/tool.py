"""A tool, and what its handler may ask of the session that calls it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol

from msgspec import Struct

from hermes.types.delegation import ChildReport, ChildTask
from hermes.types.message import Message
from hermes.types.question import Answer, Question
from hermes.types.script import ScriptResult
from hermes.types.workspace import Workspace

ToolEffect = Literal["files", "processes", "network", "send", "settings", "memory", "other"]
"""What a tool may change; `network` is what it reaches, `send` words to people, `memory` what later sessions
are told, `other` is not declared.
"""


class ToolManifest(Struct, frozen=True, kw_only=True):
    """What a tool needs and does, beside its schema; what is not declared counts as the worst.

    `effects`: what a call may change; none for a tool that only reads. An intent is stored before a call with
    effects. `parallel`: whether calls run side by side: never, always (`safe`), or where the paths in the
    arguments named by `paths` (and in the patch text in the argument `patch`) do not overlap; those that go
    through the workspace keep their order where one of them changes files.
    `workspace`: all it does to the machine goes through `ctx.workspace`, which decides for each action.
    `hosts` and `programs`: what it connects to and starts by itself; `secrets`: variables it reads.
    `asks`: why a call needs a yes of its own, after "because"; `definition` names what such a yes is to: with
    another one it does not hold.
    """

    effects: tuple[ToolEffect, ...] = ("other",)
    parallel: Literal["never", "safe", "by_path"] = "never"
    paths: tuple[str, ...] = ()
    patch: str = ""
    workspace: bool = False
    hosts: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    asks: str = ""
    definition: str = ""


UNDECLARED: Final = ToolManifest()

Handler = Callable[..., str | Awaitable[str]]
"""`(args: dict, **keywords) -> str`, a JSON string; keywords are task_id, session_id, user_task and ctx."""


class ToolEntry(Struct, frozen=True, kw_only=True):
    """A registered tool. `schema` has name, description and parameters (JSON Schema).

    `requires_env` names the secrets it needs, as variables of the user's environment: it is offered when they
    are set (unless `check_fn` decides that), and its context gives it those alone.
    `outside`: what it gives comes from outside (the web, other people) and is data, whatever it says. None:
    the manifest decides; what may connect, or does not declare what it does, is from outside.
    """

    name: str
    toolset: str
    schema: Mapping[str, Any]
    handler: Handler
    check_fn: Callable[[], object] | None = None
    requires_env: tuple[str, ...] = ()
    is_async: bool = False
    description: str = ""
    emoji: str = ""
    max_result_size_chars: int | None = None
    dynamic_schema_overrides: Callable[[], Mapping[str, Any]] | None = None
    outside: bool | None = None
    manifest: ToolManifest = UNDECLARED
    source: str = ""


class ToolSnapshot(Struct, frozen=True, kw_only=True):
    """The tools of one session, fixed: entries by name, definitions in the OpenAI function form, the
    registry's generation. `deferred` are definitions that the model is not shown: it finds those tools with
    tool_search and calls them through tool_call.
    """

    tools: Mapping[str, ToolEntry]
    definitions: tuple[Mapping[str, Any], ...]
    generation: int
    deferred: tuple[Mapping[str, Any], ...] = ()

    @property
    def offered(self) -> frozenset[str]:
        """The names of the tools that the model knows of, or finds: a small one is told of few."""
        return frozenset(one["function"]["name"] for one in (*self.definitions, *self.deferred))


class ToolContext(Protocol):
    """What a handler may ask of its session, as keyword `ctx`."""

    @property
    def session_id(self) -> str:
        """The session's id."""

    @property
    def task_id(self) -> str:
        """The task's id: the session's own, or that of the child it runs for."""

    @property
    def workspace(self) -> Workspace:
        """The machine the tools work on; each of its methods decides first whether it may."""

    @property
    def todos(self) -> "TodoList":
        """The session's plan."""

    @property
    def memory(self) -> "Memory":
        """What later sessions are told."""

    @property
    def deferred_tools(self) -> Sequence[Mapping[str, Any]]:
        """The definitions of the session's tools that its model is not shown."""

    @property
    def past(self) -> "PastSessions":
        """What was said in other sessions, as far as this one may see them."""

    @property
    def provider_tools(self) -> "ProviderTools":
        """The tools of the memory provider."""

    @property
    def skills(self) -> "Skills":
        """The procedures that are kept as files."""

    @property
    def deps(self) -> Any:
        """What the app that opened the session gave it for its tools, such as a database; None without."""

    @property
    def interrupted(self) -> bool:
        """Whether the turn is being stopped."""

    def entries(self, first: int, last: int) -> Sequence[Message]:
        """Messages of the session's log by their numbers, from 1: as far as there are such before this
        call.
        """

    def has_handled(self, path: str) -> bool:
        """Whether an earlier call of the session that worked was about a file of this name."""

    def secret(self, name: str) -> str:
        """The value of a variable that the tool names in `requires_env`; SecretUnavailable when it does not,
        or when it is not set.

        It is for the tool itself. A command that needs it gets it on its standard input, never by the shell's
        variables.
        """

    async def ask(self, question: Question) -> Answer:
        """The answer of a person, or of the policy where nobody can be asked."""

    def ask_blocking(self, question: Question) -> Answer:
        """The same for a plain handler; it waits in its own thread."""

    async def ask_model(self, instructions: str, text: str) -> str | None:
        """What a model of side tasks answers to a text, within the session's budget; None when none does."""

    async def delegate(self, tasks: Sequence[ChildTask]) -> Sequence[ChildReport]:
        """Have children do the tasks side by side, and give their reports in order; HermesError says in words
        for a model what cannot be.
        """

    async def delegate_later(self, tasks: Sequence[ChildTask]) -> Sequence[str]:
        """Start children that go on after this turn, and give the ids of their sessions; none are started
        where there may be no later turn for their reports.
        """

    async def run_script(self, code: str) -> ScriptResult:
        """Run Python that may call the session's tools, where its commands run; Refused when it may not,
        ExecError when it cannot be started.
        """

    async def command_output(self, command: str, output: str, code: int | None) -> str:
        """What a command has printed, as the model is to get it."""

    def progress(self, text: str) -> None:
        """Show `text` as output of the running call; from any thread or loop."""

    def redact(self, path: str, text: str) -> str:
        """The text of a file without credentials, known ones and those of their forms; without any value
        where its name says that they are.
        """

    def changed(self, diff: str) -> None:
        """Keep the unified diff of what the call changed, for people; the model does not get it."""


class TodoList(Protocol):
    """The plan of a session: items with id, content and status."""

    def read(self) -> list[dict[str, str]]:
        """The items, in order."""

    def write(self, items: list[dict[str, str]], *, merge: bool) -> list[dict[str, str]]:
        """Replace the plan, or merge by id; gives the plan after it."""


class Memory(Protocol):
    """Notes that later sessions are told, in two files: `memory` and `user`."""

    def edit(self, target: str, edits: Sequence[Mapping[str, str]]) -> Mapping[str, object]:
        """Make all changes (each with action, content, old_text) or none, and describe the notes after them;
        HermesError says in words for a model what cannot be.
        """


class Skills(Protocol):
    """Procedures kept as files, as far as they are of use to one session."""

    def listed(self, category: str = "") -> Sequence[Mapping[str, object]]:
        """Name, description and category of each, or of those of one category."""

    def view(self, name: str, path: str = "") -> Mapping[str, object]:
        """A skill with its procedure, or a file of it; HermesError says what is not there."""

    async def change(self, wanted: Mapping[str, Any], reason: str) -> Mapping[str, object]:
        """Make a change of a skill or have it wait for a person, and say which; HermesError says in words for
        a model what cannot be.
        """


class PastSessions(Protocol):
    """Sessions of the same home that one session may look at; results are JSON for a model, of bounded
    length.
    """

    async def search(
        self,
        words: str,
        *,
        limit: int,
        order: Literal["best", "newest", "oldest"],
        roles: Sequence[str],
        around: int,
    ) -> Sequence[Mapping[str, object]]:
        """Up to `limit` sessions with a message that holds the words, each with that message and so many
        `around` it. `roles` are user, assistant and tool; none for all.
        """

    async def begun(self, since: float, until: float, *, limit: int) -> Sequence[Mapping[str, object]]:
        """The sessions that began in a time (epoch seconds), the last first."""

    async def read(self, session_id: str, number: int, *, around: int) -> Mapping[str, object]:
        """Messages of a session around a number of its log (0: the end); HermesError when there is none."""

    async def summarize(self, question: str, found: str) -> str | None:
        """What found messages tell of a question, in a model's words; None when no model answers."""


class ProviderTools(Protocol):
    """What a memory provider lets a session do."""

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Run one of its tools: JSON, an error among them."""
