"""What works in an installation and what does not, told without changing anything."""

import importlib.util
import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import anyio
from msgspec.structs import replace

import hermes.present.settings
import hermes.settings  # noqa: F401  # every section is known before a file is read
from hermes.agent.fact_memory import place
from hermes.agent.memory import MemorySettings
from hermes.agent.memory_provider import ProviderHome, shipped
from hermes.agent.tool_environment import network_of, sandbox_options
from hermes.commands.guests_check import hooks_found, servers_found
from hermes.commands.home_check import what_hinders
from hermes.commands.plugins_here import PluginsHere, plugins_here
from hermes.commands.variables import variables
from hermes.composition import SYSTEM_PORTS, model_cache
from hermes.config.environ import environment, with_dotenv
from hermes.config.home import Home, locate
from hermes.config.load import Loaded, load
from hermes.environments.local_workspace import open_sandbox
from hermes.environments.remote.choose import checkup
from hermes.environments.remote.transport import Origin
from hermes.environments.sandbox.probe import why_none
from hermes.environments.sandbox.sandbox import Sandbox
from hermes.environments.sandbox.sandbox_status import layers
from hermes.environments.settings import TerminalSettings
from hermes.lib.programs import find_program, search_path
from hermes.lib.resources import resources_in_force
from hermes.models.catalog.endpoint import located, resolve
from hermes.models.catalog.plugin_providers import PluginProviders
from hermes.models.local import catalogue
from hermes.present.checkup import CheckResult, State
from hermes.store.auth import AuthFile
from hermes.store.check import check
from hermes.tools.needs import missing_variables
from hermes.tools.registry import ToolRegistry
from hermes.types.error import ConfigError, StoreError
from hermes.types.request import Endpoint

_MENDED: Final = (
    "hermes store repair brings over what can be read, hermes store restore FILE brings back a backup"
)


def examine(profile: str, *, model: str, base_url: str) -> Iterator[CheckResult]:
    """Every finding, in the order a person would look; the model is the one that is asked for, empty for the
    configured one.
    """
    environ = environment()
    yield CheckResult("ok", f"Python {platform.python_version()} on {platform.system()} {platform.machine()}")
    home: Home | None = None
    try:
        home = locate(environ, profile)
        environ = with_dotenv(environ, home.env_file)
        loaded = load(home.config_file, environ)
    except ConfigError as error:
        yield from (CheckResult("fault", line) for line in str(error).splitlines())
        yield from _programs(environ)
        if home is not None:
            yield from _kept(home)
        return
    loaded = replace(loaded, settings=loaded.settings.replace(PluginProviders()))
    added = plugins_here(home, loaded.settings, environ)
    yield from _settings(home, loaded)
    yield _model(home, loaded, environ, model, base_url)
    if loaded.settings[TerminalSettings].backend == "local":
        yield from _sandbox(loaded, environ)
        yield CheckResult("ok", f"resources: {resources_in_force()} in the control groups of commands")
        yield _passed(home, loaded.settings[TerminalSettings], environ)
    else:
        yield _elsewhere(home, loaded.settings[TerminalSettings], environ)
    yield from _programs(environ)
    yield from _kept(home)
    yield from _notes(home, loaded)
    yield _memory(home, loaded, environ, added)
    yield from _hooks(home, loaded, environ)
    yield from servers_found(home, loaded.settings, environ)
    yield from _added(added, environ)


def _settings(home: Home, loaded: Loaded) -> Iterator[CheckResult]:
    there = home.config_file.is_file()
    yield CheckResult(
        "ok", f"settings: {home.config_file}" + ("" if there else " (none, defaults are in force)")
    )
    for told in loaded.warnings:
        yield CheckResult("fault" if told in loaded.ignored else "warning", told)


