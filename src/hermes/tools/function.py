"""A tool from a typed Python function: schema from its annotations, words from its docstring."""

import inspect
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, Unpack, get_type_hints, overload

from msgspec import Struct
from msgspec.structs import replace

from hermes.tools.function_schema import converted, docstring_words, parameters_schema, plain_value
from hermes.tools.needs import missing_variables
from hermes.tools.registry import tool_result
from hermes.types.error import ConfigError
from hermes.types.tool import UNDECLARED, ToolEntry, ToolManifest

logger = logging.getLogger(__name__)

CONTEXT = "ctx"
TOOLSET = "functions"
_NAMED = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


class FunctionTool(Struct, frozen=True):
    """A function that is a tool: it can still be called as the function it is."""

    function: Callable[..., Any]
    entry: ToolEntry

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """What the function gives."""
        return self.function(*args, **keywords)


class _Declared(TypedDict, total=False):
    """What `@hermes.tool(...)` takes."""

    outside: bool
    requires_env: Sequence[str]
    parallel: bool
    read_only: bool
    manifest: ToolManifest


@overload
def tool(function: Callable[..., Any], **declared: Unpack[_Declared]) -> FunctionTool: ...
@overload
def tool(**declared: Unpack[_Declared]) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(
    function: Callable[..., Any] | None = None, **declared: Unpack[_Declared]
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a tool of a function: each parameter needs an annotation, `ctx` (if there) gets the tool context.

    The docstring's first paragraph describes the tool; its sections in the style of Google, NumPy or Sphinx,
    or lines of the form `name: words`, and `Annotated[type, words]` describe the parameters. Types are those
    of JSON, dataclasses, paths, pydantic models and msgspec.Struct. What the function gives is sent to the
    model as JSON. Calls of async functions run side by side, those of plain ones (in threads) with
    `@tool(parallel=True)`; `parallel=False` keeps an async one alone. `read_only=True` says that it changes
    nothing: it runs side by side with others, and where a session may only read. What it gives counts as text
    from outside, data for the model, unless `outside=False` says that it is the user's own or `manifest` that
    it connects to nothing. `requires_env` names the secrets it needs: `ctx.secret("NAME")` gives one, and a
    session in whose environment one is not set is not offered the tool. `manifest` declares what it does;
    TypeError for a function whose parameters a model cannot give.
    """
    if unknown := sorted(declared.keys() - _Declared.__annotations__.keys()):
        raise TypeError(f"@tool takes no {unknown[0]}; it takes {', '.join(_Declared.__annotations__)}.")
    if isinstance(declared.get("requires_env"), str):
        raise TypeError(f"@tool: requires_env is a list of names, not {declared['requires_env']!r}.")
    if function is None:
        return lambda given: _made(given, declared)
    return _made(function, declared)


class FunctionSource:
    """The functions of one session as a source of tools; one whose secrets are not set is left out.

    TypeError for what is no tool, ConfigError for two of one name.
    """

    generation = 0

    def __init__(self, functions: Sequence[FunctionTool], environ: Mapping[str, str]) -> None:
        self._entries: dict[str, ToolEntry] = {}
        for one in functions:
            if not hasattr(one, "entry"):
                called = getattr(one, "__name__", repr(one))
                raise TypeError(f"{called} is no tool of a session; decorate the function with @hermes.tool.")
        counts = Counter(one.entry.name for one in functions)
        if twice := sorted(name for name, count in counts.items() if count > 1):
            raise ConfigError(f"Two tools are called {twice[0]}; the model could not tell them apart.")
        for one in sorted(functions, key=lambda each: each.entry.name):
            missing = missing_variables(one.entry, environ)
            if missing:
                logger.warning(
                    "The tool %s is left out: it needs %s, not set in the environment",
                    one.entry.name,
                    ", ".join(missing),
                )
            else:
                self._entries[one.entry.name] = one.entry

    def entries(self) -> dict[str, ToolEntry]:
        """The tools by name, sorted."""
        return dict(self._entries)


def _made(function: Callable[..., Any], declared: _Declared) -> FunctionTool:
    _check_form(function)
    hints = _hints(function)
    parameters = [one for one in inspect.signature(function).parameters.values() if one.name != CONTEXT]
    missing = [one.name for one in parameters if one.name not in hints]
    if missing:
        raise TypeError(
            f"@tool {function.__name__}: annotate {', '.join(missing)}, for the model must know what to pass."
        )
    description, words = docstring_words(inspect.getdoc(function) or "")
    schema = {
        "name": function.__name__,
        "description": description,
        "parameters": parameters_schema(function.__name__, parameters, hints, words),
    }
    is_async = inspect.iscoroutinefunction(function)
    manifest, read_only = declared.get("manifest", UNDECLARED), declared.get("read_only", False)
    if read_only:
        manifest = replace(manifest, effects=())
    if manifest.parallel == "never" and declared.get("parallel", is_async or read_only):
        manifest = replace(manifest, parallel="safe")
    secrets = tuple(declared.get("requires_env", ()))
    entry = ToolEntry(
        name=function.__name__,
        toolset=TOOLSET,
        schema=schema,
        handler=_handler(function, parameters, hints),
        is_async=is_async,
        description=description,
        emoji="🔹",
        outside=declared.get("outside", True if read_only else None),
        requires_env=secrets,
        manifest=replace(manifest, secrets=secrets or manifest.secrets),
        source=f"{function.__module__}.{function.__qualname__}",
    )
    return FunctionTool(function, entry)


def _check_form(function: Callable[..., Any]) -> None:
    """TypeError when a model could not call it: by the names of its arguments, for one result."""
    name = getattr(function, "__name__", "")
    if not name.isidentifier():
        raise TypeError(f"@tool takes a function with a name, not {function!r}.")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"@tool {name}: return one value instead of yielding several.")
    odd = [one for one in inspect.signature(function).parameters.values() if one.kind not in _NAMED]
    if odd:
        raise TypeError(
            f"@tool {name}: make {', '.join(str(one.name) for one in odd)} a parameter that can be given by"
            " name (no /, * or **), for the model names each argument."
        )


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, AttributeError) as error:
        raise TypeError(
            f"@tool {function.__name__}: an annotation cannot be looked up ({error}); import what it names at"
            " the top of the module, not under TYPE_CHECKING."
        ) from error


def _handler(
    function: Callable[..., Any], parameters: list[inspect.Parameter], hints: Mapping[str, Any]
) -> Callable[..., Any]:
    wants_context = CONTEXT in inspect.signature(function).parameters
    names = {one.name for one in parameters}

    def keywords(args: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        ready = {name: converted(value, hints[name]) for name, value in args.items() if name in names}
        return {**ready, CONTEXT: given.get(CONTEXT)} if wants_context else ready

    def run(args: Mapping[str, Any], **given: Any) -> str:
        return _as_json(function(**keywords(args, given)))

    async def run_async(args: Mapping[str, Any], **given: Any) -> str:
        return _as_json(await function(**keywords(args, given)))

    return run_async if inspect.iscoroutinefunction(function) else run


def _as_json(value: Any) -> str:
    """Objects as they are, anything else as `{"result": …}`."""
    plain = plain_value(value)
    return tool_result(plain if isinstance(plain, dict) else {"result": plain})
