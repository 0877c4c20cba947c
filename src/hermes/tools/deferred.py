"""Tools that a model is not shown but finds: which ones, a search over their definitions, and calls by name.

A definition is sent with every request, so that many of them cost more than the conversation. What is found
comes as a tool's result; the prompt's prefix stays as it is.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from hermes.lib.jsonfix import parse_arguments
from hermes.tools.definitions import Definition
from hermes.tools.discovery import BUILT_IN
from hermes.types.message import ToolCall
from hermes.types.tool import ToolSnapshot

TOOLSET: Final = "tool_search"
"""The tools that find and call the others; they are offered where there are others."""
SEARCH, CALL = "tool_search", "tool_call"
NAMED: Final = 600
"""Characters of names that the description of the search tells."""
_words: Final = re.compile(r"[^\W_]+").findall


def left_to_find(found: ToolSnapshot, kept: str) -> tuple[Definition, ...]:
    """The definitions that a model can do without at first: not of a built-in tool, nor of the toolset
    `kept`.
    """
    entries = ((one, found.tools[_name(one)]) for one in found.definitions)
    return tuple(one for one, entry in entries if entry.source != BUILT_IN and entry.toolset != kept)


def deferred(found: ToolSnapshot, left: Sequence[Definition], bridge: ToolSnapshot) -> ToolSnapshot:
    """The snapshot with some of its definitions `left` to be found by the tools of `bridge`."""
    return replace(
        found,
        tools={**found.tools, **bridge.tools},
        definitions=(
            *(one for one in found.definitions if one not in left),
            *(_telling(one, left) for one in bridge.definitions),
        ),
        deferred=tuple(left),
    )


def search(query: str, found: Iterable[Definition], limit: int) -> list[Definition]:
    """The definitions that fit the words of a query best, best first; the first ones where it has none."""
    known = [(one, _terms(one)) for one in found]
    asked = {word.casefold() for word in _words(query)}
    if not asked:
        return [one for one, _ in known][:limit]
    rarity = {word: _rarity(word, [terms for _, terms in known]) for word in asked}
    scored = [(sum(rarity[word] * _weight(word, terms) for word in asked), one) for one, terms in known]
    best = sorted((one for one in scored if one[0] > 0), key=lambda one: -one[0])
    return [one for _, one in best[:limit]]


def called(call: ToolCall, tools: ToolSnapshot) -> ToolCall:
    """What a call through tool_call calls: the tool with its own arguments, or a call with a fault. Any other
    call as it is.
    """
    if call.name != CALL or call.fault or CALL not in tools.tools:
        return call
    name, arguments = str(call.arguments.get("name", "")), call.arguments.get("arguments") or {}
    if isinstance(arguments, str):
        parsed = parse_arguments(arguments)
        arguments, fault = parsed.value, parsed.fault
    else:
        fault = "" if isinstance(arguments, Mapping) else "arguments is an object with what the tool takes."
    if name not in tools.tools or name == CALL:
        fault = f"There is no tool {name!r} to call; {SEARCH} finds those that there are."
    return replace(call, fault=fault) if fault else replace(call, name=name, arguments=arguments)


def _telling(definition: Definition, left: Sequence[Definition]) -> Definition:
    """A definition of the bridge; that of the search names what there is to find."""
    function = definition["function"]
    if function["name"] != SEARCH:
        return definition
    names = ", ".join(map(_name, left))
    told = names if len(names) <= NAMED else names[:NAMED].rpartition(",")[0] + " and more"
    return {
        **definition,
        "function": {**function, "description": f"{function['description']} There are: {told}."},
    }


def _name(definition: Definition) -> str:
    return str(definition["function"]["name"])


def _terms(definition: Definition) -> Mapping[str, float]:
    """The words of a definition with what each is worth: those of its name most."""
    function: Mapping[str, Any] = definition["function"]
    parameters = function["parameters"].get("properties", {})
    told = dict.fromkeys(_folded(f"{function['description']} {' '.join(parameters)}"), 1.0)
    return {**told, **dict.fromkeys(_folded(function["name"]), 3.0)}


def _folded(text: str) -> Iterable[str]:
    return (word.casefold() for word in _words(text))


def _weight(word: str, terms: Mapping[str, float]) -> float:
    """What a word of a query is worth for a tool: half where it is a part of a word there, or the other way
    round.
    """
    if word in terms:
        return terms[word]
    parts = (worth / 2 for term, worth in terms.items() if len(word) > 2 < len(term) and _nested(word, term))
    return max(parts, default=0.0)


def _nested(one: str, other: str) -> bool:
    return one in other or other in one


def _rarity(word: str, every: Sequence[Mapping[str, float]]) -> float:
    """What a word of a query tells: most where few tools have it (BM25's inverse document frequency)."""
    holding = sum(word in terms for terms in every)
    return math.log(1 + (len(every) - holding + 0.5) / (holding + 0.5))
