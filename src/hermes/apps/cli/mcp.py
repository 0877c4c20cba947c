"""`hermes mcp`: the Model Context Protocol."""

import click

from hermes.apps.cli.mcp_serve import serve


@click.group()
def mcp() -> None:
    """The Model Context Protocol: Hermes as a server."""


mcp.add_command(serve)
