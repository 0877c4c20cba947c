"""From what a server offers to tools of the registry."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from hermes.mcp.definitions import McpOffer, McpTool, bound
from hermes.mcp.names import tool_name, toolset, wanted
from hermes.mcp.settings import McpServer
from hermes.types.tool import Handler, ToolEffect, ToolEntry, ToolManifest

_TEXT: Final = {"type": "string"}
_ELSEWHERE: Final[tuple[ToolEffect, ...]] = ("network", "send")


class UtilityTool(Struct, frozen=True, kw_only=True):
    """A tool of ours for something of a server that is no tool: `method` of `McpCalls` does it."""

    name: str
    method: str
    description: str
    properties: Mapping[str, Any] = {}
    required: tuple[str, ...] = ()

    def tool(self, server: str) -> McpTool:
        """The definition for a server."""
        return McpTool(
            name=self.name,
            description=self.description.format(server=server),
            schema={
                "type": "object",
                "properties": dict(self.properties),
                "required": list(self.required),
                "additionalProperties": False,
            },
            reads=True,
            destroys=False,
        )


_RESOURCES: Final = (
    UtilityTool(
        name="list_resources",
        method="list_resources",
        description="The resources of the MCP server {server}: uri, name and description of each.",
    ),
    UtilityTool(
        name="read_resource",
        method="read_resource",
        description="What a resource of the MCP server {server} holds.",
        properties={"uri": {**_TEXT, "description": "As list_resources gives it."}},
        required=("uri",),
    ),
)
_PROMPTS: Final = (
    UtilityTool(
        name="list_prompts",
        method="list_prompts",
        description="The prompts that the MCP server {server} has ready, with their arguments.",
    ),
    UtilityTool(
        name="get_prompt",
        method="get_prompt",
        description="A prompt of the MCP server {server}, filled in.",
        properties={
            "name": {**_TEXT, "description": "As list_prompts gives it."},
            "arguments": {"type": "object", "additionalProperties": _TEXT},
        },
        required=("name",),
    ),
)


def utilities(server: McpServer, offer: McpOffer) -> Iterator[UtilityTool]:
    """Our tools for a server's resources and prompts; one of its own with the same name comes first."""
    if offer.resources and server.tools.resources:
        yield from (one for one in _RESOURCES if one.name not in offer.by_name)
    if offer.prompts and server.tools.prompts:
        yield from (one for one in _PROMPTS if one.name not in offer.by_name)


def entries(
    name: str,
    server: McpServer,
    offer: McpOffer,
    handler: Callable[[McpTool, str], Handler],
) -> dict[str, ToolEntry]:
    """The tools of a server by their names here, those left out by its filters or held back not among them.

    `handler` makes what a tool runs, from its definition and the method that runs it.
    """
    own = [offer.by_name[one] for one in wanted(offer.by_name, server.tools) if one not in offer.faults]
    listed = [
        *((one, "call_tool") for one in own),
        *((one.tool(name), one.method) for one in utilities(server, offer)),
    ]
    made = [_entry(name, server, tool, handler(tool, method)) for tool, method in listed]
    return {one.name: one for one in reversed(made)}  # of two that are written alike here the first counts


def _entry(name: str, server: McpServer, tool: McpTool, handler: Handler) -> ToolEntry:
    called = tool_name(name, tool.name)
    return ToolEntry(
        name=called,
        toolset=toolset(name),
        schema={"name": called, "description": tool.description, "parameters": tool.schema},
        handler=handler,
        is_async=True,
        description=tool.description,
        emoji="🔌",
        outside=True,
        manifest=_manifest(name, server, tool),
        source=f"mcp:{name}",
    )


def _manifest(name: str, server: McpServer, tool: McpTool) -> ToolManifest:
    """What a tool may do: what its server says of it counts only where the user trusts the server."""
    kept_in = server.is_local and server.sandbox.enabled and not server.sandbox.network
    reads = tool.reads and server.trust != "ask"
    effects: tuple[ToolEffect, ...] = ("files",) if kept_in else _ELSEWHERE
    return ToolManifest(
        effects=("network",) if reads else effects,
        parallel="safe" if server.supports_parallel_tool_calls else "never",
        asks="" if reads or server.trust == "full" else _why(name, tool),
        definition=bound(tool, server),
    )


def _why(name: str, tool: McpTool) -> str:
    if tool.reads:
        return f"the MCP server {name} runs it, which says that it only reads"
    destroys = ", and may delete or overwrite" if tool.destroys else ""
    return f"the MCP server {name} runs it, which may change something{destroys}"
