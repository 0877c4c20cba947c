"""A credential: what opens a provider's door, and how it has fared."""

from typing import ClassVar, Literal

from msgspec import Struct

from hermes.lib.abridged import Abridged

Kind = Literal["api_key", "oauth", "command", "keyring"]
"""A key as it is, tokens of a sign-in, a command that prints a key, or a key in the system's key ring."""

Status = Literal["ok", "exhausted", "dead"]
"""Usable, to be left alone until `exhausted_until`, or refused for good."""


class Credential(Abridged, Struct, frozen=True, kw_only=True):
    """One credential of a provider. Secrets never appear in a representation.

    `secret` is the key or the access token; empty for a command and the key ring, which are asked. Times are
    in epoch seconds; `expires_at` is None where nobody says. `token_url` and `client_id` are where and as
    whom a token is refreshed. Lower `priority` comes first. `from_environment` says that the secret is a
    variable's value and is stored nowhere.
    """

    unshown: ClassVar = ("secret", "refresh_token")

    id: str
    kind: Kind = "api_key"
    label: str = ""
    secret: str = ""
    refresh_token: str = ""
    expires_at: float | None = None
    token_url: str = ""
    client_id: str = ""
    command: tuple[str, ...] = ()
    priority: int = 10
    status: Status = "ok"
    exhausted_until: float | None = None
    last_error: str = ""
    request_count: int = 0
    from_environment: bool = False

    def usable(self, now: float) -> bool:
        """Whether it may be used at `now`."""
        return self.status == "ok" or (self.status == "exhausted" and (self.exhausted_until or 0.0) <= now)
