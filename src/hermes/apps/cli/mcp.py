"""`hermes mcp`: servers that offer tools by the Model Context Protocol."""

import json
import shutil
import sys
import time
import webbrowser
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import click
from msgspec.structs import replace

from hermes.agent.services import Redactor
from hermes.apps.cli import tables, values
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import agreed, here, to_change
from hermes.apps.cli.mcp_serve import serve
from hermes.apps.cli.mcp_words import as_settings, described, with_references
from hermes.composition import SYSTEM_PORTS, secrets_of
from hermes.config.edit import set_key, set_secret, unset_key
from hermes.lib.aio import background
from hermes.lib.lazy import import_object
from hermes.lib.secretvalues import SecretValues
from hermes.lib.text import strip_escapes
from hermes.lib.visible import one_line, visible
from hermes.mcp.definitions import AcceptedOffers, McpOffer
from hermes.mcp.names import SERVER_NAME
from hermes.mcp.opening import mcp_servers
from hermes.mcp.servers import McpServers
from hermes.mcp.settings import McpSandbox, McpServer, McpSettings
from hermes.mcp.words import counted, reach, state, where
from hermes.types.error import ConfigError, HermesError

KEY: Final = "mcp_servers"
_SHOWN: Final = 90
_NAMES: Final = values.of("mcp_servers")
"""Completes the names of servers."""


@click.group()
def mcp() -> None:
    """The Model Context Protocol: servers whose tools sessions have, and Hermes as one."""


mcp.add_command(serve)


