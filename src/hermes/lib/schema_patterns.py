"""JSON Schemas whose regular expressions are compared only where that ends soon: they come from servers and
files of others, and one comparison can take longer than anybody waits, with everything else standing still.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any, Final

from msgspec import Struct

from hermes.lib.lazy import import_object

_MOST: Final = 10_000_000
"""Steps of a comparison: a fifth of a second."""
_LONGEST: Final = 64
_PART: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?|\{\d*,?\d*\}|.", re.DOTALL)
_QUANTIFIER: Final = re.compile(r"[*+]|\{\d*,?\d*\}")
_FIXED: Final = re.compile(r"\{\d*\}")
_OF_KEYS: Final = ("patternProperties", "additionalProperties", "unevaluatedProperties")

Keyword = Callable[[Any, Any, Any, Any], Iterator[Any] | None]


class _Cost(Struct, frozen=True):
    """How many parts of an expression may take any number of letters, and whether one repeats what may itself
    be read in several ways.
    """

    repeats: int
    nested: bool


@cache
def schema_checker() -> Any:
    """The validator of JSON Schema 2020-12. A text for which a comparison may take too long counts as one
    that fits.
    """
    base = import_object("jsonschema:Draft202012Validator")
    guarded = {name: _of_keys(base.VALIDATORS[name]) for name in _OF_KEYS}
    own = {"pattern": _of_text(base.VALIDATORS["pattern"]), **guarded}
    return import_object("jsonschema.validators:extend")(base, own)


def takes_long(pattern: str, text: str) -> bool:
    """Whether a search for an expression in a text may take more steps than anybody waits for."""
    cost = _cost(pattern)
    steps = 1 << min(len(text), _LONGEST) if cost.nested else int(len(text) ** min(cost.repeats, _LONGEST))
    return steps > _MOST


def _of_text(check: Keyword) -> Keyword:
    def bounded(validator: Any, pattern: Any, given: Any, schema: Any) -> Iterator[Any]:
        if not (isinstance(given, str) and takes_long(pattern, given)):
            yield from check(validator, pattern, given, schema) or ()

    return bounded


def _of_keys(check: Keyword) -> Keyword:
    def bounded(validator: Any, value: Any, given: Any, schema: Any) -> Iterator[Any]:
        keys = given if isinstance(given, dict) else ()
        patterns = schema.get("patternProperties", ())
        if not any(takes_long(pattern, key) for pattern in patterns for key in keys):
            yield from check(validator, value, given, schema) or ()

    return bounded


@lru_cache(maxsize=512)
def _cost(pattern: str) -> _Cost:
    repeats, nested = 0, False
    open_groups, before, inside = [False], "", False
    for part in _PART.findall(pattern):
        if part in {"(", "(?"}:
            open_groups.append(False)
        elif part == ")" and len(open_groups) > 1:
            inside = open_groups.pop()
            open_groups[-1] |= inside
        elif _QUANTIFIER.fullmatch(part):
            repeats += not _FIXED.fullmatch(part)
            nested |= before == ")" and inside
            open_groups[-1] |= not _FIXED.fullmatch(part)
        elif part in {"|", "?"}:
            open_groups[-1] |= part == "|" or not _QUANTIFIER.fullmatch(before)
        before = part
    return _Cost(repeats, nested)
