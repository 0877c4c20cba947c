"""The settings: one class per section, each field with its documentation."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field


def _doc(text: str) -> Meta:
    return Meta(description=text)


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


class AgentSettings(Struct, frozen=True, kw_only=True):
    """How far a turn goes."""

    max_turns: Annotated[int, _doc("Model calls one turn may make before it must sum up.")] = 90
    disabled_toolsets: Annotated[list[str], _doc("Toolsets that are never offered.")] = []


class TerminalSettings(Struct, frozen=True, kw_only=True):
    """Where and how commands run."""

    backend: Annotated[Literal["local"], _doc("Where commands run.")] = "local"
    cwd: Annotated[str, _doc("Directory that commands start in; . is where hermes was started.")] = "."
    timeout: Annotated[int, _doc("Seconds a foreground command may take by default.")] = 180
    sandbox: Annotated[
        Literal["auto", "on", "off"], _doc("Kernel sandbox around local commands: auto uses it where it works, on requires it.")
    ] = "auto"
    network: Annotated[bool, _doc("Whether sandboxed commands may reach the network without asking.")] = False
    env_passthrough: Annotated[list[str], _doc("Names of secret-looking variables that commands may see all the same.")] = []


class ApprovalSettings(Struct, frozen=True, kw_only=True):
    """Questions before dangerous actions."""

    mode: Annotated[Literal["manual", "off"], _doc("manual asks; off lets everything but the hard limits run.")] = "manual"


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
    tool_output: ToolOutputSettings = ToolOutputSettings()
    display: DisplaySettings = DisplaySettings()
    toolsets: Annotated[list[str], _doc("Toolsets offered to the model.")] = field(default_factory=lambda: ["hermes-cli"])
    command_allowlist: Annotated[list[str], _doc("Commands that never ask: exact ones, as saved by the answer 'always'.")] = []
