"""`hermes doctor`: what works here and what does not. It reads, and changes nothing."""

import importlib.util
import platform
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import anyio
import click

from hermes.agent.workplace import network_of, sandbox_options
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.variables import variables
from hermes.config.environ import environment, with_dotenv
from hermes.config.home import Home, locate
from hermes.config.load import Loaded, load
from hermes.config.settings import TerminalSettings
from hermes.environments.layers import layers
from hermes.environments.local_workspace import open_sandbox
from hermes.environments.remote.checkup import checkup
from hermes.environments.remote.choose import Origin
from hermes.environments.sandbox import Sandbox, why_none
from hermes.models.endpoint import resolve
from hermes.models.local import catalogue
from hermes.runtime import discover, model_cache
from hermes.store.auth import AuthFile
from hermes.tools.needs import lacking
from hermes.tools.registry import registry
from hermes.types.error import ConfigError, StoreError
from hermes.types.request import Endpoint

State = Literal["ok", "warning", "fault"]
MARKS: dict[State, str] = {"ok": "✓", "warning": "!", "fault": "✗"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    state: State
    text: str


@click.command()
@click.pass_obj
def doctor(choices: Choices) -> None:
    """Check this installation. Reads only; exit code 0 all well, 1 something does not work."""
    found = list(examine(choices))
    for finding in found:
        click.echo(f"{MARKS[finding.state]} {finding.text}")
    if any(finding.state == "fault" for finding in found):
        sys.exit(1)


def examine(choices: Choices) -> Iterator[Finding]:
    """Every finding, in the order a person would look."""
    environ = environment()
    yield Finding("ok", f"Python {platform.python_version()} on {platform.system()} {platform.machine()}")
    try:
        home = locate(environ, choices.profile)
        environ = with_dotenv(environ, home.env_file)
        loaded = load(home.config_file, environ)
    except ConfigError as error:
        yield from (Finding("fault", line) for line in str(error).splitlines())
        return
    yield from _settings(home, loaded)
    yield from _model(choices, home, loaded, environ)
    if loaded.settings.terminal.backend == "local":
        yield from _sandbox(loaded, environ)
        yield _passed(home, loaded.settings.terminal, environ)
    else:
        yield _elsewhere(home, loaded.settings.terminal, environ)
    yield from _programs(environ)
    yield _store(home)
    yield from (Finding("warning", f"tool file {fault.path}: {fault.reason}") for fault in discover(home))
    yield from _tools(environ)


def _settings(home: Home, loaded: Loaded) -> Iterator[Finding]:
    there = home.config_file.is_file()
    yield Finding("ok", f"settings: {home.config_file}" + ("" if there else " (none, defaults are in force)"))
    yield from (Finding("warning", warning) for warning in loaded.warnings)


def _model(choices: Choices, home: Home, loaded: Loaded, environ: dict[str, str]) -> Iterator[Finding]:
    try:
        stored = AuthFile(home.auth_file).providers()
        endpoint = resolve(loaded.settings, environ, model=choices.model, base_url=choices.base_url, stored=stored)
    except (ConfigError, StoreError) as error:
        yield Finding("fault", str(error))
        return
    yield (
        _local(endpoint, environ)
        if endpoint.local
        else Finding("ok", f"model: {endpoint.provider}/{endpoint.model} at {endpoint.base_url}")
    )


def _local(endpoint: Endpoint, environ: dict[str, str]) -> Finding:
    if importlib.util.find_spec("xllamacpp") is None:
        return Finding("fault", "model: the built-in one, but xllamacpp is not installed; run: pip install 'hermes-agent[local]'")
    found = catalogue.find(endpoint.model) if endpoint.model else catalogue.default()
    if isinstance(found, Path):
        return Finding("ok", f"model: {found}")
    if catalogue.location(found, model_cache(environ)).is_file():
        return Finding("ok", f"model: local/{found.alias}, in this process")
    return Finding(
        "warning", f"model: local/{found.alias} is fetched on first use ({found.size / 1e6:,.0f} MB), or with hermes models pull"
    )


def _elsewhere(home: Home, terminal: TerminalSettings, environ: dict[str, str]) -> Finding:
    """What the machine that commands run on says."""
    origin = Origin(cwd=Path.cwd(), hermes_home=home.root, environ=environ, mark="doctor")
    found = anyio.run(checkup, terminal, origin)
    return Finding(found.state, found.text)


def _sandbox(loaded: Loaded, environ: dict[str, str]) -> Iterator[Finding]:
    terminal = loaded.settings.terminal
    if terminal.sandbox == "off":
        yield Finding("warning", "sandbox: off by terminal.sandbox; dangerous commands ask")
        return
    with _opened(terminal, environ) as found:
        if found is None:
            state: State = "fault" if terminal.sandbox == "on" else "warning"
            yield Finding(state, f"sandbox: none, so commands that could do harm ask first; {why_none(environ) or 'it does not work here'}")
            return
        yield Finding("ok", f"sandbox: bubblewrap confines every command ({terminal.sandbox_mode}); hermes sandbox status tells more")
        for layer in layers(found, network=network_of(terminal)):
            if not layer.enforced:
                yield Finding("warning", f"sandbox, {layer.name}: {layer.what}")


def _passed(home: Home, terminal: TerminalSettings, environ: dict[str, str]) -> Finding:
    found = variables(home, terminal, environ, Path.cwd())
    left = f"; left out, as hermes sandbox status explains: {', '.join(sorted(found.left))}" if found.left else ""
    return Finding("ok", f"variables: {len(found.given)} of yours pass to commands, {len(found.left)} do not{left}")


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
            environ=environ,
            sandboxing=sandbox_options(terminal),
        )


def _tools(environ: dict[str, str]) -> Iterator[Finding]:
    """The tools that are not offered because a secret that they name is not set."""
    for entry in registry.entries().values():
        missing = lacking(entry, environ)
        if missing:
            yield Finding("warning", f"tool {entry.name}: left out, for it needs {', '.join(missing)}, which is not set")


def _programs(environ: dict[str, str]) -> Iterator[Finding]:
    path = environ.get("PATH")
    for name, use in (("bash", "commands cannot run"), ("git", "no branch in the prompt"), ("rg", "searches use a slower way")):
        there = shutil.which(name, path=path)
        yield Finding("ok", f"{name}: {there}") if there else Finding("fault" if name == "bash" else "warning", f"{name}: not found; {use}")


def _store(home: Home) -> Finding:
    if not home.sessions_db.is_file():
        return Finding("ok", "sessions: none yet")
    try:
        connection = sqlite3.connect(f"file:{home.sessions_db}?mode=ro", uri=True)
        verdict = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        count = int(connection.execute("SELECT count(*) FROM sessions").fetchone()[0])
        connection.close()
    except sqlite3.DatabaseError as error:
        return Finding("fault", f"sessions: {home.sessions_db} is damaged ({error})")
    return Finding("ok" if verdict == "ok" else "fault", f"sessions: {count} in {home.sessions_db}, {verdict}")
