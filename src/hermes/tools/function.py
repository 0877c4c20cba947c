"""A tool from a typed Python function: schema from its annotations, words from its docstring."""

import inspect
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_type_hints, overload

import msgspec

from hermes.tools.needs import lacking
from hermes.tools.registry import tool_result
from hermes.tools.schemas import definition
from hermes.types.tool import Snapshot, ToolEntry

logger = logging.getLogger(__name__)

CONTEXT = "ctx"
_ARGUMENT = re.compile(r"^[ \t]*\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s+(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A function that is a tool: it can still be called as the function it is."""

    function: Callable[..., Any]
    entry: ToolEntry

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """What the function gives."""
        return self.function(*args, **keywords)


@overload
def tool(function: Callable[..., Any], *, outside: bool = False, requires_env: Sequence[str] = ()) -> FunctionTool: ...
@overload
def tool(*, outside: bool = False, requires_env: Sequence[str] = ()) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(
    function: Callable[..., Any] | None = None, *, outside: bool = False, requires_env: Sequence[str] = ()
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a tool of a function: each parameter needs an annotation, `ctx` (if there) gets the tool context.

    The docstring's first paragraph describes the tool, lines of the form `name: words` its parameters. `@tool(outside=True)` says that
    what it gives comes from outside, and is data for the model. `requires_env` names the secrets it needs: `ctx.secret("NAME")` gives one,
    and a session in whose environment one of them is not set is not offered the tool.
    The function may be async. What it gives is sent to the model as JSON; TypeError when a parameter has no annotation.
    """
    if function is None:
        return lambda given: _made(given, outside=outside, requires_env=requires_env)
    return _made(function, outside=outside, requires_env=requires_env)


def with_functions(found: Snapshot, functions: Sequence[FunctionTool], environ: Mapping[str, str]) -> Snapshot:
    """The tools of a session with functions of its own, which replace those of the same name; one that lacks a secret is left out."""
    ready = []
    for one in functions:
        missing = lacking(one.entry, environ)
        if missing:
            logger.warning("The tool %s is left out: it needs %s, not set in the environment", one.entry.name, ", ".join(missing))
        else:
            ready.append(one)
    if not ready:
        return found
    tools = {**found.tools, **{one.entry.name: one.entry for one in ready}}
    own = [definition(one.entry, tools, ()) for one in ready]
    others = [one for one in found.definitions if one["function"]["name"] not in {tool["function"]["name"] for tool in own}]
    ordered = sorted([*others, *own], key=lambda one: str(one["function"]["name"]))
    return replace(found, tools=tools, definitions=tuple(ordered))


def _made(function: Callable[..., Any], *, outside: bool, requires_env: Sequence[str]) -> FunctionTool:
    hints = get_type_hints(function)
    parameters = [one for one in inspect.signature(function).parameters.values() if one.name != CONTEXT]
    missing = [one.name for one in parameters if one.name not in hints]
    if missing:
        raise TypeError(f"@tool {function.__name__}: annotate {', '.join(missing)}, for the model must know what to pass.")
    doc = inspect.getdoc(function) or ""
    schema = {
        "name": function.__name__,
        "description": doc.split("\n\n")[0].replace("\n", " ").strip(),
        "parameters": _parameters(parameters, hints, dict(_ARGUMENT.findall(doc))),
    }
    entry = ToolEntry(
        name=function.__name__,
        toolset="functions",
        schema=schema,
        handler=_handler(function, parameters, hints),
        is_async=inspect.iscoroutinefunction(function),
        description=str(schema["description"]),
        emoji="🔹",
        outside=outside,
        requires_env=tuple(requires_env),
    )
    return FunctionTool(function, entry)


def _parameters(parameters: list[inspect.Parameter], hints: Mapping[str, Any], docs: Mapping[str, str]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for one in parameters:
        (shape,), parts = msgspec.json.schema_components([hints[one.name]], ref_template="#/$defs/{name}")
        definitions |= parts
        described = {"description": docs[one.name]} if one.name in docs else {}
        default = {} if one.default is inspect.Parameter.empty else {"default": one.default}
        properties[one.name] = {**shape, **described, **(default if _is_plain(one.default) else {})}
    required = [one.name for one in parameters if one.default is inspect.Parameter.empty]
    schema = {"type": "object", "properties": properties, "required": required}
    return {**schema, "$defs": definitions} if definitions else schema


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _handler(function: Callable[..., Any], parameters: list[inspect.Parameter], hints: Mapping[str, Any]) -> Callable[..., Any]:
    wants_context = CONTEXT in inspect.signature(function).parameters
    names = {one.name for one in parameters}

    def keywords(args: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        ready = {name: msgspec.convert(value, hints[name]) for name, value in args.items() if name in names}
        return {**ready, CONTEXT: given.get(CONTEXT)} if wants_context else ready

    def run(args: Mapping[str, Any], **given: Any) -> str:
        return _as_json(function(**keywords(args, given)))

    async def run_async(args: Mapping[str, Any], **given: Any) -> str:
        return _as_json(await function(**keywords(args, given)))

    return run_async if inspect.iscoroutinefunction(function) else run


def _as_json(value: Any) -> str:
    """Objects as they are, anything else as `{"result": …}`."""
    plain = msgspec.to_builtins(value)
    return tool_result(plain if isinstance(plain, dict) else {"result": plain})
