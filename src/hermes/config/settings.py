"""The settings: one class per section, each field with its documentation."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field


def _doc(text: str) -> Meta:
    return Meta(description=text)


Effort = Literal["", "none", "minimal", "low", "medium", "high", "xhigh", "max"]
WireName = Literal["", "chat_completions", "anthropic_messages", "bedrock_converse", "codex_responses"]
Strategy = Literal["fill_first", "round_robin", "random", "least_used"]
Ceiling = Annotated[float, Meta(ge=0)]


class ModelSettings(Struct, frozen=True, kw_only=True):
    """Which model answers."""

    default: Annotated[str, _doc("Model as provider/name, or a name at base_url; empty means the built-in local model.")] = ""
    base_url: Annotated[str, _doc("Address of an OpenAI-compatible server, such as http://127.0.0.1:8080/v1.")] = ""
    api_key_env: Annotated[str, _doc("Name of the environment variable that holds the key for base_url.")] = ""
    context_window: Annotated[int, _doc("Window in tokens; 0 takes it from the catalogue.")] = 0
    max_output: Annotated[int, _doc("Longest reply in tokens; 0 leaves it to the server.")] = 0
    temperature: Annotated[float | None, _doc("Sampling temperature; null leaves it to the server.")] = None
    first_byte_timeout: Annotated[float, _doc("Seconds to wait for the first byte of a reply.")] = 120.0
    idle_timeout: Annotated[float, _doc("Seconds to wait between two bytes of a reply.")] = 60.0
    total_timeout: Annotated[float, _doc("Seconds one model call may take in all, retries included.")] = 900.0
    max_retries: Annotated[int, _doc("Attempts after the first one, on faults that may pass.")] = 4
    effort: Annotated[Effort, _doc("How hard to think: none, minimal, low, medium, high, xhigh, max; empty leaves it to the model.")] = ""
    protocol: Annotated[WireName, _doc("Wire protocol to speak; empty finds it by provider and address.")] = ""


class PriceSettings(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """US dollars for a million tokens."""

    input: Ceiling
    output: Ceiling
    cache_read: Ceiling | None = None
    cache_write: Ceiling | None = None


class OwnModel(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the user knows of one model and the catalogue does not, or knows otherwise; 0, null and empty take the catalogue's word."""

    context_window: int = 0
    max_output: int = 0
    price: PriceSettings | None = None
    family: str = ""


