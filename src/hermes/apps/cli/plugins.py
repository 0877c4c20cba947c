"""`hermes plugins`: third parties' code: what is there, what of it runs, and what it adds."""

from pathlib import Path
from typing import Final

import click
import msgspec

from hermes.apps.cli import tables, values
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import Here, agreed, here, to_change
from hermes.apps.cli.plugin_installs import enable_in, install, remove, update
from hermes.apps.settings import edit
from hermes.commands.plugins_here import PluginsHere, plugins_here
from hermes.lib.nearest import nearest
from hermes.lib.removal import remove_folder
from hermes.lib.visible import one_line, visible
from hermes.plugins.contents import contents, diff, differences
from hermes.plugins.plugged import LoadedPlugin
from hermes.plugins.project_plugins import ProjectPlugins
from hermes.plugins.settings import PluginSettings
from hermes.types.error import ConfigError

_SHOWN: Final = 400
"""Lines of a difference that are shown."""


@click.group()
def plugins() -> None:
    """Third parties' code: what is there, what of it runs, and what it adds."""


@plugins.command("list")
@tables.lists
@click.pass_obj
def list_plugins(choices: Choices) -> None:
    """Every plugin, whether it is enabled, and what it adds; what is wrong with one stands on stderr."""
    found = _loaded(here(choices), choices)
    for told in found.faults:
        click.echo(visible(f"hermes: {told}"), err=True)
    if not found.plugins:
        click.echo("There are no plugins; hermes plugins install WHERE brings one.", err=True)
        return
    rows = [(one.found.key, one.state, one.found.source, _version(one), _adds(one)) for one in found.plugins]
    tables.show(rows, head=("NAME", "STATE", "FROM", "VERSION", "WHAT IT ADDS"))


@plugins.command()
@click.argument("name", shell_complete=values.of("plugins"))
@click.pass_obj
def show(choices: Choices, name: str) -> None:
    """What a plugin says of itself, what it adds, and what is wrong with it."""
    one = _named(_loaded(here(choices), choices), name)
    manifest = msgspec.to_builtins(one.found.manifest) if one.found.manifest else {"key": one.found.key}
    told = {**manifest, "state": one.state, "adds": one.provides, "faults": one.faults}
    for key, value in told.items():
        words = ", ".join(value) if isinstance(value, list | tuple) else str(value)
        if words:
            click.echo(visible(f"{key}: {words}"))


@plugins.command()
@click.argument("name", shell_complete=values.of("plugins"))
@click.option("--allow-tool-override", is_flag=True, help="Let it replace tools from elsewhere.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask about files that were changed.")
@click.pass_obj
def enable(choices: Choices, name: str, *, allow_tool_override: bool, yes: bool) -> None:
    """Have a plugin loaded in sessions that begin from now on; of one of a project that was changed since
    it was enabled, that is shown first.
    """
    home, found = to_change(choices), here(choices)
    one = _named(_off(found), name)
    if one.found.fault:
        raise ConfigError(f"{name} cannot be used: {one.found.fault}")
    if one.found.source == "project":
        copies, folder = ProjectPlugins(home.project_plugins), Path(one.found.path)
        fresh = copies.copy(folder)
        if _is_changed(copies.known(folder), fresh) and not (yes or agreed(f"Enable {name}?", "enables")):
            remove_folder(fresh)
            click.echo("Nothing was changed.")
            return
        copies.take(folder, fresh)
    enable_in(home.config_file, name)
    if allow_tool_override:
        edit.put_at(home.config_file, ("plugins", "entries", name, "allow_tool_override"), value=True)
    click.echo(f"{name} is enabled; it is loaded in sessions that begin now.")


@plugins.command()
@click.argument("name", shell_complete=values.of("plugins"))
@click.pass_obj
def disable(choices: Choices, name: str) -> None:
    """Have a plugin loaded no more."""
    if not edit.remove_from_list(to_change(choices).config_file, "plugins.enabled", name):
        raise ConfigError(f"{name} is not enabled.")
    click.echo(f"{name} is off in sessions that begin now.")


for command in (install, update, remove):
    plugins.add_command(command)


def _is_changed(before: Path | None, now: Path) -> bool:
    """Whether the files are others than those of the copy, which is shown."""
    told = differences(contents(before), contents(now)) if before else ""
    if before and told:
        click.echo(one_line(f"since it was enabled: {told}"))
        lines = [visible(line) for line in diff(before, now)]
        click.echo("\n".join(lines[:_SHOWN]))
        if len(lines) > _SHOWN:
            click.echo(f"({len(lines) - _SHOWN} more lines)")
    return bool(told)


def _loaded(found: Here, choices: Choices) -> PluginsHere:
    settings = found.settings
    if choices.safe_mode:
        settings = settings.replace(PluginSettings(safe_mode=True))
    return plugins_here(found.home, settings, found.environ)


def _off(found: Here) -> PluginsHere:
    """The plugins without any of them being run."""
    chosen = found.settings[PluginSettings]
    off = msgspec.structs.replace(chosen, safe_mode=True)
    return plugins_here(found.home, found.settings.replace(off), found.environ)


def _named(found: PluginsHere, name: str) -> LoadedPlugin:
    for one in found.plugins:
        if one.found.key == name:
            return one
    near = nearest(name, [one.found.key for one in found.plugins])
    hint = f"did you mean {near[0]}?" if near else "hermes plugins list shows those that are there."
    raise ConfigError(f"There is no plugin {name[:80]!r}; {hint}")


def _version(one: LoadedPlugin) -> str:
    return one.found.manifest.version if one.found.manifest else ""


def _adds(one: LoadedPlugin) -> str:
    """What it adds; of one that is loaded and adds nothing, what was refused of it."""
    return "; ".join(one.provides or one.faults if one.state == "loaded" else ()) or _about(one)


def _about(one: LoadedPlugin) -> str:
    return one_line(one.found.manifest.description) if one.found.manifest else ""
