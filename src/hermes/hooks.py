"""Layer 4. Named hook points with specs; what is registered is checked against its spec at once."""

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

logger = logging.getLogger(__name__)

SPECS: Final[Mapping[str, frozenset[str]]] = {
    "pre_tool_call": frozenset({"tool_name", "args", "task_id", "session_id", "tool_call_id"}),
    "post_tool_call": frozenset({"tool_name", "args", "result", "task_id", "session_id", "tool_call_id", "duration_ms"}),
}
"""Hook points and the arguments they offer; a callback takes any subset of them, or `**kwargs`."""

Callback = Callable[..., Any]


class Hooks:
    """Callbacks by hook point, in the order they were registered."""

    def __init__(self) -> None:
        self._callbacks: dict[str, list[tuple[Callback, frozenset[str] | None]]] = {}

    def register(self, point: str, callback: Callback) -> None:
        """Add a callback; ValueError when the point is unknown or the callback wants what the point does not offer."""
        if point not in SPECS:
            raise ValueError(f"There is no hook {point!r}; there are {', '.join(sorted(SPECS))}.")
        self._callbacks.setdefault(point, []).append((callback, _wanted(point, callback)))

    def __contains__(self, point: str) -> bool:
        return point in self._callbacks

    def call(self, point: str, **offered: Any) -> list[Any]:
        """What each callback gave, None left out; a callback that fails is logged and counts as None."""
        answers = (self._one(point, callback, wanted, offered) for callback, wanted in self._callbacks.get(point, ()))
        return [answer for answer in answers if answer is not None]

    def _one(self, point: str, callback: Callback, wanted: frozenset[str] | None, offered: Mapping[str, Any]) -> Any:
        chosen = offered if wanted is None else {name: value for name, value in offered.items() if name in wanted}
        try:
            return callback(**chosen)
        except Exception:
            logger.exception("Hook %s: %s failed", point, getattr(callback, "__qualname__", callback))
            return None


def _wanted(point: str, callback: Callback) -> frozenset[str] | None:
    """The arguments to hand over; None for all."""
    parameters = inspect.signature(callback).parameters.values()
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return None
    names = frozenset(parameter.name for parameter in parameters)
    unknown = sorted(names - SPECS[point])
    if unknown:
        raise ValueError(f"Hook {point} does not offer {', '.join(unknown)}; it offers {', '.join(sorted(SPECS[point]))}.")
    return names
