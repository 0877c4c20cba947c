"""The MCP server: tools of several offers behind the protocol, in both of its eras."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hermes.apps.serve.offer import ToolOffer
from hermes.lib.lazy import Missing, import_object
from hermes.tools.dispatch import unknown_tool
from hermes.types.error import ConfigError

INSTRUCTIONS: Final = (
    "Sessions of Hermes, an agent that works on this machine. session_send gives it work and waits for the"
    " answer; what it asks meanwhile stands in questions_list. Without an answer the action is not done."
)


def required(target: str) -> Any:
    """What `package.module:name` names of the MCP library; ConfigError with an install hint."""
    try:
        return import_object(target, extra="mcp")
    except Missing as error:
        raise ConfigError(f"{error}.") from error


def mcp_server(name: str, offers: Sequence[ToolOffer]) -> Any:
    """A server of these tools; of two with one name the first offer's counts."""
    types = required("mcp.types")
    tools: dict[str, tuple[ToolOffer, Mapping[str, Any]]] = {}
    for offer in offers:
        for one in offer.definitions:
            tools.setdefault(one["name"], (offer, one))

    async def listed(_context: Any, _page: Any) -> Any:
        return types.ListToolsResult(tools=[_told(types, one) for _, one in tools.values()])

    async def called(context: Any, asked: Any) -> Any:
        if asked.name not in tools:
            return _result(types, unknown_tool(asked.name, list(tools)), failed=True)
        offer, _ = tools[asked.name]
        found = await offer.call(asked.name, asked.arguments or {}, _Progress(context.session).tell)
        return _result(types, found.text, failed=found.failed)

    return required("mcp.server.lowlevel:Server")(
        name,
        version=str(import_object("hermes:__version__")),
        title="Hermes",
        instructions=INSTRUCTIONS,
        on_list_tools=listed,
        on_call_tool=called,
    )


class _Progress:
    """The progress of one call, as its client hears it."""

    def __init__(self, client: Any) -> None:
        self._client, self._count = client, 0

    async def tell(self, words: str) -> None:
        """Count one more thing that has happened."""
        self._count += 1
        await self._client.report_progress(self._count, None, words)


def _told(types: Any, schema: Mapping[str, Any]) -> Any:
    parameters = schema.get("parameters") or {"type": "object", "properties": {}}
    return types.Tool(
        name=schema["name"],
        description=schema.get("description", ""),
        input_schema={"type": "object", **parameters},
    )


def _result(types: Any, text: str, *, failed: bool) -> Any:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=failed)
