"""What users set of MCP servers; the names are those of configurations that are already there."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr

from hermes.config.sections import Amount, Count, Duration, doc, section
from hermes.lib.secretnames import is_secret_name

Trust = Literal["ask", "read-only", "full"]


class McpFilter(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which of a server's tools are offered."""

    include: Annotated[list[str], doc("Names of tools, a star for any letters; empty is all of them.")] = []
    exclude: Annotated[list[str], doc("The same for tools that are left out; they count last.")] = []
    resources: Annotated[bool, doc("Whether its resources can be listed and read.")] = True
    prompts: Annotated[bool, doc("Whether its prompts can be listed and had.")] = True


class McpSandbox(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a server that is a program of this machine may do."""

    enabled: Annotated[bool, doc("Whether it is confined; false runs it with all your rights.")] = True
    network: Annotated[bool | list[str], doc("All of the network (true), or these hosts.")] = False
    paths: Annotated[list[str], doc("Folders that it may write.")] = []
    read: Annotated[
        list[str], doc("Paths that it may read besides its program, the system and what its args name.")
    ] = []


class McpSampling(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a server may have a model of yours answer, which each session asks you first."""

    enabled: Annotated[bool, doc("Whether it may ask at all.")] = True
    max_tokens_cap: Annotated[int, Meta(ge=1), doc("Tokens that it may ask for at once.")] = 4096
    max_rpm: Annotated[Count, doc("How often a minute it may ask.")] = 10
    timeout: Annotated[Duration, doc("Seconds that an answer may take.")] = 30.0
    model: Annotated[str, doc("Has no effect: auxiliary.mcp names the model.")] = ""
    allowed_models: Annotated[list[str], doc("Has no effect: a server chooses no model.")] = []
    max_tool_rounds: Annotated[Count, doc("Has no effect: the model is given no tools.")] = 5
    log_level: Annotated[str, doc("Has no effect.")] = ""


class McpElicitation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a server may ask you."""

    enabled: Annotated[bool, doc("Whether it may ask at all.")] = True
    timeout: Annotated[Duration, doc("Seconds after which a question is withdrawn.")] = 300.0


class McpIdentity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a company's identity provider vouches for its users (the grant identity_assertion)."""

    token_endpoint: Annotated[str, doc("The provider's address for tokens.")] = ""
    client_id: Annotated[str, doc("What the provider knows us by.")] = ""
    id_token: Annotated[str, doc("What it gave the user to sign in with, best as ${NAME}.")] = ""


class McpOAuth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to sign in where a server does not say it all."""

    grant: Annotated[
        Literal["authorization_code", "client_credentials", "identity_assertion", "workload_identity"],
        doc(
            "Whose rights are used: yours, by the browser or a company's word, or those of client_id, which"
            " has a secret, a key, or the word of the machine that runs us."
        ),
    ] = "authorization_code"
    client_id: Annotated[str, doc("What the server knows us by; without one we register.")] = ""
    client_secret: Annotated[str, doc("The secret that goes with it, best as ${NAME}.")] = ""
    client_secret_method: Annotated[
        Literal["client_secret_basic", "client_secret_post"], doc("How the secret is sent.")
    ] = "client_secret_basic"  # noqa: S105  # the name of a way
    private_key: Annotated[str, doc("A file with the key (PEM) that stands for the secret.")] = ""
    assertion_file: Annotated[
        str, doc("A file with the token of the machine that runs us, for workload_identity; it may change.")
    ] = ""
    algorithm: Annotated[str, doc("How that key signs.")] = "ES256"
    client_metadata_url: Annotated[
        str, doc("The https address that describes us, for servers that take it in place of registration.")
    ] = ""
    issuer: Annotated[
        str, doc("The server that gives tokens; one that is named is the only one that gets the secret.")
    ] = ""
    identity: Annotated[McpIdentity, doc("Who vouches for you, for identity_assertion.")] = McpIdentity()
    client_name: Annotated[str, doc("What we call ourselves when we register.")] = "Hermes"
    scope: Annotated[str, doc("The rights to ask for, with spaces; empty leaves that to the server.")] = ""
    redirect_uri: Annotated[str, doc("The whole address the browser comes back to.")] = ""
    redirect_host: Annotated[str, doc("The host of that address.")] = "127.0.0.1"
    redirect_port: Annotated[int, Meta(ge=0, le=65535), doc("Its port; 0 takes a free one.")] = 0
    timeout: Annotated[Duration, doc("Seconds to wait for the browser.")] = 300.0


class McpServer(Struct, frozen=True, kw_only=True):
    """One server: a program of this machine that talks on its standard streams, or an address."""

    command: Annotated[str, doc("The program.")] = ""
    args: Annotated[list[str], doc("Its arguments.")] = []
    env: Annotated[dict[str, str], doc("Variables for it, besides those that any command gets.")] = {}
    cwd: Annotated[str, doc("Where it works; empty is a folder of its own.")] = ""
    url: Annotated[str, doc("The address, https unless it is of this machine.")] = ""
    headers: Annotated[dict[str, str], doc("Headers of each request.")] = {}
    transport: Annotated[
        Literal["", "http", "streamable-http", "sse", "stdio"], doc("How an address speaks; empty is http.")
    ] = ""
    auth: Annotated[
        Literal["", "oauth", "header"], doc("oauth signs in (hermes mcp login); header leaves it to headers.")
    ] = ""
    oauth: Annotated[McpOAuth, doc("How to sign in.")] = McpOAuth()
    ssl_verify: Annotated[bool | str, doc("A file of certificates to trust, or false to trust any.")] = True
    timeout: Annotated[Duration, doc("Seconds that one call may take.")] = 300.0
    connect_timeout: Annotated[Duration, doc("Seconds until it must have told what it offers.")] = 60.0
    idle_timeout_seconds: Annotated[Count, doc("Seconds without a call that end it; 0 never.")] = 0
    enabled: Annotated[bool, doc("Whether it is used.")] = True
    trust: Annotated[
        Trust,
        doc(
            "ask: each tool asks first. read-only: not those that say that they only read. full: none, until"
            " text from elsewhere was read."
        ),
    ] = "ask"
    instructions: Annotated[
        bool, doc("Whether models are told what it says of its tools, marked as its words.")
    ] = True
    supports_parallel_tool_calls: Annotated[bool, doc("Whether its tools run side by side.")] = False
    tools: Annotated[McpFilter, doc("Which of its tools are offered.")] = McpFilter()
    sandbox: Annotated[McpSandbox, doc("What a program may do.")] = McpSandbox()
    sampling: Annotated[McpSampling, doc("Whether it may use a model.")] = McpSampling()
    elicitation: Annotated[McpElicitation, doc("Whether it may ask you.")] = McpElicitation()
    keepalive_interval: Annotated[Amount, doc("Has no effect.")] = 0.0
    max_lifetime_seconds: Annotated[Amount, doc("Has no effect.")] = 0.0
    skip_preflight: Annotated[bool, doc("Has no effect.")] = False
    type: Annotated[str, doc("Has no effect: command or url say it.")] = ""

    disabled: Annotated[bool, doc("The opposite of enabled, as others write it.")] = False

    def __post_init__(self) -> None:
        if self.disabled:
            force_setattr(self, "enabled", False)  # noqa: FBT003  # the value itself
        if bool(self.command) == bool(self.url):
            raise ValueError("a server has either a command or a url")

    @property
    def secrets(self) -> list[str]:
        """Its values that must not be shown."""
        named = [value for name, value in self.env.items() if is_secret_name(name)]
        words = [word for value in self.headers.values() for word in value.split()]
        return [one for one in (*named, *words, self.oauth.client_secret) if len(one) >= 8]

    @property
    def is_local(self) -> bool:
        """Whether it is a program of this machine."""
        return bool(self.command)


@section("")
class McpSettings(Struct, frozen=True, kw_only=True):
    """Programs that offer tools by the Model Context Protocol."""

    mcp_servers: Annotated[
        dict[str, McpServer],
        doc(
            "MCP servers by name, each with command and args, or a url; hermes mcp add writes one. ${NAME}"
            " stands for a variable of the environment or .env."
        ),
    ] = field(default_factory=dict)
