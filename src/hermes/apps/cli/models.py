"""`hermes models`: what can answer here, what it costs, and fetching local models."""

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import click
from msgspec import Struct

from hermes.agent.spec import SessionOptions
from hermes.apps.cli import tables, values
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import here
from hermes.apps.cli.own_server import listed_window, own_server
from hermes.apps.cli.progress import fetch
from hermes.commands.model_choices import listed_by_plugin
from hermes.commands.plugins_here import with_plugin_providers
from hermes.composition import model_cache
from hermes.config.sections import Settings
from hermes.lib.aio import collect
from hermes.models.catalog.catalogue import (
    Model,
    Provider,
    address,
    key_of,
    known_models,
    known_providers,
    model_of,
    models_of,
    profile_of,
    provider,
    search,
    window_of,
)
from hermes.models.catalog.endpoint import LOCAL, RULES, local, protocol_of
from hermes.models.local import catalogue
from hermes.models.local.serving import has_engine
from hermes.models.local.windows import available_memory
from hermes.models.settings import ModelSettings, ProviderSettings
from hermes.models.transports.base import UnshapedError
from hermes.runtime import Runtime, open_runtime
from hermes.store.auth import AuthFile
from hermes.types.error import ConfigError
from hermes.types.request import CUSTOM

AT_ONCE: Final = 8
"""Plugins that are asked for models side by side."""


class Shelf(Struct, frozen=True, kw_only=True):
    """Everything that a list of models is made of."""

    settings: Settings
    environ: Mapping[str, str]
    providers: Mapping[str, Provider]
    models: Mapping[str, Model]
    auth: AuthFile

    @property
    def stored(self) -> frozenset[str]:
        """The providers that have credentials in auth.json."""
        return frozenset(self.auth.providers())

    def state(self, found: Provider) -> str:
        """Whether a provider can be used now, or what it still needs."""
        name, key = key_of(found, self.environ)
        if key:
            return f"key in {name}"
        if found.name in self.stored:
            return "signed in" if found.kind in {"device_code", "pkce"} else "key stored"
        if found.key_command:
            return "key by command"
        if found.keyless:
            return "needs no key"
        return f"needs {found.keys[0]}" if found.keys else f"needs hermes auth add {found.name}"

    def usable(self, found: Provider) -> bool:
        """Whether it has what it needs; whether it answers is another matter."""
        return not (found.unsupported or self.state(found).startswith("needs ")) or found.own


def shelf(choices: Choices) -> Shelf:
    """What is known under the home in force."""
    place = here(choices)
    settings = with_plugin_providers(place.home, place.settings, place.environ)
    return Shelf(
        settings=settings,
        environ=place.environ,
        providers=known_providers(settings),
        models=known_models(settings),
        auth=AuthFile(place.home.auth_file),
    )


@click.group()
def models() -> None:
    """Providers and models."""


@models.command("list")
@tables.lists
@click.option(
    "--all", "everything", is_flag=True, help="The known models of every provider, with or without a key."
)
@click.pass_obj
# Click hands options over by name
def list_models(choices: Choices, everything: bool) -> None:  # noqa: FBT001
    """Models that can be used here, and what the other providers still need."""
    known = shelf(choices)
    shown = [one for one in known.providers.values() if everything or _has_key(known, one)]
    listed = anyio.run(_listed, known, [one for one in shown if _has_key(known, one)])
    models = [_row(known, one) for found in shown for one in _models_of(known, found, listed)]
    hosted = [
        (f"{one.name}/…", known.state(one), one.unsupported or known_address(one, known.environ))
        for one in known.providers.values()
    ]
    tables.show([*_here(known.environ), *models, *hosted], head=("MODEL", "STATE", "WHERE"))


@models.command("search")
@tables.lists
@click.argument("words", nargs=-1, required=True)
@click.pass_obj
def search_models(choices: Choices, words: tuple[str, ...]) -> None:
    """Known models whose name has all the WORDS in it."""
    known = shelf(choices)
    found = search(words, known.models.values())
    if not found:
        raise ConfigError(
            f"No known model is called {' '.join(words)!r}; a provider may have it all the same, as"
            " provider/name."
        )
    tables.show([_row(known, one) for one in found], head=("MODEL", "STATE", "TOKENS AND PRICE"))


