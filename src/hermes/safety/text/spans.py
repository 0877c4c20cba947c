"""A stretch of a text whose form was found, and why."""

from msgspec import Struct


class TextSpan(Struct, frozen=True, kw_only=True):
    """A stretch of a text that was found: `kind` names its form, `rule` what found it, `why` goes after
    "because".
    """

    start: int
    end: int
    kind: str
    rule: str
    why: str
