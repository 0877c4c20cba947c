"""`hermes auth`: keys and sign-ins of providers: add, list, remove, test, reset. Secrets are never
printed.
"""

import secrets
import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
import click
from msgspec import Struct
from msgspec.structs import replace

from hermes.apps.cli import signin, tables
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import here, to_change
from hermes.commands.plugins_here import with_plugin_providers
from hermes.config.sections import Settings
from hermes.models.auth.credentials import Pool, environment_keys
from hermes.models.auth.probe import probe
from hermes.models.auth.resolver import CredentialUnavailable, SecretResolver
from hermes.models.catalog.catalogue import Provider, known_models, known_providers, models_of, provider
from hermes.models.catalog.endpoint import resolve, with_credential
from hermes.models.client import client_for
from hermes.store.auth import AuthFile
from hermes.types.credential import Credential
from hermes.types.error import ConfigError
from hermes.types.request import Endpoint


class Keys(Struct, frozen=True, kw_only=True):
    """The home's credentials and what they are credentials for."""

    settings: Settings
    environ: Mapping[str, str]
    providers: Mapping[str, Provider]
    auth: AuthFile

    def named(self, name: str) -> Provider:
        """The provider of that name or alias."""
        return provider(name, self.providers)

    def of(self, found: Provider) -> tuple[Credential, ...]:
        """Its credentials, those of the environment included."""
        own = environment_keys(found, self.environ)
        return Pool(
            provider=found.name, keep=self.auth, uniform=lambda low, _high: low, environment=own
        ).entries()

    def one(self, found: Provider, name: str) -> Credential:
        """The stored credential with that id, start of an id, or label; the only one when nothing is
        named.
        """
        stored = [each for each in self.auth.credentials(found.name) if not each.from_environment]
        fitting = [each for each in stored if name in {"", each.id, each.label}] or [
            one for one in stored if one.id.startswith(name)
        ]
        if len(fitting) == 1:
            return fitting[0]
        known = (
            ", ".join(f"{each.id} ({each.label})" if each.label else each.id for each in stored)
            or "none is stored"
        )
        raise ConfigError(f"{found.name} has {'several such' if fitting else 'no such'} credential: {known}.")


def _keys(choices: Choices) -> Keys:
    place = here(choices)
    settings = with_plugin_providers(place.home, place.settings, place.environ)
    return Keys(
        settings=settings,
        environ=place.environ,
        providers=known_providers(settings),
        auth=AuthFile(place.home.auth_file),
    )


@click.group()
def auth() -> None:
    """Keys and sign-ins of providers."""


@auth.command()
@click.argument("provider_name", metavar="PROVIDER")
@click.option("--label", default="", metavar="WORDS", help="What to call it.")
@click.option("--key", default="", metavar="-", help="A dash: the key comes on standard input.")
@click.option(
    "--command",
    default="",
    metavar="COMMAND",
    help="A program that prints the key each time; it runs without a shell.",
)
@click.option("--keyring", is_flag=True, help="Keep the key in the system's key ring.")
@click.option("--device", is_flag=True, help="Sign in with a code that is entered on any device.")
@click.option("--browser", is_flag=True, help="Sign in with a browser on this machine.")
@click.pass_obj
def add(choices: Choices, /, provider_name: str, **given: Any) -> None:
    """Add a key or a sign-in.

    Without an option the provider's own way is taken: signing in where it has that, else the key is asked
    for.
    """
    to_change(choices)
    keys = _keys(choices)
    found = keys.named(provider_name)
    if found.unsupported:
        raise ConfigError(found.unsupported)
    client = partial(client_for, keys.settings, keys.environ)
    made = signin.credential(found, signin.Wanted(**given), secrets.token_hex(3), client)
    keys.auth.add(found.name, made)
    click.echo(
        f"{found.name}: {made.label or made.id} is kept in {keys.auth.path}. Try it with: hermes auth test"
        f" {found.name}"
    )