@models.command()
@click.argument("name", shell_complete=values.of("models"))
@click.pass_obj
def info(choices: Choices, name: str) -> None:
    """What is known of one model, PROVIDER/MODEL, and where each value comes from."""
    known = shelf(choices)
    prefix, _, id_ = name.partition("/")
    if not id_:
        raise ConfigError(
            f"{name!r} names no provider; write provider/{name}. hermes models search {name} shows who"
            " has it."
        )
    if prefix == LOCAL and LOCAL not in known.providers:
        tables.show(_local_facts(id_), head=("WHAT", "VALUE", "FROM"))
        return
    if prefix == CUSTOM and CUSTOM not in known.providers:
        found = own_server(id_, choices.base_url, known.settings)
        listed = anyio.run(listed_window, here(choices).home, known.settings, known.environ, found, id_)
    else:
        found, listed = provider(prefix, known.providers), 0
    tables.show(list(_facts(known, found, id_, listed)), head=("WHAT", "VALUE", "FROM"))


@models.command()
@tables.lists
@click.argument("alias", required=False, default="")
@click.pass_obj
def pull(choices: Choices, alias: str) -> None:
    """Fetch a local model into the cache; without ALIAS, list them.

    ALIAS is one of the list, `default`, or `auto` for the largest one that fits into this machine's memory.
    A download goes on where it stopped, and the file's digest is checked. Then the model reads what every
    session begins with, so that the first answer does not wait for that.
    """
    if not alias:
        tables.show(_local(model_cache(here(choices).environ)), head=_PULL_HEAD)
        return
    anyio.run(_pull, choices.profile, alias.removeprefix("local/"))


def _local_facts(alias: str) -> list[tuple[str, str, str]]:
    found = catalogue.find(alias)
    if isinstance(found, Path):
        return [("file", str(found), "--model")]
    return [
        ("name", found.name, "local_models.toml"),
        ("download", f"{found.size / 1e9:.1f} GB", "local_models.toml"),
        ("memory", f"{found.memory / 1e9:.1f} GB with its longest window", "local_models.toml"),
        ("licence", found.licence, "local_models.toml"),
    ]


_PULL_HEAD: Final = ("MODEL", "DOWNLOAD", "MEMORY", "STATE", "LICENCE")


def _local(cache: Path) -> list[tuple[str, ...]]:
    """What each local model takes, and whether it is here, fits and would be taken."""
    room, best = available_memory(), catalogue.find(catalogue.AUTO)
    return [
        (
            one.alias,
            f"{one.size / 1e9:.1f} GB",
            f"{one.memory / 1e9:.1f} GB{'' if one.memory <= room else ' (too much here)'}",
            f"{_state(one, cache)}{', auto' if one == best else ''}",
            one.licence,
        )
        for one in catalogue.entries()
    ]


async def _pull(profile: str, alias: str) -> None:
    found = catalogue.default() if alias == "default" else catalogue.find(alias)
    async with open_runtime(profile=profile) as runtime:
        if isinstance(found, catalogue.LocalModel):
            await fetch(runtime, local(found.alias))
            await _read_instructions(runtime, found)
            found = catalogue.location(found, runtime.model_cache)
        click.echo(found)


async def _read_instructions(runtime: Runtime, model: catalogue.LocalModel) -> None:
    """What the first session would wait for is done now, where the model can run."""
    if not has_engine() or model.memory > available_memory():
        return
    click.echo("Reading its instructions once, so that first answers come soon …", err=True)
    session = await runtime.session(SessionOptions(model=f"{LOCAL}/{model.alias}"))
    await runtime.services.routes.prepare(session)


def _here(environ: Mapping[str, str]) -> list[tuple[str, str, str]]:
    cache = model_cache(environ)
    return [
        (
            f"local/{one.alias}",
            _state(one, cache),
            f"{one.size / 1e6:,.0f} MB, {one.licence}",
        )
        for one in catalogue.entries()
    ]


def _state(one: catalogue.LocalModel, cache: Path) -> str:
    words = "ready" if catalogue.location(one, cache).is_file() else "not fetched"
    return f"{words}, default" if one == catalogue.default() else words