def _model(home: Home, loaded: Loaded, environ: dict[str, str], model: str, base_url: str) -> CheckResult:
    try:
        stored = AuthFile(home.auth_file).providers()
        with located(loaded.settings, loaded.values["model.default"].origin, model or base_url):
            endpoint = resolve(loaded.settings, environ, model=model, base_url=base_url, stored=stored)
    except (ConfigError, StoreError) as error:
        return CheckResult("fault", str(error))
    if endpoint.local:
        return _local(endpoint, environ)
    return CheckResult("ok", f"model: {endpoint.provider}/{endpoint.model} at {endpoint.base_url}")


def _local(endpoint: Endpoint, environ: dict[str, str]) -> CheckResult:
    if importlib.util.find_spec("xllamacpp") is None:
        return CheckResult(
            "fault",
            "model: the built-in one, but xllamacpp is not installed; run: pip install 'hermes-agent[local]'",
        )
    found = catalogue.find(endpoint.model)
    if isinstance(found, Path):
        return CheckResult("ok", f"model: {found}")
    file = catalogue.location(found, model_cache(environ))
    if file.is_file() and found.sha256 and file.stat().st_size != found.size:
        return CheckResult(
            "fault",
            f"model: {file} has {file.stat().st_size:,} of {found.size:,} bytes; remove it, and hermes models"
            f" pull {found.alias} fetches it again",
        )
    if file.is_file() and not catalogue.is_whole(file, found):
        return CheckResult(
            "fault",
            f"model: {file} is damaged: its digest is not the published one; hermes models pull {found.alias}"
            " fetches it again",
        )
    if file.is_file():
        return CheckResult("ok", f"model: local/{found.alias}, on this machine")
    return CheckResult(
        "warning",
        f"model: local/{found.alias} is fetched on first use ({found.size / 1e6:,.0f} MB), or with hermes"
        f" models pull {found.alias}",
    )


def _elsewhere(home: Home, terminal: TerminalSettings, environ: dict[str, str]) -> CheckResult:
    """What the machine that commands run on says."""
    origin = Origin(cwd=Path.cwd(), hermes_home=home.root, environ=environ, mark="doctor")
    found = anyio.run(checkup, terminal, origin)
    return CheckResult(found.state, found.text)


def _sandbox(loaded: Loaded, environ: dict[str, str]) -> Iterator[CheckResult]:
    terminal = loaded.settings[TerminalSettings]
    if terminal.sandbox == "off":
        yield CheckResult(
            "warning",
            "sandbox: off by terminal.sandbox; dangerous commands ask. hermes config set terminal.sandbox"
            " auto has it on",
        )
        return
    with _opened(terminal, environ) as found:
        if found is None:
            state: State = "fault" if terminal.sandbox == "on" else "warning"
            yield CheckResult(
                state,
                "sandbox: none, so commands that could do harm ask first;"
                f" {why_none(environ, Path.cwd()) or 'it does not work here'};"
                " hermes sandbox status tells what helps",
            )
            return
        yield CheckResult(
            "ok",
            f"sandbox: bubblewrap confines every command ({terminal.sandbox_mode}); hermes sandbox status"
            " tells more",
        )
        for layer in layers(found, network=network_of(terminal)):
            if not layer.enforced:
                yield CheckResult("warning", f"sandbox, {layer.name}: {layer.what}; {layer.remedy}")


def _passed(home: Home, terminal: TerminalSettings, environ: dict[str, str]) -> CheckResult:
    found = variables(home, terminal, environ, Path.cwd())
    left = (
        f"; left out, as hermes sandbox status explains: {', '.join(sorted(found.left))}"
        if found.left
        else ""
    )
    return CheckResult(
        "ok", f"variables: {len(found.given)} of yours pass to commands, {len(found.left)} do not{left}"
    )


