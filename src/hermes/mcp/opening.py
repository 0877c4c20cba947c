"""The MCP servers of a home, made from its settings."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hermes.agent.services import Redactor
from hermes.config.home import Home
from hermes.config.sections import Settings
from hermes.lib.aio import Async
from hermes.lib.secretvalues import SecretValues
from hermes.mcp.servers import McpHome, McpServers
from hermes.mcp.settings import McpSettings
from hermes.types.ports import Ports


def mcp_servers(
    home: Home,
    settings: Settings,
    environ: Mapping[str, str],
    known: SecretValues,
    ports: Ports,
    spawn: Callable[[Async[Any]], object],
) -> McpServers:
    """The MCP servers of a home, on the running loop; none is connected to. `spawn` runs jobs beside."""
    servers = McpServers(
        settings[McpSettings].mcp_servers,
        McpHome(
            folder=home.mcp,
            results=home.results,
            hermes_home=home.root,
            user_home=Path(environ.get("HOME") or Path.home()),
            environ=environ,
            ports=ports,
            known=known,
            redact=Redactor(known).redact,
            spawn=spawn,
        ),
    )
    servers.enter()
    return servers