def _has_key(known: Shelf, found: Provider) -> bool:
    return known.usable(found) and (not found.keyless or found.own)


def _row(known: Shelf, model: Model) -> tuple[str, str, str]:
    owner = known.providers.get(model.provider)
    window = model.window or window_of(model.family or model.id)
    return (
        model.name,
        known.state(owner) if owner else "no such provider",
        f"{window // 1000:,}k tokens, {_price(model)}",
    )


async def _listed(known: Shelf, asked: Collection[Provider]) -> dict[str, tuple[str, ...]]:
    """What plugins list of their providers' models, by provider; on stderr why one cannot."""

    async def ask(found: Provider) -> tuple[str, ...]:
        try:
            return await listed_by_plugin(found, known.environ, known.auth)
        except UnshapedError as error:
            click.echo(str(error), err=True)
            return ()

    asked = [one for one in asked if one.code is not None]
    names = await collect([partial(ask, one) for one in asked], limit=AT_ONCE)
    return {one.name: each for one, each in zip(asked, names, strict=True)}


def _models_of(known: Shelf, found: Provider, listed: Mapping[str, tuple[str, ...]]) -> list[Model]:
    """The models of a provider: those that its plugin lists, else the known ones."""
    names = listed.get(found.name)
    return (
        [model_of(found.name, one, known.models) for one in names]
        if names
        else models_of(found.name, known.models)
    )


def _price(model: Model) -> str:
    return f"${model.price.input:g} in, ${model.price.output:g} out" if model.price else "price not known"


def _facts(known: Shelf, found: Provider, id_: str, listed: int) -> Iterator[tuple[str, str, str]]:
    """What, value and where it is known from; `listed` is the window that the server tells."""
    model = model_of(found.name, id_, known.models)
    plugin = f"the plugin {found.code.plugin}" if found.code else ""
    table = "config.yaml" if model.own else "models.toml"
    ours = found.name in known.settings[ProviderSettings].providers or found.own
    provider_table = (
        "--base-url or config.yaml"
        if found.name == CUSTOM
        else plugin or ("config.yaml" if ours else "providers.toml")
    )
    family = model.family or profile_of(id_, found.name).family
    yield "model", f"{found.name}/{id_}", ""
    yield "provider", found.title or found.name, provider_table
    yield "address", known_address(found, known.environ), provider_table
    yield "protocol", *_protocol(found, known.environ, id_)
    yield "family", family or "not known", table if model.family else "families.toml, by the name"
    yield "window", *_window(known, model, listed)
    yield (
        "longest reply",
        f"{model.max_output:,} tokens" if model.max_output else "the provider decides",
        table if model.max_output else "",
    )
    yield (
        "price",
        _all_prices(model),
        f"{table}, US dollars for a million tokens" if model.price else "set models in config.yaml",
    )
    yield "key", known.state(found), "the environment, .env or auth.json"


def _window(known: Shelf, model: Model, listed: int) -> tuple[str, str]:
    table = "config.yaml" if model.own else "models.toml"
    by_name = "families.toml, by the name" if profile_of(model.id).family else "assumed: nobody told"
    told = (
        (known.settings[ModelSettings].context_window, "model.context_window"),
        (listed, "the server"),
        (model.window, table),
        (window_of(model.family or model.id), "families.toml" if model.family else by_name),
    )
    return next((f"{window:,} tokens", source) for window, source in told if window)


def _all_prices(model: Model) -> str:
    price = model.price
    if price is None:
        return "not known"
    parts = (
        ("input", price.input),
        ("output", price.output),
        ("cache read", price.cache_read),
        ("cache write", price.cache_write),
    )
    return ", ".join(f"{words} {value:g}" for words, value in parts if value is not None)


def known_address(found: Provider, environ: Mapping[str, str]) -> str:
    """The provider's address, or the sentence that says what it still needs."""
    try:
        return address(found, environ)
    except ConfigError as error:
        return str(error)


def _protocol(found: Provider, environ: Mapping[str, str], id_: str) -> tuple[str, str]:
    place = known_address(found, environ)
    told = (
        "by the provider"
        if found.protocol
        else "by the address"
        if any(rule.fits(place, id_) for rule in RULES)
        else "the usual one"
    )
    return protocol_of(found, place, id_), told
