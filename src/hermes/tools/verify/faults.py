"""What is found wrong with a tool, and by which check."""

from typing import Literal

from msgspec import Struct

Check = Literal[
    "file",
    "schema",
    "availability",
    "arguments",
    "result",
    "error",
    "size",
    "read-only",
    "repeat",
    "parallel",
    "cancellation",
    "leftovers",
    "program",
]


class ToolFault(Struct, frozen=True):
    """A promise that a tool breaks: the check that found it, and what happened in a sentence."""

    check: Check
    words: str
