"""`hermes plugins install` and what belongs to it: plugins from elsewhere, shown before they are put in their
place. Nothing of one is run before it is enabled.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from hermes.apps.cli import values
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import agreed, here, to_change
from hermes.apps.settings import edit
from hermes.composition import SYSTEM_PORTS
from hermes.lib.visible import one_line
from hermes.plugins.contents import contents, differences
from hermes.plugins.installed import InstalledPlugins, PluginCandidate, plugin_in
from hermes.skills.digest import digest
from hermes.skills.hubs.repository import Cloning, fetched
from hermes.skills.sources import SkillSource, source_of
from hermes.types.error import HermesError, PluginError, SkillError


@click.command()
@click.argument("where")
@click.option("--enable", is_flag=True, help="Have it loaded in sessions that begin from now on.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def install(choices: Choices, where: str, *, enable: bool, yes: bool) -> None:
    """Bring a plugin from WHERE: a folder, owner/repository/path of GitHub, or the https address of a git
    repository with #path. Nothing of it is run before hermes plugins enable.
    """
    home = to_change(choices)
    with _candidate(choices, where) as one:
        _tell(one)
        if not (yes or agreed(f"Install it from {one.source}?", "installs")):
            click.echo("Nothing was installed.")
            return
        name = one.manifest.name
        if not (home.plugins / name).exists():  # a yes to an earlier one of that name is none to this one
            edit.remove_from_list(home.config_file, "plugins.enabled", name)
        place = _installed(choices).install(one, at=SYSTEM_PORTS.now())
        if enable:
            enable_in(home.config_file, name)
        more = (
            "It is loaded in sessions that begin now."
            if enable
            else f"hermes plugins enable {name} has it loaded."
        )
        click.echo(f"Installed in {place}. {more}")


@click.command()
@click.argument("names", nargs=-1, shell_complete=values.of("installed_plugins"))
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def update(choices: Choices, names: Sequence[str], *, yes: bool) -> None:
    """Bring installed plugins up to date with their sources, each after a yes to what has changed."""
    to_change(choices)
    known = _installed(choices).every()
    if missing := [name for name in names if name not in known]:
        raise PluginError(f"No plugin {', '.join(missing)} was installed.", plugin=missing[0], phase="update")
    for name in names or known:
        try:
            click.echo(f"{name}: {_updated(choices, name, known[name].source, yes=yes)}")
        except HermesError as error:
            click.echo(one_line(f"{name}: {error}"), err=True)


@click.command()
@click.argument("name", shell_complete=values.of("installed_plugins"))
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def remove(choices: Choices, name: str, *, yes: bool) -> None:
    """Remove a plugin's folder, and what the settings let it do."""
    home = to_change(choices)
    if not (yes or agreed(f"Remove {name}?", "removes")):
        click.echo("Nothing was removed.")
        return
    _installed(choices).remove(name)
    edit.remove_from_list(home.config_file, "plugins.enabled", name)
    edit.take_from(home.config_file, ("plugins", "entries", name))
    click.echo(f"{name} is gone.")


def enable_in(config_file: Path, name: str) -> None:
    """Have the settings name a plugin among those that are loaded."""
    edit.remove_from_list(config_file, "plugins.disabled", name)
    edit.append_to_list(config_file, "plugins.enabled", name)


def _updated(choices: Choices, name: str, source: str, *, yes: bool) -> str:
    installed = _installed(choices)
    with _candidate(choices, source) as fresh:
        if fresh.manifest.name != name:
            words = f"at its source it is called {fresh.manifest.name} now; install that by its name."
            raise PluginError(words, plugin=name, phase="update")
        if installed.is_changed(name, SYSTEM_PORTS.token()):
            words = "it was changed here since it was installed; remove it first."
            raise PluginError(words, plugin=name, phase="update")
        if digest(fresh.folder) == installed.every()[name].digest:
            return "up to date"
        _tell_changes(fresh, installed.folder / name)
        if not (yes or agreed(f"Update {name}?", "updates")):
            return "left as it is"
        installed.install(fresh, at=SYSTEM_PORTS.now())
        return "updated"


@contextmanager
def _candidate(choices: Choices, where: str) -> Iterator[PluginCandidate]:
    source = _source(where)
    with fetched(source, Cloning(environ=here(choices).environ)) as top:
        folder = plugin_in(top, source.path)
        with _installed(choices).candidate(folder, SYSTEM_PORTS.token(), origin=source.words) as one:
            yield one


def _source(where: str) -> SkillSource:
    try:
        return source_of(where)
    except SkillError as error:
        words = (
            f"{where[:200]!r} is no place of plugins: name a folder, owner/repository/path of GitHub, or the"
            " https address of a git repository, with #path for one of its plugins."
        )
        raise PluginError(words, plugin=where, phase="install") from error


def _installed(choices: Choices) -> InstalledPlugins:
    home = here(choices).home
    return InstalledPlugins(home.plugins, home.plugin_quarantine)


def _tell_changes(fresh: PluginCandidate, folder: Path) -> None:
    """Which files are others than those that are there, or are there alone."""
    told = differences(contents(folder), contents(fresh.folder))
    click.echo(one_line(f"{fresh.manifest.name} {fresh.manifest.version}: {told}"))


def _tell(one: PluginCandidate) -> None:
    """What the plugin says of itself, and its files."""
    manifest = one.manifest
    click.echo(one_line(f"{manifest.name} {manifest.version}: {manifest.description}"))
    for name, some in (
        ("author", [manifest.author]),
        ("needs", manifest.requires_env),
        ("tools", manifest.provides_tools),
        ("hooks", manifest.provides_hooks),
    ):
        if any(some):
            click.echo(one_line(f"{name}: {', '.join(some)}"))
    click.echo("files: " + ", ".join(one_line(path) for path in one.files))
