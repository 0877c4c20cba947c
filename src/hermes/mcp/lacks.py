"""What the settings of a server lack, as far as that is known without asking anybody."""

from pathlib import Path
from typing import Final

import msgspec

from hermes.config.load import variables_in
from hermes.mcp.settings import McpOAuth, McpServer

_WANTED: Final = {
    "authorization_code": (),
    "client_credentials": ("client_id",),
    "identity_assertion": ("client_id", "client_secret", "issuer"),
    "workload_identity": ("client_id", "assertion_file"),
}
"""The settings of `oauth` that each grant cannot do without."""


def unset_variable(server: McpServer) -> str:
    """A variable that its settings stand for and that nobody has set; "" where there is none."""
    parts = (server.env, server.headers, server.url, server.oauth)
    return next(iter(sorted(variables_in(msgspec.json.encode(parts).decode()))), "")


def sign_in_lacks(options: McpOAuth) -> str:
    """What a sign-in cannot do without and has not, as a sentence without its stop; "" where it has all."""
    for name in _WANTED[options.grant]:
        if not getattr(options, name):
            return f"oauth.{name} is not set, which the grant {options.grant} needs"
    if options.grant == "client_credentials" and not (options.client_secret or options.private_key):
        return "neither oauth.client_secret nor oauth.private_key is set, one of which is needed"
    for name in ("private_key", "assertion_file"):
        path = getattr(options, name)
        if path and not Path(path).expanduser().is_file():
            return f"there is no file {path}, which oauth.{name} names"
    return ""
