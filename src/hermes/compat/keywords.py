"""Which keywords a function of a plugin takes."""

import inspect
from collections.abc import Callable
from typing import Any


def taken(function: Callable[..., Any], **keywords: Any) -> dict[str, Any]:
    """The keywords that a function takes: older plugins take fewer."""
    parameters = inspect.signature(function).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return keywords
    return {name: value for name, value in keywords.items() if name in parameters}