@contextmanager
def _opened(terminal: TerminalSettings, environ: dict[str, str]) -> Iterator[Sandbox | None]:
    """The sandbox that a real command would get here; tried in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="hermes-doctor-") as folder:
        top = Path(folder)
        (top / "work").mkdir()
        yield open_sandbox(
            workspace=top / "work",
            home=Path(environ.get("HOME") or Path.home()),
            hermes_home=top / "home",
            scratch=top / "scratch",
            environ={**environ, "PATH": search_path(environ, (Path.cwd(),))},
            sandboxing=sandbox_options(terminal),
        )


def _hooks(home: Home, loaded: Loaded, environ: dict[str, str]) -> Iterator[CheckResult]:
    """What keeps commands of `hooks` from being run."""
    try:
        yield from hooks_found(home, loaded.settings, environ)
    except ConfigError as error:
        yield CheckResult("fault", str(error))


def _added(found: PluginsHere, environ: dict[str, str]) -> Iterator[CheckResult]:
    """What is wrong with plugins, tool files and tools."""
    yield from (CheckResult("warning", told) for told in found.faults)
    yield from (
        CheckResult("warning", f"tool file {one.path}: {one.reason}. Mend it, or move it away")
        for one in found.tools.faults
    )
    yield from _tools(found.tools.registry, environ)


def _tools(registry: ToolRegistry, environ: dict[str, str]) -> Iterator[CheckResult]:
    """The tools that name a secret which is not set."""
    for entry in registry.entries().values():
        missing = missing_variables(entry, environ)
        if missing:
            yield CheckResult(
                "warning",
                f"tool {entry.name}: it names {', '.join(missing)}, which is not set; hermes config set"
                f" {missing[0]} VALUE does",
            )


def _programs(environ: dict[str, str]) -> Iterator[CheckResult]:
    for name, use in (
        ("bash", "commands cannot run until it is installed"),
        ("git", "no branch in the prompt, and no worktrees; install git"),
        ("rg", "searches use a slower way; the package ripgrep has it"),
    ):
        there = find_program(name, environ, (Path.cwd(),))
        yield (
            CheckResult("ok", f"{name}: {there}")
            if there
            else CheckResult("fault" if name == "bash" else "warning", f"{name}: not found; {use}")
        )


def _notes(home: Home, loaded: Loaded) -> Iterator[CheckResult]:
    """What keeps the files of notes from being read as they are."""
    try:
        for told in loaded.settings[MemorySettings].notes(home.memories).faults():
            yield CheckResult("fault", f"memory: {told}")
    except StoreError as error:
        yield CheckResult("fault", f"memory: {error}")


def _memory(home: Home, loaded: Loaded, environ: dict[str, str], added: PluginsHere) -> CheckResult:
    name = loaded.settings[MemorySettings].provider
    if not name:
        return CheckResult(
            "ok", "memory: MEMORY.md and USER.md; memory.provider adds facts that come when they fit"
        )
    given = ProviderHome(folder=home.memories, settings=loaded.settings, environ=environ, ports=SYSTEM_PORTS)
    try:
        added.host.memory.require(name)
        if not shipped().has(name):
            return CheckResult("ok", f"memory: {name}, of a plugin")
        kept = place(name, given)
    except (ConfigError, StoreError) as error:
        return CheckResult("fault", f"memory: {error}")
    return CheckResult("ok", f"memory: {name}, facts in {kept}{'' if kept.exists() else ' (none yet)'}")


def _kept(home: Home) -> Iterator[CheckResult]:
    """Whether sessions can be kept, and those that are."""
    yield from (CheckResult("fault", told) for told in what_hinders(home))
    yield _store(home)


def _store(home: Home) -> CheckResult:
    if not home.sessions_db.is_file():
        return CheckResult("ok", "sessions: none yet")
    try:
        found = check(home.sessions_db)
    except StoreError as error:
        return CheckResult("fault", f"sessions: {error}")
    if found.faults:
        return CheckResult("fault", f"sessions: {found.faults[0].rstrip('.')}; {_MENDED}")
    return CheckResult("ok", f"sessions: {found.sessions} in {home.sessions_db}, ok")
