"""Signing in to servers: OAuth 2.1 with PKCE, registration by itself, tokens shared by a home's processes.

The flow is the library's; what is ours is where tokens are kept, that one process at a time refreshes them,
and that nobody is sent to a browser who has not asked to sign in.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl
from warnings import catch_warnings

import anyio.to_thread
import httpx2
import msgspec
from filelock import FileLock, Timeout
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from mcp.shared.exceptions import MCPDeprecationWarning
from msgspec import Struct
from msgspec.structs import replace

from hermes.lib.files import make_private, write_atomic
from hermes.lib.small_files import read_small
from hermes.mcp.dpop import ProofOfKey
from hermes.mcp.settings import McpOAuth
from hermes.types.error import McpError

EARLY: Final = 30.0
"""Seconds before its end at which a token counts as ended."""
WAIT: Final = 60.0

JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SIGN_IN: Final = "it wants you to sign in: hermes mcp login NAME does that"
"""Whoever shows it puts the server's name in its place."""
Visit = Callable[[str], Awaitable[None]]
Returned = Callable[[], Awaitable[AuthorizationCodeResult]]


class KeptSignIn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept of a sign-in, each part as the library writes it; `ends` is when the token does, and
    `key` the key that it is worth nothing without.
    """

    tokens: dict[str, Any] = {}
    client: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    ends: float = 0.0
    key: str = ""


class TokenFile:
    """The sign-in to one server, for this user alone."""

    def __init__(self, path: Path, now: Callable[[], float]) -> None:
        self._path, self.now = path, now
        self.key = ""
        """The key that the tokens that are kept next are bound to."""

    def load(self) -> KeptSignIn:
        """What is kept; nothing where there is no such file, or none that can be read."""
        try:
            return msgspec.json.decode(read_small(self._path), type=KeptSignIn)
        except (OSError, msgspec.DecodeError):
            return KeptSignIn()

    def save(self, kept: KeptSignIn) -> None:
        """Keep it."""
        make_private(self._path.parent)
        write_atomic(self._path, msgspec.json.encode(kept), mode=0o600)

    def forget(self) -> bool:
        """Sign out; whether there was a sign-in."""
        found = self._path.exists()
        self._path.unlink(missing_ok=True)
        return found

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[Callable[[], None]]:
        """Be the only process that refreshes; gives what lets others go on. McpError after a minute."""
        make_private(self._path.parent)
        lock = FileLock(f"{self._path}.lock", thread_local=False)
        try:
            await anyio.to_thread.run_sync(lambda: lock.acquire(timeout=WAIT))
        except Timeout as error:
            raise McpError("another process has been signing in for a minute; try again") from error
        try:
            yield lock.release
        finally:
            lock.release()

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens, as the library asks for them."""
        kept = self.load().tokens
        return OAuthToken.model_validate(kept) if kept else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep new tokens."""
        ends = self.now() + tokens.expires_in if tokens.expires_in else 0.0
        self.save(replace(self.load(), tokens=_plain(tokens), ends=ends, key=self.key))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """What the server registered us as."""
        kept = self.load().client
        return OAuthClientInformationFull.model_validate(kept) if kept else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep what the server registered us as."""
        self.save(replace(self.load(), client=_plain(client_info)))


class _OneRefreshes(OAuthClientProvider):
    """Has one process of a home get new tokens at a time, and the others adopt them; binds tokens to a key
    where whoever gives them does that.
    """

    _file: TokenFile
    _proof: ProofOfKey

    async def _initialize(self) -> None:
        """Load what is kept, and when it ends, which the library forgets."""
        given = self.context.client_info
        await super()._initialize()
        self.context.client_info = given or self.context.client_info
        kept = self._file.load()
        self._proof = ProofOfKey(kept.key)
        if kept.ends:
            self.context.token_expiry_time = kept.ends - EARLY
        if kept.metadata:
            self.context.oauth_metadata = OAuthMetadata.model_validate(kept.metadata)

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """The library's flow; while tokens change others are kept out, and what they have got counts."""
        async with AsyncExitStack() as held:
            others_may: Callable[[], object] = int
            if not self.context.is_token_valid():
                others_may = await held.enter_async_context(self._file.alone())
                self._initialized = False
            flow = super()._auth_flow(request)
            try:
                outgoing = await anext(flow)
                while True:
                    if outgoing is request:
                        others_may()
                    self._proof.sign(outgoing, self._file.now())
                    response = await self._proof.read((yield outgoing))
                    if self._proof.wants_other_nonce(response):
                        self._proof.sign(outgoing, self._file.now())
                        response = await self._proof.read((yield outgoing))
                    self._file.key = self._proof.pem
                    outgoing = await flow.asend(response)
            except StopAsyncIteration:
                return
            finally:
                await flow.aclose()

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        await super()._handle_token_response(response)
        if self.context.oauth_metadata is not None:
            self._file.save(replace(self._file.load(), metadata=_plain(self.context.oauth_metadata)))


