"""Load the enabled plugins of a runtime, each by itself: whatever one does wrong is a fault of that one."""

import importlib.util
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib.machinery import all_suffixes
from inspect import signature
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import anyio
from msgspec.structs import replace

from hermes.lib.error_words import error_words
from hermes.lib.lazy import import_object
from hermes.lib.threads import in_thread
from hermes.lib.visible import visible
from hermes.plugins.aliases import Guest, GuestFinder, GuestLoader, PublishedNames
from hermes.plugins.contents import contents
from hermes.plugins.context import PluginContext
from hermes.plugins.discovery import FoundPlugin
from hermes.plugins.host import PluginHost
from hermes.plugins.manifest import FILE
from hermes.plugins.plugged import LoadedPlugin
from hermes.plugins.project_plugins import CHANGED, ProjectPlugins
from hermes.plugins.settings import PluginSettings
from hermes.tools.registry import PLUGIN_MODULES
from hermes.types.ctrl_c import is_ctrl_c
from hermes.types.error import PluginError

_MISSING: Final = "it is enabled, and there is no plugin of that name."
_loads: Final = count(1)
Run = Callable[[FoundPlugin, PluginContext, PluginHost, str], None]


async def load_plugins(
    found: Iterable[FoundPlugin], settings: PluginSettings, host: PluginHost
) -> tuple[LoadedPlugin, ...]:
    """Load those that are enabled, one after the other; nothing of the others is run."""
    found = [*found]
    missing = {*settings.enabled} - {one.key for one in found}
    found += [FoundPlugin(key=key, source="user", path="", fault=_MISSING) for key in sorted(missing)]
    return tuple([await _loaded(one, settings, host) for one in found])


async def made_of(one: FoundPlugin, settings: PluginSettings) -> object:
    """What tells whether a plugin would be loaded otherwise by now: its settings and its files. Of one of the
    home only those that are code: it may keep what it writes beside them. A package stays as it is.
    """
    files = {} if one.package else await in_thread(partial(contents, Path(one.path)))
    if one.source != "project":
        files = {name: told for name, told in files.items() if name.endswith((*all_suffixes(), FILE))}
    return settings.entry(one.key), files


async def _loaded(one: FoundPlugin, settings: PluginSettings, host: PluginHost) -> LoadedPlugin:
    if not settings.is_enabled(one.key):
        return LoadedPlugin(found=one, state="off", fault=one.fault)
    manifest = one.manifest
    if manifest is None:
        return LoadedPlugin(found=one, state="faulty", fault=one.fault)
    made = await made_of(one, settings)
    if one.source == "project":
        accepted = ProjectPlugins(host.home.project_plugins).accepted(Path(one.path))
        if accepted is None:
            return LoadedPlugin(found=one, state="faulty", fault=CHANGED.format(one.key))
        manifest = replace(manifest, path=str(accepted))
        one = replace(one, path=str(accepted), manifest=manifest)
    if missing := [name for name in manifest.requires_env if not host.environ.get(name)]:
        needs = f"it needs {', '.join(missing)}, which is not set."
        return LoadedPlugin(found=one, state="faulty", fault=needs)
    context = PluginContext(manifest, host, settings.entry(one.key))
    run = _isolated if settings.entry(one.key).isolated else _here
    fault = f"it was not loaded within {settings.load_timeout:g} seconds."
    with anyio.move_on_after(settings.load_timeout):
        fault = await in_thread(partial(_fault_of_loading, one, context, host, run))
    if fault:
        context.withdraw()
        return LoadedPlugin(found=one, state="faulty", fault=fault)
    return LoadedPlugin(found=one, state="loaded", context=context, made_of=made)


def _fault_of_loading(one: FoundPlugin, context: PluginContext, host: PluginHost, run: Run) -> str:
    """Run a plugin's `register(ctx)`; what went wrong, or nothing."""
    name = f"{PLUGIN_MODULES}{re.sub(r'[^A-Za-z0-9_]', '_', one.key)}_{next(_loads)}"
    context.after(partial(_forget, name))
    try:
        with host.registry.loading(context.source, name, how_allowed=context.how_allowed) as refused:
            run(one, context, host, name)
        context.refused += refused
    except BaseException as error:  # a plugin's fault stops nothing but itself
        if is_ctrl_c(error):
            raise
        return visible(str(error) if isinstance(error, PluginError) else error_words(error))
    return ""


def _here(one: FoundPlugin, context: PluginContext, host: PluginHost, name: str) -> None:
    """Load a plugin as a module of this process, which is called by that name."""
    names = PublishedNames(Guest(home=host.home, environ=host.environ, context=context))
    package = one.package.module.partition(".")[0] if one.package else name
    context.after(GuestFinder(package, names).install())
    enter(_entry(one, name, names), context, one.key)


def _isolated(one: FoundPlugin, context: PluginContext, host: PluginHost, name: str) -> None:
    """Load a plugin in a process of its own, which ends when it is withdrawn."""
    del name
    if one.manifest is None or one.package:
        words = "a package cannot be isolated; a folder in the plugins of the home can."
        raise PluginError(words, plugin=one.key, phase="load")
    process = import_object("hermes.plugins.isolation:IsolatedPlugin")(one.manifest, host.environ, host.home)
    context.after(process.close)
    process.load(context)


def _entry(one: FoundPlugin, name: str, names: PublishedNames) -> Any:
    """What should be the function that registers what a plugin brings, once the plugin is imported."""
    loaded = one.package.load() if one.package else module_of(Path(one.path), name, names)
    return getattr(loaded, "register", None if isinstance(loaded, ModuleType) else loaded)


def enter(entry: Any, context: Any, key: str) -> None:
    """Have a plugin register what it brings, by a function that need not take the context; PluginError where
    there is none, and importing the plugin has added nothing either.
    """
    if callable(entry):
        entry(*([context] if signature(entry).parameters else []))
    elif not context.has_added:
        raise PluginError("it has no function register(ctx).", plugin=key, phase="load")


def module_of(folder: Path, name: str, names: PublishedNames) -> ModuleType:
    """Import a plugin's folder as a package of this name, whose files import old names."""
    parent = ModuleType(PLUGIN_MODULES.rstrip("."))
    parent.__path__ = []
    sys.modules.setdefault(parent.__name__, parent)
    start = folder / "__init__.py"
    spec = importlib.util.spec_from_file_location(
        name, start, loader=GuestLoader(name, str(start), names), submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None or not start.is_file():
        raise PluginError("it has no __init__.py.", plugin=folder.name, phase="load")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _forget(name: str) -> None:
    for module in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
        del sys.modules[module]
