"""The tools tool_search, tool_describe and tool_call: for tools that a model is not shown at first."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hermes.tools.deferred import CALL, SEARCH, TOOLSET, search
from hermes.tools.registry import registry, tool_error, tool_result
from hermes.types.tool import ToolManifest

USUAL: Final = 5
MOST: Final = 20
DESCRIBE: Final = "tool_describe"
NOTHING = "There are no tools to find here: all of them are offered by their names."

READS: Final = ToolManifest(effects=(), parallel="safe")


async def tool_search(args: Mapping[str, Any], **keywords: Any) -> str:
    """Names and descriptions of the tools that fit a query."""
    found = _deferred(keywords)
    if not found:
        return tool_error(NOTHING)
    limit = min(max(1, int(args.get("limit") or USUAL)), MOST)
    fitting = [one["function"] for one in search(str(args.get("query", "")), found, limit)]
    return tool_result(
        tools=[{"name": one["name"], "description": one["description"]} for one in fitting],
        of=len(found),
    )


async def tool_describe(args: Mapping[str, Any], **keywords: Any) -> str:
    """The whole definition of one tool."""
    name = str(args.get("name", ""))
    found = {one["function"]["name"]: one["function"] for one in _deferred(keywords)}
    if name not in found:
        return tool_error(f"There is no tool {name!r} to find; {SEARCH} finds those that there are.")
    return tool_result(**found[name])


async def tool_call(args: Mapping[str, Any], **keywords: Any) -> str:
    """Reached only without a session that has tools to find: there a call stands for that of its tool."""
    del args, keywords
    return tool_error(NOTHING)


def _deferred(keywords: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    context = keywords.get("ctx")
    return context.deferred_tools if context else ()


_NAME: Final = {"type": "string", "description": f"as {SEARCH} gives it"}

registry.register(
    name=SEARCH,
    toolset=TOOLSET,
    schema={
        "name": SEARCH,
        "description": f"Find more tools by what they do; then {DESCRIBE} tells their arguments.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": "integer", "default": USUAL},
            },
            "required": ["query"],
        },
    },
    handler=tool_search,
    is_async=True,
    emoji="🔎",
    manifest=READS,
)
registry.register(
    name=DESCRIBE,
    toolset=TOOLSET,
    schema={
        "name": DESCRIBE,
        "description": "The arguments of a tool that was found.",
        "parameters": {"type": "object", "properties": {"name": _NAME}, "required": ["name"]},
    },
    handler=tool_describe,
    is_async=True,
    emoji="🔎",
    manifest=READS,
)
registry.register(
    name=CALL,
    toolset=TOOLSET,
    schema={
        "name": CALL,
        "description": f"Call a tool that was found, with the arguments that {DESCRIBE} tells.",
        "parameters": {
            "type": "object",
            "properties": {"name": _NAME, "arguments": {"type": "object"}},
            "required": ["name", "arguments"],
        },
    },
    handler=tool_call,
    is_async=True,
    emoji="⚡",
    manifest=READS,
)
