"""Sampling, limits and depth of reasoning of a chat completion, by the model's profile."""

from collections.abc import Sequence
from typing import Any

from hermes.types.request import Request

SCALE = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Depths of reasoning, weakest first."""


def sampling(request: Request) -> dict[str, Any]:
    """The parameters that a request sets; what it leaves open, and what the model does not take, is not sent."""
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
