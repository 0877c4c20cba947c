"""JSON that a model wrote: read it, mend what is unambiguous, say what is wrong with the rest."""

import json
from dataclasses import dataclass, field
from typing import Any

import msgspec

from hermes.lib.codec import mended


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """An object, whether the text had to be mended for it, or the sentence that says why there is none."""

    value: dict[str, Any] = field(default_factory=dict)
    repaired: bool = False
    fault: str = ""


def parse_arguments(text: str) -> Parsed:
    """The arguments of a tool call; nothing is ever guessed: what can be read in two ways is a fault (invariant 22)."""
    if not text.strip():
        return Parsed()
    try:
        value, repaired = msgspec.json.decode(text), False
    except (msgspec.DecodeError, UnicodeEncodeError):
        try:
            value, repaired = mended(json.loads(text, strict=False)), True  # raw newlines and tabs inside strings
        except (ValueError, RecursionError) as error:
            return Parsed(fault=f"The arguments are not valid JSON ({error}), so the call was not run. Make it again with a JSON object.")
    if isinstance(value, str):
        inner = parse_arguments(value)  # an object wrapped in a string
        return Parsed(value=inner.value, repaired=True, fault=inner.fault)
    if value is None:
        return Parsed(repaired=True)
    if not isinstance(value, dict):
        return Parsed(fault="The arguments are JSON but not an object, so the call was not run. Make it again with a JSON object.")
    return Parsed(value=value, repaired=repaired)