class SignedIn(_OneRefreshes):
    """Requests in the name of a person; without `visit`, McpError where a new sign-in is wanted."""

    def __init__(
        self,
        url: str,
        options: McpOAuth,
        file: TokenFile,
        redirect: str,
        visit: Visit | None = None,
        returned: Returned | None = None,
    ) -> None:
        self._file = file
        super().__init__(
            server_url=url,
            client_metadata=_metadata(options, redirect),
            storage=file,
            redirect_handler=visit or _nobody_visits,
            callback_handler=returned or _nobody_returns,
            client_metadata_url=options.client_metadata_url or None,
        )
        if options.client_id:
            self.context.client_info = _registered(options, redirect)


class OwnRights(_OneRefreshes, ClientCredentialsOAuthProvider):
    """Requests in the name of a client of its own, which proves itself by a secret."""

    def __init__(self, url: str, options: McpOAuth, file: TokenFile) -> None:
        self._file = file
        super().__init__(
            server_url=url,
            storage=file,
            client_id=options.client_id,
            client_secret=options.client_secret,
            token_endpoint_auth_method=options.client_secret_method,
            scope=options.scope or None,
            issuer=options.issuer or None,
        )


class OwnWorkload(OwnRights):
    """Requests in the name of a workload, which proves itself by a token of the machine that runs it, such as
    a projected one of Kubernetes (RFC 7523, SEP-1933).
    """

    def __init__(self, url: str, options: McpOAuth, file: TokenFile) -> None:
        super().__init__(url, options, file)
        self._assertion = Path(options.assertion_file).expanduser()

    async def _perform_authorization(self) -> httpx2.Request:
        request = await super()._perform_authorization()
        try:
            assertion = read_small(self._assertion).decode().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise McpError(f"the assertion_file {self._assertion} cannot be read: {error}") from error
        form = dict(parse_qsl(request.content.decode())) | {"grant_type": JWT_BEARER, "assertion": assertion}
        if self.context.client_info and "authorization" not in request.headers:
            form["client_id"] = self.context.client_info.client_id
        headers = {key: value for key, value in request.headers.items() if key != "content-length"}
        return httpx2.Request("POST", request.url, data=form, headers=headers)


class OwnKey(_OneRefreshes, PrivateKeyJWTOAuthProvider):
    """Requests in the name of a client of its own, which proves itself by a key."""

    def __init__(self, url: str, options: McpOAuth, file: TokenFile) -> None:
        self._file = file
        signing = SignedJWTParameters(
            issuer=options.client_id,
            subject=options.client_id,
            signing_key=read_small(Path(options.private_key).expanduser()).decode(),
            signing_algorithm=options.algorithm,
        )
        super().__init__(
            server_url=url,
            storage=file,
            client_id=options.client_id,
            assertion_provider=signing.create_assertion_provider(),
            scope=options.scope or None,
            issuer=options.issuer or None,
        )


def own_rights(url: str, options: McpOAuth, file: TokenFile) -> OwnRights | OwnKey:
    """What authenticates a client of its own; McpError where it has no key that can be read.

    The library warns on the standard error output where no issuer is named, which a user cannot see the sense
    of; the documentation says what naming one is good for.
    """
    with catch_warnings(action="ignore", category=MCPDeprecationWarning):
        return _own_rights(url, options, file)


def _own_rights(url: str, options: McpOAuth, file: TokenFile) -> OwnRights | OwnKey:
    if options.grant == "workload_identity":
        return OwnWorkload(url, options, file)
    if not options.private_key:
        return OwnRights(url, options, file)
    try:
        return OwnKey(url, options, file)
    except (OSError, ValueError) as error:
        raise McpError(f"the key {options.private_key} cannot be read: {error}") from error


def _metadata(options: McpOAuth, redirect: str) -> OAuthClientMetadata:
    return OAuthClientMetadata.model_validate(
        {
            "client_name": options.client_name,
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "scope": options.scope or None,
        }
    )


def _registered(options: McpOAuth, redirect: str) -> OAuthClientInformationFull:
    """What a server knows us as whose owner has registered us."""
    return OAuthClientInformationFull.model_validate(
        {
            **_plain(_metadata(options, redirect)),
            "client_id": options.client_id,
            "client_secret": options.client_secret or None,
            "token_endpoint_auth_method": options.client_secret_method if options.client_secret else "none",
        }
    )


async def _nobody_visits(_url: str) -> None:
    raise McpError(SIGN_IN)


async def _nobody_returns() -> AuthorizationCodeResult:
    raise McpError(SIGN_IN)


def _plain(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = model.model_dump(mode="json", exclude_none=True)
    return found
