"""What keeps MCP servers and commands of hooks from working, as far as that is known without starting any."""

import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path

from hermes.composition import SYSTEM_PORTS
from hermes.config.home import Home
from hermes.config.sections import Settings
from hermes.environments.sandbox.probe import why_none
from hermes.lib.secretvalues import SecretValues
from hermes.mcp.lacks import sign_in_lacks, unset_variable
from hermes.mcp.opening import known_servers
from hermes.mcp.place import ServerPlace
from hermes.mcp.servers import McpServers
from hermes.mcp.settings import McpServer, McpSettings
from hermes.mcp.words import counted, state
from hermes.plugins.claude_hooks import ClaudeHook
from hermes.plugins.hook_commands import command_hooks, not_accepted, notices_of, place_of, project_of_work
from hermes.plugins.hook_consent import HookConsent
from hermes.plugins.settings import PluginSettings, ShellHookSettings
from hermes.present.checkup import CheckResult
from hermes.types.error import McpError


def servers_found(home: Home, settings: Settings, environ: Mapping[str, str]) -> Iterator[CheckResult]:
    """A finding for each server that is used: what it offers, or what keeps it from working."""
    configured = settings[McpSettings].mcp_servers
    servers = known_servers(home, configured, environ, SYSTEM_PORTS)
    yield from (
        CheckResult("warning", f"MCP server {name}: {why}") for name, why in sorted(servers.faults.items())
    )
    for name in servers.names:
        if why := _hinders(servers, name, configured[name]):
            yield CheckResult("warning", f"MCP server {name}: {why}")
        elif known := servers.accepted(name):
            yield CheckResult("ok", f"MCP server {name}: {counted(known.offer)}, {state(known)}")
        else:
            yield CheckResult("ok", f"MCP server {name}: not yet connected; hermes mcp test {name} tries it")


def hooks_found(home: Home, settings: Settings, environ: Mapping[str, str]) -> Iterator[CheckResult]:
    """A finding for each command of `hooks` that is not run, or cannot be."""
    chosen = settings[ShellHookSettings]
    if settings[PluginSettings].safe_mode:
        return
    consent, project = HookConsent(home.root), project_of_work(settings)
    for one in command_hooks(chosen.hooks):
        faults = one.faults(project, environ) if isinstance(one, ClaudeHook) else one.faults()
        yield from (CheckResult("fault", f"{one.words}: {why}") for why in faults)
        if not (chosen.hooks_auto_accept or consent.covers(one.event, one.hook, place_of(one, project))):
            yield CheckResult("warning", not_accepted(one))
    yield from (CheckResult("warning", words) for words in notices_of(chosen.hooks))


def _hinders(servers: McpServers, name: str, server: McpServer) -> str:
    """What keeps a server from working; "" where nothing is known to."""
    known = servers.accepted(name)
    if importlib.util.find_spec("mcp") is None:
        return "the package mcp is not installed; run: pip install 'hermes-agent[mcp]'"
    if unset := unset_variable(server):
        return f"its settings stand for ${{{unset}}}, and there is no such variable"
    cannot = _not_started if server.is_local else _not_signed_in
    if why := cannot(servers, name, server):
        return why
    if known and known.unreached:
        return f"{known.unreached} hermes mcp test {name} tries it again"
    news = f"it offers something else than before; hermes mcp review {name} shows it"
    return news if known and known.pending else ""


def _not_started(servers: McpServers, name: str, server: McpServer) -> str:
    """Why a program could not be started."""
    home = servers.home
    place = ServerPlace(
        user_home=home.user_home,
        hermes_home=home.hermes_home,
        own=home.folder,
        environ=home.environ,
        known=SecretValues(),
    )
    try:
        place.job(name, server)
    except McpError as error:
        return str(error).removeprefix(f"{name} cannot be started: ").rstrip(".")
    if server.cwd and not Path(server.cwd).expanduser().is_dir():
        return f"there is no folder {server.cwd} for it to work in"
    if server.sandbox.enabled and (why := why_none(home.environ, home.folder)):
        return (
            f"{why}, so it is not started; mcp_servers.{name}.sandbox.enabled: false goes without a sandbox"
        )
    return ""


def _not_signed_in(servers: McpServers, name: str, server: McpServer) -> str:
    """Why an address would not let us in."""
    if server.auth == "oauth" and (lacks := sign_in_lacks(server.oauth)):
        return f"it cannot sign in: {lacks}"
    wants = server.auth == "oauth" and server.oauth.grant == "authorization_code"
    signed_in = (servers.home.folder / f"{name}.tokens").exists()
    return f"nobody has signed in; hermes mcp login {name}" if wants and not signed_in else ""
