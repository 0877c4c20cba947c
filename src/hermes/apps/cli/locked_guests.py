"""What `agent.lock` has of the code of third parties: plugins, and commands at hook points."""

import json
from typing import Any

from hermes.apps.cli.agent_lock import LockedItem
from hermes.apps.cli.locked_words import PortableWords, written
from hermes.plugins.contents import contents_of
from hermes.plugins.hook_commands import HookChoice, command_hooks, place_of, project_of_work
from hermes.plugins.hook_consent import HookConsent, named_contents
from hermes.plugins.plugged import LoadedPlugin
from hermes.plugins.settings import PluginEntry, PluginSettings, ShellHookSettings
from hermes.runtime import Runtime


def locked_plugins(runtime: Runtime, words: PortableWords) -> dict[str, LockedItem]:
    """Each plugin that is enabled: its version, what it may do, what it adds, and its files."""
    settings = runtime.settings[PluginSettings]
    return {
        one.found.key: words.item(written(_plugin(one, settings.entry(one.found.key))))
        for one in runtime.plugins
        if one.state != "off"
    }


def _plugin(one: LoadedPlugin, entry: PluginEntry) -> dict[str, Any]:
    return {
        "version": one.found.manifest.version if one.found.manifest else "",
        "from": one.found.source,
        "state": one.state,
        "adds": one.provides,
        "may": entry,
        "files": contents_of(one.found),
    }


def locked_hooks(runtime: Runtime, words: PortableWords) -> dict[str, LockedItem]:
    """Each command at a hook point, whether it is run, and the files that it names; whether all are run."""
    chosen = runtime.settings[ShellHookSettings]
    if runtime.settings[PluginSettings].safe_mode:
        return {}
    choice = HookChoice(consent=HookConsent(runtime.home.root), every=chosen.hooks_auto_accept)
    project = project_of_work(runtime.settings)
    found: dict[str, list[dict[str, Any]]] = {}
    for one in command_hooks(chosen.hooks):
        files = named_contents(one.hook, place_of(one, project))
        found.setdefault(words.portable(f"{one.event}: {one.hook.command}"), []).append(
            {"hook": one.hook, "runs": choice.covers(one, project), "files": files}
        )
    named = {name: words.item(written(some)) for name, some in found.items()}
    return {**named, "hooks_auto_accept": words.item(json.dumps(chosen.hooks_auto_accept))}
