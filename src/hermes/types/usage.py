"""What a model call used, and why it stopped."""

from dataclasses import dataclass
from typing import Literal

Stop = Literal["end", "calls", "length", "refusal", "error"]
"""Why a reply ended: by itself, to call tools, cut by the output limit, refused by the provider, or in an unknown way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or more model calls; `requests` counts every request made, retries included."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read: int = 0
    reasoning: int = 0
    requests: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read=self.cache_read + other.cache_read,
            reasoning=self.reasoning + other.reasoning,
            requests=self.requests + other.requests,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens - other.input_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
            cache_read=self.cache_read - other.cache_read,
            reasoning=self.reasoning - other.reasoning,
            requests=self.requests - other.requests,
        )


NO_USAGE = Usage()
