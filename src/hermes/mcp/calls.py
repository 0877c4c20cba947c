"""What the tools of one server do when they are called."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from mcp import Client
from mcp_types import CallToolResult
from msgspec import Struct

from hermes.lib.text import clip
from hermes.mcp.connection import McpConnection
from hermes.mcp.listing import every
from hermes.mcp.place import sandbox_hint
from hermes.mcp.prompts import McpPrompt, prompt_of
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

        def ask(client: Client) -> Awaitable[CallToolResult]:
            return client.call_tool(tool, dict(args), self.server.timeout, None if ctx is None else tell)

        if ctx is None:
            return self._written.of_call(await self.connection.request(ask))
        with self.requests.running(ctx):
            return self._written.of_call(await self.connection.request(ask))

    async def list_resources(self, _tool: str, _args: Mapping[str, Any], _ctx: ToolContext | None) -> str:
        """Its resources."""
        return resources(
            await self.connection.request(lambda client: every(client.list_resources, "resources"))
        )

    async def read_resource(self, _tool: str, args: Mapping[str, Any], _ctx: ToolContext | None) -> str:
        """One of its resources."""
        found = await self.connection.request(lambda client: client.read_resource(args["uri"]))
        return self._written.of_resource(found)

    async def list_prompts(self, _tool: str, _args: Mapping[str, Any], _ctx: ToolContext | None) -> str:
        """Its prompts."""
        return prompts(await self.connection.request(lambda client: every(client.list_prompts, "prompts")))

    async def get_prompt(self, _tool: str, args: Mapping[str, Any], _ctx: ToolContext | None) -> str:
        """One of its prompts."""
        name, given = args["name"], args.get("arguments")
        found = await self.connection.request(lambda client: client.get_prompt(name, given))
        return self._written.of_prompt(found)

    async def prompts(self) -> tuple[McpPrompt, ...]:
        """Its prompts as values, those of one name once."""
        found = await self.connection.request(lambda client: every(client.list_prompts, "prompts"))
        return tuple({one.name: one for one in map(prompt_of, found)}.values())

    async def filled(self, prompt: str, arguments: Mapping[str, str]) -> str:
        """A prompt filled in, as text."""
        found = await self.connection.request(lambda client: client.get_prompt(prompt, dict(arguments)))
        return self._written.text_of_prompt(found)

    async def uris(self) -> tuple[str, ...]:
        """The addresses of its resources."""
        found = await self.connection.request(lambda client: every(client.list_resources, "resources"))
        return tuple(str(one.uri) for one in found)

    @property
    def _written(self) -> McpResults:
        return McpResults(self.results(), partial(sandbox_hint, self.name, self.server))
