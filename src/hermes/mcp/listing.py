"""What a connected server offers: all pages, within bounds, without what is hidden in its words."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import msgspec
from mcp import Client
from mcp_types import Tool

from hermes.lib.lazy import import_object
from hermes.lib.text import clip, mend_surrogates
from hermes.mcp.definitions import McpOffer, McpTool
from hermes.safety.text.scan import scan
from hermes.tools.definitions import check_schema

MOST_PAGES, MOST_TOOLS = 50, 500
LONGEST_DESCRIPTION, LONGEST_SCHEMA, LONGEST_INSTRUCTIONS = 8_000, 64_000, 4_000
_LEADS_AWAY: Final = re.compile(r'"\$(?:dynamic)?[rR]ef":"(?!#)')


async def listed(client: Client) -> McpOffer:
    """All that a server offers; MCPError and TimeoutError where it does not answer."""
    capabilities = client.server_capabilities
    tools = [_tool(one) async for one in _pages(client.list_tools, "tools")] if capabilities.tools else []
    by_name = {one.name: one for one in reversed(tools)}
    instructions = clip(mend_surrogates(client.instructions or "").strip(), LONGEST_INSTRUCTIONS)
    return McpOffer(
        tools=tuple(by_name[name] for name in sorted(by_name)),
        resources=capabilities.resources is not None,
        prompts=capabilities.prompts is not None,
        faults={name: why for name, one in by_name.items() if (why := _fault(one))},
        instructions=instructions,
        hides=_hidden("they have", instructions),
    )


async def _pages(fetch: Callable[..., Awaitable[Any]], field: str) -> AsyncIterator[Any]:
    """The items of all pages, as many as are taken."""
    cursor, count = None, 0
    for _ in range(MOST_PAGES):
        page = await fetch(cursor=cursor)
        for one in getattr(page, field):
            count += 1
            if count > MOST_TOOLS:
                return
            yield one
        cursor = page.next_cursor
        if not cursor:
            return


async def every(fetch: Callable[..., Awaitable[Any]], field: str) -> list[Any]:
    """All items of a list that comes in pages, as many as are taken."""
    return [one async for one in _pages(fetch, field)]


def _tool(found: Tool) -> McpTool:
    hints = found.annotations
    title = found.title or (hints.title if hints else "") or ""
    return McpTool(
        name=mend_surrogates(found.name),
        description=clip(mend_surrogates(found.description or title), LONGEST_DESCRIPTION),
        schema=found.input_schema or {"type": "object"},
        reads=bool(hints and hints.read_only_hint),
        destroys=not (hints and hints.destructive_hint is False),
    )


def _fault(tool: McpTool) -> str:
    """Why a tool is held back until a person has looked at it; "" for one that is as it should be."""
    try:
        text = msgspec.json.encode(tool.schema).decode()
        check_schema(tool.name, tool.schema)
        import_object("jsonschema:Draft202012Validator").check_schema(tool.schema)
    except Exception as error:  # noqa: BLE001  # a schema of somebody else's can fail in any way
        return f"its schema cannot be used: {clip(str(error), 200)}"
    if len(text) > LONGEST_SCHEMA:
        return f"its schema has {len(text):,} letters, more than {LONGEST_SCHEMA:,}"
    if _LEADS_AWAY.search(text):
        return "its schema refers to another document"
    return _hidden("its description has", f"{tool.name}\n{tool.description}\n{text}")


def _hidden(what: str, text: str) -> str:
    """What of a text has a form that ordinary text has not; "" where nothing has."""
    spans = scan(text)
    return f"{what} {spans[0].kind} text ({spans[0].rule})" if spans else ""
