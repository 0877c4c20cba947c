"""Sampling, limits and depth of reasoning, by the model's profile."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from hermes.types.request import Request

SCALE = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Depths of reasoning, weakest first."""


def sampling(request: Request) -> dict[str, Any]:
    """The parameters that a request sets; what it leaves open, and what the model does not take, is not
    sent.
    """
    profile, without = request.endpoint.profile, request.without
    named: dict[str, Any] = {}
    if "temperature" not in without:
        named["temperature"] = request.options.temperature
    if "limit" not in without:
        named[profile.limit_name] = request.options.max_output
    named |= profile.fixed
    if without.isdisjoint({"effort", "thinking"}):
        named |= _depth(request)
    left_out = profile.omits | (without & {"temperature"})
    return {name: value for name, value in named.items() if value is not None and name not in left_out}


def output_schema(request: Request) -> Mapping[str, Any] | None:
    """The schema that the server is to hold the reply to; None where none is wanted, or it would keep the
    model from calling tools.
    """
    schema = request.options.output_schema
    if schema is None or schema.get("type") != "object" or "output_schema" in request.without:
        return None
    return schema if not request.tools or request.endpoint.profile.output_schema else None


def nearest(wanted: str, accepted: Sequence[str]) -> str:
    """The accepted effort that is nearest to the wanted one, the weaker of two; empty when there is none."""
    if wanted in accepted or wanted not in SCALE:
        return wanted if wanted in accepted else ""
    place = SCALE.index(wanted)
    known = [effort for effort in SCALE if effort in accepted]
    return min(known, key=lambda effort: abs(SCALE.index(effort) - place), default="")


def _depth(request: Request) -> dict[str, Any]:
    profile, wanted = request.endpoint.profile, request.options.effort
    if not wanted:
        return {}
    if profile.thinking == "toggle":
        on, off = profile.toggle
        return _nested(profile.toggle_field, off if wanted == "none" else on)
    effort = nearest(wanted, profile.efforts) if profile.thinking == "effort" else ""
    return _nested(profile.effort_field, effort) if effort else {}


def _nested(path: str, value: Any) -> dict[str, Any]:
    for name in reversed(path.split(".")):
        value = {name: value}
    return dict(value)


BUDGETS: Mapping[str, int] = {
    "minimal": 1024,
    "low": 4096,
    "medium": 8192,
    "high": 16_384,
    "xhigh": 32_768,
    "max": 63_000,
}
LEAST_BUDGET = 1024
DEFAULT_LIMIT = 32_000


class OutputLimits(Struct, frozen=True):
    """The output limit in tokens, reasoning included; `fields` ask for reasoning; `thinks` says that they
    switch it on.
    """

    limit: int
    fields: Mapping[str, Any]
    thinks: bool = False


def output_limits(request: Request) -> OutputLimits:
    """What a request asks for, within what its endpoint and profile allow."""
    cap, usual = request.endpoint.max_output, max(1, min(DEFAULT_LIMIT, request.endpoint.context_window // 3))
    wanted = request.options.max_output or usual
    limit, ceiling = min(wanted, cap or wanted), cap or usual
    effort, style = request.options.effort, request.endpoint.profile.thinking
    if not effort or not style or request.without & {"effort", "thinking"}:
        return OutputLimits(limit, {})
    if effort == "none":
        return OutputLimits(
            limit, {"thinking": {"type": "disabled"}} if style in {"adaptive", "toggle"} else {}
        )
    if style == "budget":
        return _budgeted(effort, limit, max(limit, ceiling))
    named = {"output_config": {"effort": nearest(effort, request.endpoint.profile.efforts or SCALE)}}
    if style == "adaptive":
        return OutputLimits(limit, {"thinking": {"type": "adaptive"}, **named}, thinks=True)
    return (
        OutputLimits(limit, named)
        if style == "effort"
        else OutputLimits(limit, {"thinking": {"type": "enabled"}}, thinks=True)
    )


def _budgeted(effort: str, limit: int, ceiling: int) -> OutputLimits:
    """OutputLimits for the reasoning beside the answer; where there is too little, a quarter is left to the
    answer.
    """
    wanted = BUDGETS.get(effort, BUDGETS["medium"])
    total = min(limit + wanted, ceiling)
    budget = min(wanted, max(total - limit, total * 3 // 4))
    if budget < LEAST_BUDGET:
        return OutputLimits(limit, {})
    return OutputLimits(total, {"thinking": {"type": "enabled", "budget_tokens": budget}}, thinks=True)
