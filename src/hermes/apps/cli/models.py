"""`hermes models`: providers, local models, and fetching them."""

import anyio
import click

from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.progress import fetch
from hermes.config.environ import environment, with_dotenv
from hermes.config.home import locate
from hermes.models.catalogue import Provider, providers
from hermes.models.endpoint import local
from hermes.models.local import catalogue
from hermes.runtime import model_cache, open_runtime


@click.group()
def models() -> None:
    """Providers and local models."""


@models.command("list")
@click.pass_obj
def list_models(choices: Choices) -> None:
    """Models, and what each still needs."""
    environ = environment()
    environ = with_dotenv(environ, locate(environ, choices.profile).env_file)
    cache = model_cache(environ)
    default = catalogue.default().alias
    here = [
        (
            f"local/{one.alias}",
            _state(one, default, fetched=catalogue.location(one, cache).is_file()),
            f"{one.size / 1e6:,.0f} MB, {one.licence}",
        )
        for one in catalogue.entries()
    ]
    hosted = [(f"{one.name}/…", _key_state(one, environ), one.base_url) for one in providers().values()]
    tables.show([*here, *hosted], head=("MODEL", "STATE", "WHERE"))


@models.command()
@click.argument("alias", required=False, default="")
@click.pass_obj
def pull(choices: Choices, alias: str) -> None:
    """Fetch a local model into the cache.

    It goes on where it stopped, and checks the file's hash.
    """
    anyio.run(_pull, choices.profile, alias)


async def _pull(profile: str, alias: str) -> None:
    async with open_runtime(profile=profile) as runtime:
        await fetch(runtime, local(alias.removeprefix("local/")))
        found = catalogue.find(alias.removeprefix("local/")) if alias else catalogue.default()
        click.echo(catalogue.location(found, runtime.model_cache) if isinstance(found, catalogue.LocalModel) else found)


def _state(one: catalogue.LocalModel, default: str, *, fetched: bool) -> str:
    words = "ready" if fetched else "not fetched"
    return f"{words}, default" if one.alias == default else words


def _key_state(one: Provider, environ: dict[str, str]) -> str:
    if one.keyless:
        return "needs no key"
    return "key set" if any(environ.get(name) for name in one.keys) else f"needs {one.keys[0]}"
