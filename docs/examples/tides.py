"""A server with one tool: when the tide is high."""

from mcp.server import MCPServer

server = MCPServer("tides")


@server.tool()
def high_tide(place: str) -> str:
    """When the tide is high at a place today."""
    return f"At {place} at 14:05."


if __name__ == "__main__":
    server.run()