@mcp.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("words", nargs=-1, required=True, metavar="ADDRESS | -- PROGRAM [ARGUMENTS]")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="A variable for the program.")
@click.option("--header", multiple=True, metavar="'NAME: VALUE'", help="A header for the address.")
@click.option("--transport", type=click.Choice(["http", "sse"]), default=None, help="How an address speaks.")
@click.option("--oauth", is_flag=True, help="The address wants a sign-in; hermes mcp login does it.")
@click.option("--network", is_flag=True, help="The program may use the network.")
@click.option("--host", "hosts", multiple=True, metavar="HOST", help="Of the network it may reach this host.")
@click.option("--write", multiple=True, metavar="FOLDER", help="A folder that the program may write.")
@click.option("--read", multiple=True, metavar="PATH", help="A path that it may read besides.")
@click.option("--trust", type=click.Choice(["ask", "read-only", "full"]), default="ask", show_default=True)
@click.option("--no-sandbox", is_flag=True, help="Run the program with all your rights.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def add(choices: Choices, /, name: str, words: Sequence[str], *, yes: bool, **given: Any) -> None:
    """Add a server: NAME, then an address, or -- and a program with its arguments.

    Such as: hermes mcp add files --network --write ~/notes -- npx -y
    @modelcontextprotocol/server-filesystem ~/notes
    """
    home = to_change(choices)
    if not SERVER_NAME.fullmatch(name):
        raise ConfigError(f"{name[:60]!r} cannot be a name; a name is letters, digits, _ and -, 40 at most.")
    if name in _configured(choices) and not (yes or agreed(f"Replace the server {name}?", "replaces")):
        click.echo("Nothing was changed.")
        return
    server = described(words, given)
    box = server.sandbox
    asks = server.is_local and box.enabled and not (box.network or yes)
    if asks and sys.stdin.isatty():
        network = agreed("May the program use the network?", "leaves that off")
        server = replace(server, sandbox=replace(box, network=network))
    hidden, server = with_references(name, server)
    for variable, value in hidden.items():
        set_secret(home.env_file, variable, value)
        click.echo(f"{variable} is kept in {home.env_file}.", err=True)
    _write(choices, name, server)
    _accepted(choices).forget(name)
    if server.auth:
        click.echo(f"Added {name}; hermes mcp login {name} signs in.")
    elif _tell(choices, name):
        click.echo(f"Added {name}. Sessions that begin now have its tools.")
    else:
        click.echo(f"{name} is kept in {home.config_file}; hermes mcp test {name} tries it again.")
        sys.exit(1)


@mcp.command("list")
@tables.lists
@click.pass_obj
def list_servers(choices: Choices) -> None:
    """The servers, and what is known of their tools."""
    rows, redact = [], Redactor(SecretValues(*secrets_of(here(choices).environ))).redact
    for name, server in _configured(choices).items():
        known = _accepted(choices).load(name, server)
        count = len(known.offer.tools) if known and not known.unreached else None
        tools = tables.Cell(count, "?" if count is None else str(count))
        told = state(known) if server.enabled else "disabled"
        rows.append((name, tools, server.trust, reach(server), told, redact(where(server))))
    if not rows:
        click.echo("There is no MCP server; hermes mcp add NAME ADDRESS (or -- PROGRAM) adds one.", err=True)
        return
    tables.show(rows, head=("NAME", "TOOLS", "TRUST", "NETWORK", "STATE", "WHERE"))


@mcp.command()
@click.argument("name", shell_complete=_NAMES)
@click.pass_obj
def test(choices: Choices, name: str) -> None:
    """Connect to a server and show what it offers."""
    if not _tell(choices, name, every=True):
        sys.exit(1)


@mcp.command()
@click.argument("name", shell_complete=_NAMES)
@click.option("-y", "--yes", is_flag=True, help="Accept it without asking.")
@click.pass_obj
def review(choices: Choices, name: str, *, yes: bool) -> None:
    """What a server offers otherwise than when it was accepted; accept that."""
    to_change(choices)
    _enabled(choices, name)

    async def look(servers: McpServers) -> None:
        lines = servers.shown(name)
        if not lines:
            click.echo(f"Nothing of {name} waits for an answer.")
            return
        click.echo("\n".join(lines))
        if yes or agreed(f"Accept what {name} offers now?", "accepts"):
            servers.accept(name)
            click.echo("Accepted. Sessions that begin now have it.")

    _run(choices, look)


@mcp.command()
@click.argument("names", nargs=-1, shell_complete=_NAMES)
@click.pass_obj
def reload(choices: Choices, names: Sequence[str]) -> None:
    """Ask servers anew what they offer, and say what has changed."""
    enabled = [name for name, one in _configured(choices).items() if one.enabled]
    ok = [_tell(choices, name) for name in (names or enabled)]
    sys.exit(0 if all(ok) else 1)


@mcp.command()
@click.argument("name", shell_complete=_NAMES)
@click.option("--network/--no-network", default=None, help="It may use all of the network, or none.")
@click.option("--host", "hosts", multiple=True, metavar="HOST", help="Of the network it may reach this host.")
@click.option("--write", multiple=True, metavar="FOLDER", help="A folder that it may write.")
@click.option("--read", multiple=True, metavar="PATH", help="A path that it may read besides.")
@click.option("--no-paths", is_flag=True, help="First take back the folders and paths that it had.")
@click.option("--trust", type=click.Choice(["ask", "read-only", "full"]), default=None)
@click.option("--enable/--disable", default=None, help="Whether it is used at all.")
@click.pass_obj
def allow(choices: Choices, /, name: str, **given: Any) -> None:
    """Let a server do more, or less."""
    to_change(choices)
    box = _one(choices, name).sandbox
    network = box.network if given["network"] is None else given["network"]
    if given["hosts"]:
        network = [*(network if isinstance(network, list) else ()), *given["hosts"]]
    had = McpSandbox() if given["no_paths"] else box
    changed = {
        f"{KEY}.{name}.sandbox.network": network if network != box.network else None,
        f"{KEY}.{name}.sandbox.paths": _more(had.paths, given["write"], box.paths),
        f"{KEY}.{name}.sandbox.read": _more(had.read, given["read"], box.read),
        f"{KEY}.{name}.trust": given["trust"],
        f"{KEY}.{name}.enabled": given["enable"],
    }
    for key, value in changed.items():
        if value is not None:
            set_key(here(choices).home.config_file, key, json.dumps(value))
    now = _one(choices, name)
    writes = ", ".join(now.sandbox.paths) or "nothing"
    off = "" if now.enabled else ", disabled"
    click.echo(f"{name}: trust {now.trust}, network {reach(now)}, writes {writes}{off}.")


@mcp.command()
@click.argument("name", shell_complete=_NAMES)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.pass_obj
def login(choices: Choices, name: str, *, no_browser: bool) -> None:
    """Sign in to a server in the browser."""
    to_change(choices)
    server = _enabled(choices, name)
    if server.is_local:
        raise ConfigError(f"{name} is a program of this machine: it has no sign-in.")

    async def show(url: str) -> None:
        click.echo(f"Open this in a browser of this machine:\n  {visible(url)}")
        if not no_browser:
            await anyio.to_thread.run_sync(webbrowser.open, url)

    async def run(servers: McpServers) -> int:
        sign_in = import_object("hermes.mcp.login:sign_in", extra="mcp")
        found: int = await sign_in(name, server, servers.home, show)
        return found

    _run(choices, run)
    if server.auth != "oauth":
        set_key(here(choices).home.config_file, f"{KEY}.{name}.auth", "oauth")
    click.echo(f"Signed in to {name}.")
    _tell(choices, name)


@mcp.command()
@click.argument("name", shell_complete=_NAMES)
@click.pass_obj
def logout(choices: Choices, name: str) -> None:
    """Forget the sign-in to a server."""
    to_change(choices)
    path = here(choices).home.mcp / f"{name}.tokens"
    found = SERVER_NAME.fullmatch(name) is not None and path.exists()
    if found:
        path.unlink()
    click.echo(f"The sign-in to {name} is forgotten." if found else f"There was no sign-in to {name}.")


@mcp.command()
@click.argument("name", shell_complete=_NAMES)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def remove(choices: Choices, name: str, *, yes: bool) -> None:
    """Remove a server, with its sign-in."""
    home = to_change(choices)
    _one(choices, name)
    if not (yes or agreed(f"Remove {name}?", "removes")):
        click.echo("Nothing was removed.")
        return
    unset_key(home.config_file, f"{KEY}.{name}")
    _accepted(choices).forget(name)
    (home.mcp / f"{name}.tokens").unlink(missing_ok=True)
    shutil.rmtree(home.mcp / name, ignore_errors=True)
    click.echo(f"{name} is gone.")


def _configured(choices: Choices) -> dict[str, McpServer]:
    return dict(sorted(here(choices).settings[McpSettings].mcp_servers.items()))


def _one(choices: Choices, name: str) -> McpServer:
    found = _configured(choices).get(name)
    if found is None:
        raise ConfigError(f"There is no MCP server {name[:60]!r}; hermes mcp list shows those there are.")
    return found


def _enabled(choices: Choices, name: str) -> McpServer:
    server = _one(choices, name)
    if not server.enabled:
        raise ConfigError(f"{name} is disabled; hermes mcp allow {name} --enable has it used.")
    return server


def _more(had: Sequence[str], more: Sequence[str], before: Sequence[str]) -> list[str] | None:
    """The paths with more of them; None where nothing changes."""
    now = [*had, *(str(Path(one).expanduser().absolute()) for one in more)]
    return now if now != [*before] else None


def _accepted(choices: Choices) -> AcceptedOffers:
    return AcceptedOffers(here(choices).home.mcp)


def _write(choices: Choices, name: str, server: McpServer) -> None:
    set_key(here(choices).home.config_file, f"{KEY}.{name}", json.dumps(as_settings(server)))


def _tell(choices: Choices, name: str, *, every: bool = False) -> bool:
    """Connect and say what a server offers; whether it could be reached."""
    server = _enabled(choices, name)
    begun = time.monotonic()  # noqa: TID251  # how long a person waits
    try:
        offer: McpOffer = _run(choices, lambda servers: servers.connect(name))
    except HermesError as error:
        click.echo(strip_escapes(str(error)), err=True)
        return False
    seconds = time.monotonic() - begun  # noqa: TID251  # as above
    click.echo(f"{name}: {counted(offer)} ({seconds:.1f} s)")
    for line in offer.instructions.splitlines() if every else ():
        click.echo(strip_escapes(one_line(f"  says to models: {line}")))
    for tool in offer.tools if every else ():
        held = f" · held back: {offer.faults[tool.name]}" if tool.name in offer.faults else ""
        click.echo(strip_escapes(one_line(f"  {tool.name}  {_first_words(tool.description)}{held}")))
    known = _accepted(choices).load(name, server)
    if known is not None and (known.pending or known.offer.faults or known.offer.hides):
        click.echo(f"  hermes mcp review {name} shows what waits for your answer.")
    return True


def _first_words(text: str) -> str:
    """What fits behind a name on a line."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def _run(choices: Choices, work: Callable[[McpServers], Any]) -> Any:
    """Do something with the servers of the home."""

    async def main() -> Any:
        async with _servers(choices) as servers:
            return await work(servers)

    return anyio.run(main)


@asynccontextmanager
async def _servers(choices: Choices) -> AsyncIterator[McpServers]:
    found = here(choices)
    async with background() as start:
        known = SecretValues(*secrets_of(found.environ))
        configured = lambda: found.settings[McpSettings].mcp_servers  # noqa: E731
        servers = mcp_servers(found.home, configured, found.environ, known, SYSTEM_PORTS, start)
        servers.enter()
        try:
            yield servers
        finally:
            servers.close()
