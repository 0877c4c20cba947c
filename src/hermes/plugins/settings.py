"""What users set of plugins."""

from typing import Annotated, Any, Final

from msgspec import Meta, Struct, field

from hermes.config.sections import Duration, doc, section
from hermes.lib.text import clip

_SECONDS: Final = 60.0
_LABEL: Final = 200


class PluginTaskModel(Struct, frozen=True, kw_only=True):
    """The model that answers one side task of a plugin."""

    provider: str = ""
    model: str = ""
    base_url: str = ""


class PluginLlmTrust(Struct, frozen=True, kw_only=True):
    """What a plugin may choose in its requests to models; a list of allowed ones, where it is not empty,
    bounds that. `tasks` has the models that the user chooses for side tasks of its own.
    """

    allow_provider_override: bool = False
    allowed_providers: list[str] = []
    allow_model_override: bool = False
    allowed_models: list[str] = []
    allow_agent_id_override: bool = False
    allow_profile_override: bool = False
    tasks: dict[str, PluginTaskModel] = {}


class PluginEntry(Struct, frozen=True, kw_only=True):
    """What one plugin may do; `isolated` has it run in a process of its own, `request_fields` are those that
    it may add to requests to models.
    """

    allow_tool_override: bool = False
    allow_model_provider_override: bool = False
    request_fields: list[str] = []
    isolated: bool = False
    llm: PluginLlmTrust = PluginLlmTrust()


@section("plugins")
class PluginSettings(Struct, frozen=True, kw_only=True):
    """Third parties' code: nothing of it runs unless it is named in `enabled`."""

    enabled: Annotated[
        list[str], doc("Plugins that are loaded, by name, such as weather or web/weather.")
    ] = field(default_factory=list)
    disabled: Annotated[list[str], doc("Plugins that are not loaded, whatever `enabled` says.")] = field(
        default_factory=list
    )
    project: Annotated[
        bool,
        doc("Plugins of a project, in ./.hermes/plugins, may be enabled too, in folders that you trust."),
    ] = False
    entries: Annotated[
        dict[str, PluginEntry],
        doc(
            "By plugin what it may do; allow_tool_override lets it replace tools from elsewhere,"
            " allow_model_provider_override providers of models, request_fields are fields that it may add to"
            " requests to models; isolated has its tools, hooks and providers"
            " run in a process of their own; llm says what it may choose in its requests to models."
        ),
    ] = field(default_factory=dict)
    load_timeout: Annotated[
        Duration, doc("Seconds after which a plugin that is still being loaded counts as faulty.")
    ] = 10.0
    hook_timeout: Annotated[
        Duration, doc("Seconds after which a callback at a hook point that has not ended counts as failed.")
    ] = 30.0
    safe_mode: Annotated[
        bool, doc("Load no plugin and run no command of `hooks`; `--safe-mode` says so for one start.")
    ] = False

    def is_enabled(self, key: str) -> bool:
        """Whether a plugin is to be loaded."""
        return not self.safe_mode and key in self.enabled and key not in self.disabled

    def entry(self, key: str) -> PluginEntry:
        """What a plugin may do."""
        return self.entries.get(key, PluginEntry())


class ShellHook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A command that is run at a hook point; `matcher` is a pattern that the tool's name has to fit,
    `timeout` in seconds, 300 at most. With `shell: true` a shell reads the command. Instead of a command
    there may be `hooks`: a group as the settings of Claude Code have them.
    """

    command: str = ""
    matcher: str = ""
    timeout: Annotated[float, Meta(gt=0, le=300)] = _SECONDS
    shell: bool = False
    hooks: list[dict[str, Any]] | None = None

    def __post_init__(self) -> None:
        is_group = self.hooks is not None
        if bool(self.command) == is_group:
            raise ValueError("Expected either command, or hooks as Claude Code has them")
        if is_group and (self.timeout, self.shell) != (_SECONDS, False):
            raise ValueError("Expected timeout and shell beside each command of hooks")


def label_of(event: str, command: str) -> str:
    """What people and models are told of a command at a hook point: a line, however many it has."""
    return f"hook {event}: {clip(' '.join(command.split()), _LABEL, notice=' … ')}"


@section("")
class ShellHookSettings(Struct, frozen=True, kw_only=True):
    """Commands that are run at hook points."""

    hooks: Annotated[
        dict[str, list[ShellHook]],
        doc(
            "By hook point, or by its name elsewhere such as PreToolUse, the commands that are run there, or"
            " groups of them as Claude Code has them.",
            "hooks: {PreToolUse: [{matcher: Bash, hooks: [{type: command, command: ./guard.sh}]}]}",
        ),
    ] = field(default_factory=dict)
    hooks_auto_accept: Annotated[
        bool, doc("Run commands of `hooks` that nobody has said yes to; `--accept-hooks` for one start.")
    ] = False
