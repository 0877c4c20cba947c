"""Bodies of requests that plugins have changed: what stays as it was, and what the model reads of them."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from hermes.models.transports.common.encoding import encode

_KEPT: Final = ("model", "stream", "stream_options", "n", "best_of")
"""What makes a request this one: whom it asks, how the answer comes, and how many of them."""
_LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_MESSAGES: Final = ("messages", "input")


def within(own: bytes, wanted: bytes) -> bytes:
    """The wanted body where it may differ from ours: nobody makes it another request, or one whose answer may
    be longer.
    """
    before, made = _tree(own), _tree(wanted)
    made = {name: value for name, value in made.items() if name not in _KEPT}
    made |= {name: before[name] for name in _KEPT if name in before}
    limits = [before[name] for name in _LIMITS if name in before]
    for name in _LIMITS:
        if limits and name in made:
            made[name] = min(made[name], *limits) if isinstance(made[name], int) else limits[0]
    if limits and not any(name in made for name in _LIMITS):
        made |= {name: before[name] for name in _LIMITS if name in before}
    return encode(made)


def messages_in(tree: Mapping[str, Any]) -> list[Any] | None:
    """The messages of a body; None where it has none, and is no request."""
    return next((tree[name] for name in _MESSAGES if isinstance(tree.get(name), list)), None)


def shown(body: bytes) -> list[Any]:
    """What a model reads, in order, without the marks that only say what to keep of it."""
    tree = _tree(body)
    return [_unmarked(one) for one in (tree.get("system"), *(messages_in(tree) or ()))]


def _tree(body: bytes) -> dict[str, Any]:
    tree: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])
    return tree


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(one) for one in value]
    if isinstance(value, dict):
        return {name: _unmarked(one) for name, one in value.items() if name != "cache_control"}
    return value
