"""A server is written with all that it needs to be read again."""

import msgspec
import pytest

from hermes.apps.cli.mcp_words import as_settings
from hermes.mcp.settings import McpServer

SERVERS = [
    McpServer(command="x"),
    McpServer(url="x"),
    McpServer(command="a", enabled=False),
    McpServer(url="b"),
]


@pytest.mark.parametrize("server", SERVERS, ids=range(4))
def test_what_is_written_of_a_server_is_the_server(server: McpServer) -> None:
    assert msgspec.convert(as_settings(server), McpServer) == server
