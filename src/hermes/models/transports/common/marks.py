"""Requests in which no text is read as a mark between speakers: only the model's template writes these."""

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec


def without_marks(body: bytes, marks: Sequence[str]) -> bytes:
    """A body of JSON with a space in each of these marks that a text in it has: it reads the same, and is no
    longer one token.
    """
    return _any_of(tuple(marks)).sub(rb"\g<0> ", body) if marks else body


@lru_cache(maxsize=8)
def _any_of(marks: tuple[str, ...]) -> re.Pattern[bytes]:
    """Finds the first letter of each."""
    found = sorted(marks, key=len, reverse=True)
    return re.compile(b"|".join(b"%s(?=%s)" % (_written(one[0]), _written(one[1:])) for one in found))


def _written(text: str) -> bytes:
    return re.escape(msgspec.json.encode(text)[1:-1])
