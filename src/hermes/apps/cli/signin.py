"""Getting a credential from a person: a key that is typed or piped, a command, the key ring, or signing
in.
"""

import secrets
import shlex
import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import anyio
import click
import httpx2
from msgspec import Struct

from hermes.lib.lazy import import_object
from hermes.lib.visible import visible
from hermes.models.auth import oauth
from hermes.models.auth.resolver import KEYRING_SERVICE
from hermes.models.catalog.catalogue import Provider
from hermes.types.credential import Credential
from hermes.types.error import ConfigError

Client = Callable[[], AbstractAsyncContextManager[httpx2.AsyncClient]]


class Wanted(Struct, frozen=True, kw_only=True):
    """What `hermes auth add` was told; `key` is a dash for standard input or empty."""

    label: str = ""
    key: str = ""
    command: str = ""
    keyring: bool = False
    device: bool = False
    browser: bool = False

    @property
    def flow(self) -> str:
        """The sign-in that was asked for by name."""
        return "device_code" if self.device else "pkce" if self.browser else ""


def credential(provider: Provider, wanted: Wanted, id_: str, client: Client) -> Credential:
    """A new credential; ConfigError or SignInError says in a sentence why there is none.

    `client` makes the HTTP client for signing in.
    """
    if sum(map(bool, (wanted.key, wanted.command, wanted.keyring, wanted.flow))) > 1:
        raise ConfigError("Give one of --key, --command, --keyring, --device and --browser.")
    made = Credential(id=id_, label=wanted.label)
    if wanted.command:
        return _of_command(made, wanted.command)
    if wanted.keyring:
        return _in_keyring(provider, made)
    flow = wanted.flow or (
        "" if wanted.key or provider.kind not in {"device_code", "pkce"} else provider.kind
    )
    if flow:
        return _signed_in(provider, made, flow, client)
    if wanted.key and wanted.key != "-":
        raise ConfigError(
            "A key on the command line stays in the shell's history; write --key - and pipe it in, or leave"
            " --key out."
        )
    return _with(made, secret=_typed(provider))


def _with(made: Credential, *, secret: str) -> Credential:
    return Credential(id=made.id, label=made.label, secret=secret)


def _typed(provider: Provider) -> str:
    if sys.stdin.isatty():
        where = f" (from {provider.signup})" if provider.signup else ""
        text = click.prompt(f"Key for {provider.name}{where}", hide_input=True, err=True)
    else:
        text = sys.stdin.readline()
    if not text.strip():
        pipe = f"Pipe it in (hermes auth add {provider.name} < FILE), or run this in a terminal, which asks."
        raise ConfigError(f"There is no key on standard input. {provider.how or pipe}")
    return str(text).strip()


def _of_command(made: Credential, command: str) -> Credential:
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise ConfigError(f"--command cannot be read as words ({error}).") from error
    if not words:
        raise ConfigError(
            "--command is empty; give a program that prints the key, such as 'pass show openrouter'."
        )
    return Credential(id=made.id, label=made.label, kind="command", command=words)


def _in_keyring(provider: Provider, made: Credential) -> Credential:
    keep = import_object("keyring:set_password", extra="keyring")
    key = _typed(provider)
    try:
        keep(KEYRING_SERVICE, f"{provider.name}/{made.id}", key)
    except import_object("keyring.errors:KeyringError") as error:
        raise ConfigError(
            f"The system's key ring did not take the key ({type(error).__name__}); leave out --keyring."
        ) from error
    return Credential(id=made.id, label=made.label, kind="keyring")


def forget_in_keyring(provider: str, gone: Credential) -> None:
    """Take a key out of the key ring, if it is still there."""
    try:
        import_object("keyring:delete_password", extra="keyring")(KEYRING_SERVICE, f"{provider}/{gone.id}")
    except import_object("keyring.errors:KeyringError"):
        return


def _signed_in(provider: Provider, made: Credential, flow: str, client: Client) -> Credential:
    lacking = oauth.missing(provider.sign_in, flow)
    if lacking:
        other = f", or give a key: hermes auth add {provider.name} --key -" if provider.keys else ""
        raise ConfigError(
            f"Signing in to {provider.name} needs {lacking}, which is not published; set it with: "
            f"hermes config set providers.{provider.name}.sign_in.{lacking} VALUE{other}."
        )
    found = anyio.run(_tokens, provider, flow, client)
    return Credential(
        id=made.id,
        label=made.label,
        kind="oauth",
        secret=found.access,
        refresh_token=found.refresh,
        expires_at=found.expires_at,
        token_url=provider.sign_in.token_url,
        client_id=provider.sign_in.client_id,
    )


async def _tokens(provider: Provider, flow: str, client: Client) -> oauth.Tokens:
    async with client() as http:
        tools = oauth.Tools(http=http, now=time.time, random=secrets.token_bytes)  # noqa: TID251  # the user's own time
        if flow == "device_code":
            return await oauth.device_code(tools, provider.sign_in, _show_code)
        return await oauth.browser(tools, provider.sign_in, _show_address)


def _show_code(prompt: oauth.DevicePrompt) -> None:
    whole = f"\nor open {prompt.whole_url}" if prompt.whole_url else ""
    click.echo(visible(f"Open {prompt.url} and enter the code {prompt.code}{whole}"), err=True)


def _show_address(address: str) -> None:
    click.echo(f"Open this address in a browser on this machine:\n{address}", err=True)
    if sys.stdin.isatty():
        click.launch(address)
