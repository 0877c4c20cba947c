"""Group the lines of a log by shape: what varies (numbers, times, addresses, quoted words) becomes a mark.

    log_shapes.py [FILE …] [--rare] [--match REGEX] [--most 40]

Each shape has its count, its first and last line, and an example. Without FILE it reads standard
input; .gz is understood. --rare puts rare shapes first. Lines that begin with a space are left out.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

MARKS = (
    (r"\x1b\[[0-9;]*m", ""),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?", "<time>"),
    (r"\b\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}", "<time>"),
    (r"\b[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d\b", "<time>"),
    (r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b", "<uuid>"),
    (r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b", "<ip>"),
    (r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b", "<mail>"),
    (r"\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b", "<hex>"),
    (r"\b0x[0-9a-fA-F]+\b", "<hex>"),
    (r"\"[^\"]{24,}\"|'[^']{24,}'", "<words>"),
    (r"(?<![\w<])[-+]?\d+(?:[.,]\d+)*", "<n>"),
)
PATTERNS = [(re.compile(pattern), mark) for pattern, mark in MARKS]


def shape(line: str) -> str:
    for pattern, mark in PATTERNS:
        line = pattern.sub(mark, line)
    return line[:300]


def lines_of(files: list[Path]) -> Iterator[str]:
    if not files:
        yield from (raw.decode("utf-8", "replace").rstrip("\r\n") for raw in sys.stdin.buffer)
    for file in files:
        opener = gzip.open if file.suffix == ".gz" else open
        with opener(file, "rb") as found:
            yield from (raw.decode("utf-8", "replace").rstrip("\r\n") for raw in found)


def grouped(
    lines: Iterable[str], wanted: re.Pattern[str]
) -> tuple[dict[str, list[int]], dict[str, str], int]:
    """For each shape its count, first and last line, and an example; and how many lines there were."""
    places: dict[str, list[int]] = {}
    examples: dict[str, str] = {}
    number = 0
    for number, line in enumerate(lines, 1):
        if not line.strip() or line[0] in " \t" or not wanted.search(line):
            continue
        found = shape(line)
        place = places.setdefault(found, [0, number, number])
        place[0], place[2] = place[0] + 1, number
        examples.setdefault(found, line)
    return places, examples, number


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--rare", action="store_true")
    parser.add_argument("--match", default="", type=re.compile)
    parser.add_argument("--most", type=int, default=40)
    asked = parser.parse_args()
    places, examples, total = grouped(lines_of(asked.files), re.compile(asked.match))
    order = sorted(
        places, key=lambda one: (places[one][0] if asked.rare else -places[one][0], places[one][1])
    )
    for one in order[: asked.most]:
        count, first, last = places[one]
        print(f"{count:8}  lines {first}-{last}  {one}")
        if one != examples[one]:
            print(f"          {examples[one][:240]}")
    print(f"{total} lines, {len(places)} shapes, {max(len(places) - asked.most, 0)} not shown")


if __name__ == "__main__":
    main()
