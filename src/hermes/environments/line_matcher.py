"""Find lines by a regular expression in a process of its own, which can be killed.

Python's matcher needs years for some expressions; it cannot be interrupted, and all threads wait for it. This
file is run as a script with the standard library alone. It reads a line of JSON with the expression and the
seconds it may take, then batches: a line of JSON with the sizes of the texts and how many lines are wanted,
and the texts. For each batch it writes a line of JSON: a list of text number, line number and line.
"""

import json
import re
import resource
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import BinaryIO, Final

LONGEST_LINE: Final = 2_000
"""Characters of a line that are given."""

_SEARCHED: Final = 20_000  # characters of a line that are looked at

Found = tuple[int, int, str]
"""The number of a text, from 0, that of a line in it, from 1, and the line."""


def matching_lines(expression: re.Pattern[str], texts: Sequence[str]) -> Iterator[Found]:
    """The lines of the texts in which the expression is found."""
    for number, text in enumerate(texts):
        for at, line in enumerate(text.splitlines(), start=1):
            if expression.search(line, 0, _SEARCHED):
                yield number, at, line[:LONGEST_LINE]


def serve(source: BinaryIO, target: BinaryIO) -> None:
    """Answer batches until the input ends."""
    asked = json.loads(source.readline())
    expression = re.compile(asked["pattern"])
    seconds = int(asked["seconds"]) + 1  # nobody may be left to kill it
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    while header := source.readline():
        batch = json.loads(header)
        texts = [source.read(size).decode("utf-8", "replace") for size in batch["sizes"]]
        found = list(islice(matching_lines(expression, texts), batch["limit"]))
        target.write(json.dumps(found).encode() + b"\n")
        target.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
