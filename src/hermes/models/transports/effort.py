"""How long a reply may be and how hard the model is to think, in the words that Claude's two wires share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hermes.models.transports.parameters import SCALE, nearest
from hermes.types.request import Request

BUDGETS: Mapping[str, int] = {"minimal": 1024, "low": 4096, "medium": 8192, "high": 16_384, "xhigh": 32_768, "max": 63_000}
LEAST_BUDGET = 1024
DEFAULT_LIMIT = 32_000


@dataclass(frozen=True, slots=True)
class Room:
    """The output limit in tokens, reasoning included; `fields` ask for reasoning; `thinks` says that they switch it on."""

    limit: int
    fields: Mapping[str, Any]
    thinks: bool = False


def room(request: Request) -> Room:
    """What a request asks for, within what its endpoint and profile allow."""
    cap, usual = request.endpoint.max_output, max(1, min(DEFAULT_LIMIT, request.endpoint.context_window // 3))
    wanted = request.options.max_output or usual
    limit, ceiling = min(wanted, cap or wanted), cap or usual
    effort, style = request.options.effort, request.endpoint.profile.thinking
    if not effort or not style or request.without & {"effort", "thinking"}:
        return Room(limit, {})
    if effort == "none":
        return Room(limit, {"thinking": {"type": "disabled"}} if style in {"adaptive", "toggle"} else {})
    if style == "budget":
        return _budgeted(effort, limit, max(limit, ceiling))
    named = {"output_config": {"effort": nearest(effort, request.endpoint.profile.efforts or SCALE)}}
    if style == "adaptive":
        return Room(limit, {"thinking": {"type": "adaptive"}, **named}, thinks=True)
    return Room(limit, named) if style == "effort" else Room(limit, {"thinking": {"type": "enabled"}}, thinks=True)


def _budgeted(effort: str, limit: int, ceiling: int) -> Room:
    """Room for the reasoning beside the answer; where there is too little, a quarter is left to the answer."""
    wanted = BUDGETS.get(effort, BUDGETS["medium"])
    total = min(limit + wanted, ceiling)
    budget = min(wanted, max(total - limit, total * 3 // 4))
    if budget < LEAST_BUDGET:
        return Room(limit, {})
    return Room(total, {"thinking": {"type": "enabled", "budget_tokens": budget}}, thinks=True)