@auth.command("list")
@tables.lists
@click.pass_obj
def list_credentials(choices: Choices) -> None:
    """Every credential, how it fares and how often it was used."""
    keys = _keys(choices)
    now = time.time()  # noqa: TID251  # the user's own time
    rows = [_row(found.name, each, now) for found in keys.providers.values() for each in keys.of(found)]
    if not rows:
        click.echo(
            "There is no key yet; hermes auth add PROVIDER adds one, hermes models list shows the providers.",
            err=True,
        )
        return
    tables.show(rows, head=("PROVIDER", "CREDENTIAL", "LABEL", "KIND", "USES", "STATE"))


@auth.command()
@click.argument("provider_name", metavar="PROVIDER")
@click.argument("credential", default="")
@click.pass_obj
def remove(choices: Choices, provider_name: str, credential: str) -> None:
    """Remove a stored credential, by id or label."""
    to_change(choices)
    keys = _keys(choices)
    found = keys.named(provider_name)
    gone = keys.one(found, credential)
    keys.auth.remove(found.name, gone.id)
    if gone.kind == "keyring":
        signin.forget_in_keyring(found.name, gone)
    click.echo(f"{found.name}: {gone.label or gone.id} is removed from {keys.auth.path}")


@auth.command()
@click.argument("provider_name", metavar="[PROVIDER]", default="")
@click.pass_obj
def reset(choices: Choices, provider_name: str) -> None:
    """Let credentials that rest be used again, of one provider or of all."""
    to_change(choices)
    keys = _keys(choices)
    names = [keys.named(provider_name).name] if provider_name else list(keys.providers)
    rested = [(name, one) for name in names for one in keys.auth.credentials(name) if one.status != "ok"]
    for name, each in rested:
        keys.auth.change(
            name, each.id, lambda one: replace(one, status="ok", exhausted_until=None, last_error="")
        )
    click.echo(f"{len(rested)} credential{'' if len(rested) == 1 else 's'} may be used again.")


@auth.command("test")
@click.argument("provider_name", metavar="PROVIDER")
@click.pass_obj
def test_credentials(choices: Choices, provider_name: str) -> None:
    """Try each credential of a provider at the provider. Exit code 1 when one is refused."""
    keys = _keys(choices)
    found = keys.named(provider_name)
    if not anyio.run(_all_work, keys, found):
        sys.exit(1)


async def _all_work(keys: Keys, found: Provider) -> bool:
    entries = keys.of(found) or (Credential(id="none", label="without a key"),)
    if entries[0].id == "none" and not found.keyless:
        raise ConfigError(f"{found.name} has no key; add one with: hermes auth add {found.name}")
    endpoint = resolve(
        keys.settings, keys.environ, model=f"{found.name}/{_some_model(keys, found)}", stored={found.name}
    )
    verdicts = []
    async with client_for(keys.settings, keys.environ) as http:
        for each in entries:
            resolver = SecretResolver(http=http, keep=keys.auth, environ=keys.environ, now=time.time)  # noqa: TID251  # the user's own time
            fault = await _fault(resolver, endpoint, found, each)
            click.echo(
                f"{'✗' if fault else '✓'} {found.name} {each.label or each.id}:"
                f" {fault or f'taken by {endpoint.base_url}'}"
            )
            verdicts.append(not fault)
    return all(verdicts)


async def _fault(
    resolver: SecretResolver, endpoint: Endpoint, found: Provider, credential: Credential
) -> str:
    try:
        opened = await resolver.open(found.name, credential)
    except CredentialUnavailable as error:
        return str(error)
    failure = await probe(resolver.http, with_credential(endpoint, opened.secret), now=resolver.now())
    return f"{failure.message} ({failure.status or failure.reason})" if failure else ""


def _some_model(keys: Keys, found: Provider) -> str:
    known = models_of(found.name, known_models(keys.settings))
    return found.small or next((one.id for one in known), "default")


def _row(name: str, each: Credential, now: float) -> tuple[str, ...]:
    where = "environment" if each.from_environment else each.id
    return name, where, each.label, each.kind, f"{each.request_count} uses", _state(each, now)


def _state(credential: Credential, now: float) -> str:
    if credential.status == "dead":
        return f"dead: {credential.last_error or 'refused for good'}"
    if not credential.usable(now):
        return f"rests {_span((credential.exhausted_until or now) - now)}: {credential.last_error}"
    return "ok"


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
