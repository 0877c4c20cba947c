"""What the tools of one server do when they are called."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from hermes.lib.text import clip
from hermes.mcp.connection import McpConnection
from hermes.mcp.listing import every
from hermes.mcp.place import sandbox_hint
from hermes.mcp.requests import CallRequests
from hermes.mcp.results import McpResults, prompts, resources
from hermes.mcp.settings import McpServer
from hermes.types.tool import ToolContext


class McpCalls(Struct, frozen=True, kw_only=True):
    """Runs calls on one connection; each method gives the JSON string of a tool."""

    name: str
    server: McpServer
    connection: McpConnection
    requests: CallRequests
    results: Callable[[], Path]

    async def call_tool(self, tool: str, args: Mapping[str, Any], ctx: ToolContext | None) -> str:
        """Call a tool of the server."""

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            if ctx is not None:
                share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
                ctx.progress(f"{clip(message, 500)} ({share})\n" if message else f"{share}\n")

        async with self.connection.using() as client:
            if ctx is None:
                return self._written.of_call(await client.call_tool(tool, dict(args), self.server.timeout))
            with self.requests.running(ctx):
                found = await client.call_tool(tool, dict(args), self.server.timeout, tell)
        return self._written.of_call(found)

    async def list_resources(self, _tool: str, _args: Mapping[str, Any], _ctx: ToolContext | None) -> str:
        """Its resources."""
        async with self.connection.using() as client:
            return resources(await every(client.list_resources, "resources"))

    async def read_resource(self, _tool: str, args: Mapping[str, Any], _ctx: ToolContext | None) -> str:
        """One of its resources."""
        async with self.connection.using() as client:
            return self._written.of_resource(await client.read_resource(args["uri"]))

    async def list_prompts(self, _tool: str, _args: Mapping[str, Any], _ctx: ToolContext | None) -> str:
        """Its prompts."""
        async with self.connection.using() as client:
            return prompts(await every(client.list_prompts, "prompts"))

    async def get_prompt(self, _tool: str, args: Mapping[str, Any], _ctx: ToolContext | None) -> str:
        """One of its prompts."""
        async with self.connection.using() as client:
            return self._written.of_prompt(await client.get_prompt(args["name"], args.get("arguments")))

    @property
    def _written(self) -> McpResults:
        return McpResults(self.results(), partial(sandbox_hint, self.name, self.server))