class SignInSettings(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where and as whom to sign in, for a provider of which we do not know it."""

    client_id: str = ""
    device_url: str = ""
    authorize_url: str = ""
    token_url: str = ""
    scope: str = ""
    redirect_port: int = 0


class OwnProvider(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A provider of the user's own, or changes to one that is known. `models` are names it serves, or names with what is known of them."""

    name: str = ""
    base_url: str = ""
    protocol: WireName = ""
    api_key_env: str = ""
    api_key_command: list[str] | str = ""
    headers: dict[str, str] = {}
    extra_body: dict[str, Any] = {}
    models: list[str] | dict[str, OwnModel] = []
    ca_cert: str = ""
    sign_in: SignInSettings = SignInSettings()


class Fallback(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A model to go on with when the one before it fails."""

    provider: str = ""
    model: str
    base_url: str = ""
    api_key_env: str = ""


class CachingSettings(Struct, frozen=True, kw_only=True):
    """Marks that let a provider keep the prompt."""

    cache_ttl: Annotated[Literal["5m", "1h", "off"], _doc("How long marked parts of the prompt are kept, where marks are taken.")] = "5m"


class TaskSettings(Struct, frozen=True, kw_only=True):
    """The model of one side task."""

    provider: Annotated[str, _doc("Provider for this task; empty takes the session's, or its small model.")] = ""
    model: Annotated[str, _doc("Model for this task; empty takes the provider's small model, or the session's.")] = ""
    base_url: Annotated[str, _doc("Address of a server for this task.")] = ""
    timeout: Annotated[float, _doc("Seconds this task may take.")] = 30.0
    max_output: Annotated[int, _doc("Longest reply in tokens; 0 leaves it to the task.")] = 0


class AuxiliarySettings(Struct, frozen=True, kw_only=True):
    """Models for side tasks."""

    compression: TaskSettings = TaskSettings(timeout=300.0)
    title: TaskSettings = TaskSettings()
    web_extract: TaskSettings = TaskSettings()
    vision: TaskSettings = TaskSettings(timeout=120.0)
    approval: TaskSettings = TaskSettings()
    search_summary: TaskSettings = TaskSettings()


class BudgetSettings(Struct, frozen=True, kw_only=True):
    """What may be spent; 0 means no limit. No model call starts beyond it."""

    turn_tokens: Annotated[int, Meta(ge=0), _doc("Tokens that one turn may use.")] = 0
    turn_cost: Annotated[Ceiling, _doc("US dollars that one turn may cost.")] = 0.0
    turn_seconds: Annotated[Ceiling, _doc("Seconds that one turn may take.")] = 0.0
    session_tokens: Annotated[int, Meta(ge=0), _doc("Tokens that one session may use.")] = 0
    session_cost: Annotated[Ceiling, _doc("US dollars that one session may cost.")] = 0.0
    day_tokens: Annotated[int, Meta(ge=0), _doc("Tokens that all sessions of a day may use.")] = 0
    day_cost: Annotated[Ceiling, _doc("US dollars that all sessions of a day may cost.")] = 0.0
    unknown_price_input: Annotated[
        Ceiling, _doc("US dollars for a million input tokens that a model without a known price counts as, in budgets.")
    ] = 5.0
    unknown_price_output: Annotated[
        Ceiling, _doc("US dollars for a million output tokens that a model without a known price counts as, in budgets.")
    ] = 25.0


class NetworkSettings(Struct, frozen=True, kw_only=True):
    """The way out."""

    ca_cert: Annotated[str, _doc("File of certificates (PEM) to trust besides the usual ones, as a company's proxy needs.")] = ""


class AgentSettings(Struct, frozen=True, kw_only=True):
    """How far a turn goes."""

    max_turns: Annotated[int, _doc("Model calls one turn may make before it must sum up.")] = 90
    disabled_toolsets: Annotated[list[str], _doc("Toolsets that are never offered.")] = []


class TerminalSettings(Struct, frozen=True, kw_only=True):
    """Where and how commands run."""

    backend: Annotated[
        Literal["local", "docker", "podman", "ssh", "singularity", "apptainer", "modal", "daytona", "vercel_sandbox"],
        _doc("Where commands run."),
    ] = "local"
    cwd: Annotated[
        str, _doc("Directory that commands start in; . is where hermes was started, or where a machine elsewhere puts its shells.")
    ] = "."
    timeout: Annotated[int, _doc("Seconds a foreground command may take by default.")] = 180
    sandbox: Annotated[
        Literal["auto", "on", "off"], _doc("Kernel sandbox around local commands: auto uses it where it works, on requires it.")
    ] = "auto"
    sandbox_mode: Annotated[
        Literal["read-only", "workspace", "full"],
        _doc("What sandboxed commands may write: nothing, the workspace, or all that you may but credentials and start files."),
    ] = "workspace"
    sandbox_debuggers: Annotated[bool, _doc("Whether debuggers and tracers work on the sandbox's own processes.")] = False
    sandbox_processes: Annotated[
        int, Meta(ge=0), _doc("Processes and threads that a sandboxed command may have at a time; 0 means no limit.")
    ] = 4096
    sandbox_file_gigabytes: Annotated[
        int, Meta(ge=0), _doc("Size that one file of a sandboxed command may have, in gigabytes; 0 means no limit.")
    ] = 100
    network: Annotated[
        bool | list[str],
        _doc("Network for sandboxed commands: false none, true all, or a list of hosts (example.com, *.example.com, example.com:8443)."),
    ] = False
    env_passthrough: Annotated[
        list[str],
        _doc("Variables of yours that local commands get besides the usual ones: names, which pass whatever they hold, or PREFIX_*."),
    ] = []
    lifetime_seconds: Annotated[
        int, Meta(ge=0), _doc("Seconds without a command after which a machine elsewhere is stopped; 0 keeps it.")
    ] = 300
    ssh_host: Annotated[str, _doc("Host for ssh, as your ssh config knows it.")] = ""
    ssh_user: Annotated[str, _doc("User on that host; empty for what your ssh config says.")] = ""
    ssh_port: Annotated[int, _doc("Port of that host; 0 for what your ssh config says.")] = 0
    ssh_key: Annotated[str, _doc("Key file for that host; empty for your agent and ssh config.")] = ""
    docker_image: Annotated[str, _doc("Image for docker and podman; it needs bash.")] = "nikolaik/python-nodejs:python3.11-nodejs20"
    docker_volumes: Annotated[list[str], _doc("Host folders in the container, each host:container or host:container:ro.")] = []
    docker_mount_cwd_to_workspace: Annotated[bool, _doc("Mount the directory you start in on /workspace, writable.")] = False
    docker_run_as_host_user: Annotated[bool, _doc("Run as your own user id, so that files in volumes stay yours.")] = False
    docker_network: Annotated[bool, _doc("Whether the container has a network.")] = True
    docker_read_only: Annotated[bool, _doc("Make the container's own files read-only, except /tmp.")] = False
    docker_env: Annotated[dict[str, str], _doc("Variables for commands in the container.")] = {}
    docker_forward_env: Annotated[list[str], _doc("Names of your own variables that commands in the container get.")] = []
    docker_extra_args: Annotated[list[str], _doc("More arguments for docker run.")] = []
    singularity_image: Annotated[str, _doc("Image file, folder or address for Apptainer.")] = ""
    modal_image: Annotated[str, _doc("Image for Modal sandboxes.")] = "nikolaik/python-nodejs:python3.11-nodejs20"
    daytona_image: Annotated[str, _doc("Image for Daytona sandboxes.")] = "nikolaik/python-nodejs:python3.11-nodejs20"
    vercel_image: Annotated[str, _doc("Image for Vercel sandboxes; empty for Vercel's own.")] = ""
    container_cpu: Annotated[float, Meta(ge=0), _doc("Processors of a container or cloud sandbox; 0 for no limit.")] = 1.0
    container_memory: Annotated[int, Meta(ge=0), _doc("Memory of a container or cloud sandbox in megabytes; 0 for no limit.")] = 5120
    container_disk: Annotated[
        int, Meta(ge=0), _doc("Disk of a container in megabytes, where the storage can limit it; 0 for no limit.")
    ] = 0
    container_pids: Annotated[int, Meta(ge=0), _doc("Processes that a container may have; 0 for no limit.")] = 256
    container_persistent: Annotated[bool, _doc("Keep a container's files for the next session in this directory.")] = True


class ApprovalSettings(Struct, frozen=True, kw_only=True):
    """Questions before dangerous actions."""

    mode: Annotated[
        Literal["manual", "smart", "off"],
        _doc("manual asks; smart lets a model answer what does little harm; off lets everything but the hard limits run."),
    ] = "manual"
    timeout: Annotated[float, _doc("Seconds after which a question without an answer is a no; 0 waits for ever.")] = 60.0
    untrusted: Annotated[
        Literal["ask", "trust"],
        _doc("After text from outside was read, ask before sending, publishing or lasting changes, whatever was allowed; trust asks not."),
    ] = "ask"


class SecuritySettings(Struct, frozen=True, kw_only=True):
    """Text that nobody here wrote."""

    allow_text: Annotated[
        list[str], _doc("Hashes of stretches of text that are let through although they give orders; hermes scan names them.")
    ] = []


class ToolOutputSettings(Struct, frozen=True, kw_only=True):
    """How much output goes to the model."""

    max_bytes: Annotated[int, _doc("Characters of a command's output that the model gets, head and tail.")] = 50_000
    max_lines: Annotated[int, _doc("Lines of a file that one read gives at most.")] = 2000
    max_line_length: Annotated[int, _doc("Characters of one line before it is clipped.")] = 2000


class DisplaySettings(Struct, frozen=True, kw_only=True):
    """The screen."""

    ascii: Annotated[bool, _doc("Replace emoji and line-drawing characters by plain ones.")] = False
    bell: Annotated[bool, _doc("Ring the terminal bell when an answer is needed.")] = False
    show_thinking: Annotated[bool, _doc("Show the model's reasoning as it streams.")] = False


class Settings(Struct, frozen=True, kw_only=True):
    """All sections; functions take the one they need."""

    model: ModelSettings = ModelSettings()
    agent: AgentSettings = AgentSettings()
    terminal: TerminalSettings = TerminalSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    security: SecuritySettings = SecuritySettings()
    tool_output: ToolOutputSettings = ToolOutputSettings()
    display: DisplaySettings = DisplaySettings()
    prompt_caching: CachingSettings = CachingSettings()
    auxiliary: AuxiliarySettings = AuxiliarySettings()
    budget: BudgetSettings = BudgetSettings()
    network: NetworkSettings = NetworkSettings()
    toolsets: Annotated[list[str], _doc("Toolsets offered to the model.")] = field(default_factory=lambda: ["hermes-cli"])
    command_allowlist: Annotated[
        list[str], _doc("What never asks, as the answer 'always' saves it; hermes approvals list shows each entry.")
    ] = []
    providers: Annotated[
        dict[str, OwnProvider],
        _doc("Providers of one's own by name, or changes to known ones: base_url, protocol, api_key_env, headers, models and so on."),
    ] = {}
    custom_providers: Annotated[list[OwnProvider], _doc("The same as a list; each has a name.")] = []
    models: Annotated[
        dict[str, OwnModel], _doc("What is known of single models, by provider/name: context_window, max_output, price, family.")
    ] = {}
    fallback_providers: Annotated[
        list[str | Fallback], _doc("Models to go on with when the chosen one fails, in order: provider/name, or provider, model, base_url.")
    ] = []
    credential_pool_strategies: Annotated[
        dict[str, Strategy], _doc("How a provider's keys take turns: fill_first (the default), round_robin, random, least_used.")
    ] = {}
