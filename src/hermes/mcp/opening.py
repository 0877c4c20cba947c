"""The MCP servers of a home, made from its settings."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hermes.agent.services import Redactor
from hermes.config.home import Home
from hermes.lib.aio import Async
from hermes.lib.secretvalues import SecretValues
from hermes.mcp.servers import McpHome, McpServers
from hermes.mcp.settings import McpServer
from hermes.types.ports import Ports


def mcp_servers(
    home: Home,
    configured: Callable[[], Mapping[str, McpServer]],
    environ: Mapping[str, str],
    known: SecretValues,
    ports: Ports,
    spawn: Callable[[Async[Any]], object],
) -> McpServers:
    """The MCP servers of a home; none is connected to. `configured` reads the settings, `spawn` runs jobs
    beside.
    """
    return McpServers(
        McpHome(
            folder=home.mcp,
            results=home.results,
            hermes_home=home.root,
            config_file=home.config_file,
            user_home=Path(environ.get("HOME") or Path.home()),
            environ=environ,
            ports=ports,
            known=known,
            redact=Redactor(known).redact,
            spawn=spawn,
            configured=configured,
        )
    )


def known_servers(
    home: Home, servers: Mapping[str, McpServer], environ: Mapping[str, str], ports: Ports
) -> McpServers:
    """The same for who only looks at their tools: none can be connected to."""
    return mcp_servers(home, lambda: servers, environ, SecretValues(), ports, lambda _job: None)
