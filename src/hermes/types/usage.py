"""What a model call used, and why it stopped."""

from typing import Literal

from msgspec import Struct

Stop = Literal["end", "calls", "length", "refusal", "error", "repetition"]
"""Why a reply ended: by itself, to call tools, cut by the output limit, refused by the provider, in an
unknown way, or stopped by us because it said the same on and on.
"""


class Usage(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """Tokens and money of one or more model calls.

    `input_tokens` is the whole prompt, what was read from a cache (`cache_read`) and written to one
    (`cache_write`) included; `output_tokens` includes `reasoning`. `requests` counts every request made,
    failed ones too. `cost` is in US dollars by the price data; `unpriced` counts the tokens for which no
    price is known.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    requests: int = 0
    cost: float = 0.0
    unpriced: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            reasoning=self.reasoning + other.reasoning,
            requests=self.requests + other.requests,
            cost=self.cost + other.cost,
            unpriced=self.unpriced + other.unpriced,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens - other.input_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
            cache_read=self.cache_read - other.cache_read,
            cache_write=self.cache_write - other.cache_write,
            reasoning=self.reasoning - other.reasoning,
            requests=self.requests - other.requests,
            cost=self.cost - other.cost,
            unpriced=self.unpriced - other.unpriced,
        )


NO_USAGE = Usage()
