"""`hermes config`: show, explain and change settings."""

from typing import Any

import click
import msgspec

from hermes.apps.cli import tables, values
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import to_change
from hermes.apps.settings import Loaded, edit, known_keys, load, unknown
from hermes.config.environ import environment, with_dotenv
from hermes.config.home import Home, locate
from hermes.config.load import Value
from hermes.config.sections import Known
from hermes.lib.visible import visible
from hermes.safety.redact import redact


@click.group()
def config() -> None:
    """Show, explain and change settings."""


@config.command("list")
@tables.lists
@click.pass_obj
def list_settings(choices: Choices) -> None:
    """Every key, its value and its origin."""
    _, loaded = _loaded(choices)
    rows = [(key, _cell(value.value), value.origin) for key, value in loaded.values.items()]
    tables.show(rows, head=("KEY", "VALUE", "FROM"))
    _warn(loaded)


@config.command()
@click.argument("key", shell_complete=values.of("settings"))
@click.pass_obj
def explain(choices: Choices, key: str) -> None:
    """What a key means, its value and origin; of a section, what each of its keys means."""
    _, loaded = _loaded(choices)
    known = list(known_keys())
    item = next((one for one in known if one.key == key), None)
    if item is not None:
        click.echo(_explained(item, loaded.values[key]))
    elif inside := [one for one in known if one.key.startswith(f"{key}.")]:
        rows = [(one.key, _text(loaded.values[one.key].value), one.description) for one in inside]
        tables.show(rows, head=("KEY", "VALUE", "MEANING"))
    else:
        raise unknown(key)


@config.command()
@click.argument("key", shell_complete=values.of("settings"))
@click.pass_obj
def get(choices: Choices, key: str) -> None:
    """The value of one key."""
    _, loaded = _loaded(choices)
    click.echo(_text(loaded.value_of(key)))


@config.command("set", context_settings={"ignore_unknown_options": True})  # a number may be below zero
@click.argument("key", shell_complete=values.of("settings"))
@click.argument("value")
@click.pass_obj
def set_value(choices: Choices, key: str, value: str) -> None:
    """Set a key, or a secret in .env.

    A name such as OPENAI_API_KEY is a secret and goes to .env; every other key goes to config.yaml.
    """
    home = to_change(choices)
    if edit.is_secret(key):
        edit.set_secret(home.env_file, key, value)
        click.echo(f"{key} is set in {home.env_file}")
        return
    stored = edit.set_key(home.config_file, key, value)
    click.echo(f"{key} = {_text(stored)} in {home.config_file}")


@config.command()
@click.argument("key", shell_complete=values.of("settings"))
@click.pass_obj
def unset(choices: Choices, key: str) -> None:
    """Remove a key; its default is in force."""
    home = to_change(choices)
    if not edit.unset_key(home.config_file, key):
        raise edit.absent(home.config_file, key)
    click.echo(f"{key} is no longer set in {home.config_file}")


@config.command()
@click.pass_obj
def migrate(choices: Choices) -> None:
    """Rename the keys of config.yaml that have another name now."""
    home = to_change(choices)
    renamed = edit.migrate(home.config_file)
    for old, new in renamed:
        click.echo(f"{old} is {new} now")
    if not renamed:
        click.echo(f"Every key in {home.config_file} has its name of today.", err=True)


@config.command()
@click.pass_obj
def path(choices: Choices) -> None:
    """Where config.yaml is."""
    click.echo(locate(environment(), choices.profile).config_file)


def _explained(item: Known, value: Value) -> str:
    """A key, its value and origin, what it means, and where that is no single word, how it is written."""
    told = [
        f"{item.key} = {_text(value.value)}",
        f"from:    {value.origin}",
        f"default: {_text(item.default)}",
        item.description,
    ]
    if isinstance(item.default, list) and (sample := _sample(item)):
        told.append(f"Set it so: hermes config set {item.key} '{_text(sample)}'")
    return "\n  ".join(told)


def _sample(item: Known) -> list[Any]:
    """What a list may hold: its default, else two words where it takes any."""
    if item.default:
        return list(item.default)
    try:
        return list(msgspec.convert(["one", "two"], item.kind))
    except msgspec.ValidationError:
        return []


def _loaded(choices: Choices) -> tuple[Home, Loaded]:
    environ = environment()
    home = locate(environ, choices.profile)
    return home, load(home.config_file, with_dotenv(environ, home.env_file))


def _warn(loaded: Loaded) -> None:
    for warning in loaded.warnings:
        click.echo(f"hermes: {visible(warning)}", err=True)


def _cell(value: object) -> tables.Cell:
    """A value as it is, and as a person reads it, without the secrets in it."""
    text = _text(value)
    shown = redact(text)
    return tables.Cell(value if shown == text else shown, shown)


def _text(value: object) -> str:
    return value if isinstance(value, str) and value else msgspec.json.encode(value).decode()
