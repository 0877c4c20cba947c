"""Rights by the word of a company's identity provider (SEP-990): its sign-in is exchanged for an assertion,
and that for a token of the server.
"""

from collections.abc import Callable, Mapping
from functools import partial

import httpx2
import msgspec
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from msgspec import Struct

from hermes.mcp.http import bounded_client, check_address
from hermes.mcp.oauth import TokenFile
from hermes.mcp.settings import McpIdentity, McpOAuth, McpServer
from hermes.mcp.streams import Traffic
from hermes.types.error import McpError

_TYPES = "urn:ietf:params:oauth:token-type"


class _Exchanged(Struct):
    access_token: str


def vouched_for(
    url: str, options: McpOAuth, file: TokenFile, environ: Mapping[str, str], clock: Callable[[], float]
) -> IdentityAssertionOAuthProvider:
    """What authenticates requests to a server; McpError where the settings do not say enough."""
    try:
        return IdentityAssertionOAuthProvider(
            server_url=url,
            storage=file,
            client_id=options.client_id,
            client_secret=options.client_secret,
            issuer=options.issuer,
            assertion_provider=partial(assertion, options.identity, environ, clock),
            scope=options.scope or None,
            token_endpoint_auth_method=options.client_secret_method,
        )
    except ValueError as error:
        raise McpError(f"oauth does not say enough: {error}") from error


async def assertion(
    identity: McpIdentity,
    environ: Mapping[str, str],
    clock: Callable[[], float],
    audience: str,
    resource: str,
) -> str:
    """The provider's assertion for one server (RFC 8693); McpError where it gives none, or more than an
    answer may be.
    """
    check_address(identity.token_endpoint)
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": f"{_TYPES}:id-jag",
        "subject_token": identity.id_token,
        "subject_token_type": f"{_TYPES}:id_token",
        "audience": audience,
        "resource": resource,
        "client_id": identity.client_id,
    }
    place = McpServer(url=identity.token_endpoint)
    try:
        async with bounded_client(place, environ, None, Traffic(clock)) as client:
            answer = await client.post(place.url, data=form)
    except httpx2.HTTPError as error:
        raise McpError(
            f"the identity provider does not answer: {str(error) or type(error).__name__}"
        ) from error
    try:
        return msgspec.json.decode(answer.content, type=_Exchanged).access_token
    except msgspec.DecodeError as error:
        raise McpError(f"the identity provider does not vouch for you: HTTP {answer.status_code}") from error
