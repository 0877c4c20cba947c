import math

import pytest

from hermes.models.transports.common.drafts import MOST_TOKENS, count, tokens


@pytest.mark.parametrize(
    ("told", "counted"),
    [
        (None, 0), (0, 0), (12, 12), (12.0, 12), (MOST_TOKENS, MOST_TOKENS), (MOST_TOKENS + 1, 0), (10**25, 0), (-1, 0),
        (math.inf, 0), (-math.inf, 0), (math.nan, 0), (1e300, 0),
    ],
)  # fmt: skip
def test_what_no_request_can_have_used_is_not_counted(told: float | None, counted: int) -> None:
    assert (tokens(told), count({"n": told}, "n")) == (counted, counted)
