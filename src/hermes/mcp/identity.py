"""Rights by the word of a company's identity provider (SEP-990): its sign-in is exchanged for an assertion,
and that for a token of the server.
"""

from collections.abc import Mapping
from functools import partial

import msgspec
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from msgspec import Struct

from hermes.lib.http import new_client
from hermes.mcp.http import check_address
from hermes.mcp.oauth import TokenFile
from hermes.mcp.settings import McpIdentity, McpOAuth
from hermes.types.error import McpError

_TYPES = "urn:ietf:params:oauth:token-type"


class _Exchanged(Struct):
    access_token: str


def vouched_for(
    url: str, options: McpOAuth, file: TokenFile, environ: Mapping[str, str]
) -> IdentityAssertionOAuthProvider:
    """What authenticates requests to a server; McpError where the settings do not say enough."""
    try:
        return IdentityAssertionOAuthProvider(
            server_url=url,
            storage=file,
            client_id=options.client_id,
            client_secret=options.client_secret,
            issuer=options.issuer,
            assertion_provider=partial(_assertion, options.identity, environ),
            scope=options.scope or None,
            token_endpoint_auth_method=options.client_secret_method,
        )
    except ValueError as error:
        raise McpError(f"oauth does not say enough: {error}") from error


async def _assertion(identity: McpIdentity, environ: Mapping[str, str], audience: str, resource: str) -> str:
    """The provider's assertion for one server (RFC 8693); McpError where it gives none."""
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
    async with new_client(environ) as client:
        answer = await client.post(identity.token_endpoint, data=form)
    try:
        return msgspec.json.decode(answer.content, type=_Exchanged).access_token
    except msgspec.DecodeError as error:
        raise McpError(f"the identity provider does not vouch for you: HTTP {answer.status_code}") from error
