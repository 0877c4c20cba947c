"""Which fields of a request to a model a plugin's callback may add."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

logger = logging.getLogger(__name__)

POINTS: Final = ("llm_request", "llm_execution")
SAMPLING: Final = frozenset(
    (
        *("temperature", "top_p", "top_k", "top_a", "min_p", "typical_p", "seed", "stop", "stop_sequences"),
        *("frequency_penalty", "presence_penalty", "repetition_penalty", "logit_bias"),
        *("max_tokens", "max_completion_tokens", "max_output_tokens"),
    )
)
"""Fields by which the same model answers the same request otherwise, and that cost nothing."""


class RequestBound:
    """What of a request that one plugin has changed is had: no field that was not there before, but those of
    sampling and those that the user lets the plugin add. What is left out is logged once.
    """

    def __init__(self, plugin: str, allowed: Iterable[str]) -> None:
        self._plugin, self._allowed = plugin, SAMPLING.union(allowed)
        self._told: set[str] = set()

    def __call__(self, before: Mapping[str, Any], after: Any) -> Any:
        """The request after, without the fields that may not be added."""
        if not isinstance(after, Mapping):
            return after
        left = {name for name in after if name not in before and name not in self._allowed}
        if new := sorted(map(str, left - self._told)):
            logger.warning(
                "The plugin %s may not add %s to requests; plugins.entries.%s.request_fields lets it.",
                *(self._plugin, ", ".join(new), self._plugin),
            )
        self._told |= left
        return {name: value for name, value in after.items() if name not in left}
