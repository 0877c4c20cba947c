"""What users set of models, providers, side tasks and the way to them."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from hermes.config.sections import Amount, Count, Duration, doc, section

Effort = Literal["", "none", "minimal", "low", "medium", "high", "xhigh", "max"]
WireName = Literal["", "chat_completions", "anthropic_messages", "bedrock_converse", "codex_responses"]
Strategy = Literal["fill_first", "round_robin", "random", "least_used"]


@section("model")
class ModelSettings(Struct, frozen=True, kw_only=True):
    """Which model answers."""

    default: Annotated[
        str, doc("Model as provider/name, or a name at base_url; empty means the built-in local model.")
    ] = ""
    base_url: Annotated[
        str, doc("Address of an OpenAI-compatible server, such as http://127.0.0.1:8080/v1.")
    ] = ""
    api_key_env: Annotated[str, doc("Name of the environment variable that holds the key for base_url.")] = ""
    context_window: Annotated[Count, doc("Window in tokens; 0 takes it from the catalogue.")] = 0
    max_output: Annotated[Count, doc("Longest reply in tokens; 0 leaves it to the server.")] = 0
    temperature: Annotated[Amount | None, doc("Sampling temperature; null leaves it to the server.")] = None
    first_byte_timeout: Annotated[Duration, doc("Seconds to wait for the first byte of a reply.")] = 120.0
    idle_timeout: Annotated[Duration, doc("Seconds to wait between two bytes of a reply.")] = 60.0
    total_timeout: Annotated[Duration, doc("Seconds one model call may take in all, retries included.")] = (
        1800.0
    )
    continuations: Annotated[
        Count, doc("How often an answer that was cut by its length is continued; 0 leaves it cut.")
    ] = 4
    repetition_limit: Annotated[
        Count,
        doc("Characters of the same, over and over, after which a reply is stopped; 0 never stops it."),
    ] = 3000
    max_retries: Annotated[Count, doc("Attempts after the first one, on faults that may pass.")] = 4
    first_retry: Annotated[
        Amount,
        doc(
            "Seconds before the first attempt after a lost connection or a reply that broke off, and up to"
            " half of it more; 5 waits as after any other fault."
        ),
    ] = 0.5
    effort: Annotated[
        Effort,
        doc("How hard to think: none, minimal, low, medium, high, xhigh, max; empty leaves it to the model."),
    ] = ""
    protocol: Annotated[WireName, doc("Wire protocol to speak; empty finds it by provider and address.")] = ""


class PriceSettings(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """US dollars for a million tokens."""

    input: Amount
    output: Amount
    cache_read: Amount | None = None
    cache_write: Amount | None = None


class OwnModel(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the user knows of one model and the catalogue does not, or knows otherwise; 0, null and empty take
    the catalogue's word.
    """

    context_window: Count = 0
    max_output: Count = 0
    price: PriceSettings | None = None
    family: str = ""


class SignInSettings(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where and as whom to sign in, for a provider of which we do not know it."""

    client_id: str = ""
    device_url: str = ""
    authorize_url: str = ""
    token_url: str = ""
    scope: str = ""
    redirect_port: Annotated[int, Meta(ge=0, le=65_535)] = 0


class OwnProvider(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A provider of the user's own, or changes to one that is known.

    `models` are names it serves, or names with what is known of them.
    """

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


@section("")
class ProviderSettings(Struct, frozen=True, kw_only=True):
    """Providers and models of one's own, and the order in which models and keys are taken."""

    providers: Annotated[
        dict[str, OwnProvider],
        doc(
            "Providers of one's own by name, or changes to known ones: base_url, protocol, api_key_env,"
            " headers, models and so on."
        ),
    ] = {}
    custom_providers: Annotated[list[OwnProvider], doc("The same as a list; each has a name.")] = []
    models: Annotated[
        dict[str, OwnModel],
        doc("What is known of single models, by provider/name: context_window, max_output, price, family."),
    ] = {}
    fallback_providers: Annotated[
        list[str | Fallback],
        doc(
            "Models to go on with when the chosen one fails, in order: provider/name, or provider, model,"
            " base_url."
        ),
    ] = []
    credential_pool_strategies: Annotated[
        dict[str, Strategy],
        doc("How a provider's keys take turns: fill_first (the default), round_robin, random, least_used."),
    ] = {}

    def by_name(self) -> dict[str, OwnProvider]:
        """The user's providers, of both keys; `providers` wins."""
        return {**{one.name: one for one in self.custom_providers}, **self.providers}


@section("prompt_caching")
class CachingSettings(Struct, frozen=True, kw_only=True):
    """Marks that let a provider keep the prompt."""

    cache_ttl: Annotated[
        Literal["5m", "1h", "off"],
        doc("How long marked parts of the prompt are kept, where marks are taken."),
    ] = "5m"


class TaskSettings(Struct, frozen=True, kw_only=True):
    """The model of one side task."""

    provider: Annotated[str, doc("Provider for this task; empty takes the session's.")] = ""
    model: Annotated[
        str, doc("Model for this task; empty takes the provider's small model, or the session's own.")
    ] = ""
    base_url: Annotated[str, doc("Address of a server for this task.")] = ""
    timeout: Annotated[Duration, doc("Seconds this task may take.")] = 30.0
    max_tokens: Annotated[Count, doc("Longest reply in tokens; 0 leaves it to the task.")] = 0
    max_output: Annotated[Count, doc("Another name for max_tokens.")] = 0


@section("auxiliary")
class AuxiliarySettings(Struct, frozen=True, kw_only=True):
    """Models for side tasks."""

    chain: Annotated[
        list[str],
        doc(
            "Providers whose small models may be asked for any task, in this order and before the session's"
            " own, such as [openrouter, nous, custom, keys]; keys means every other one that has a key. Empty"
            " asks nobody but the session's own provider."
        ),
    ] = []
    vision_chain: Annotated[
        list[str],
        doc(
            "The same for images alone, such as [main, openrouter, nous, anthropic, custom]: models that see"
            " none are passed over. Empty takes chain."
        ),
    ] = []
    compression: TaskSettings = TaskSettings(timeout=300.0)
    title: TaskSettings = TaskSettings()
    web_extract: TaskSettings = TaskSettings()
    vision: TaskSettings = TaskSettings(timeout=120.0)
    approval: TaskSettings = TaskSettings()
    session_search: TaskSettings = TaskSettings()
    goal_judge: TaskSettings = TaskSettings(timeout=60.0)
    mcp: TaskSettings = TaskSettings()


@section("network")
class NetworkSettings(Struct, frozen=True, kw_only=True):
    """The way out."""

    ca_cert: Annotated[
        str, doc("File of certificates (PEM) to trust besides the usual ones, as a company's proxy needs.")
    ] = ""
