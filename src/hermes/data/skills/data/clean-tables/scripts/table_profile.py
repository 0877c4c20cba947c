"""Say what is in a CSV or JSON-lines file, and what is wrong with it; the standard library is enough.

    table_profile.py FILE [--delimiter ";"] [--encoding cp1252]

For each column: how often it is there, how many values differ, which forms they have and how often, with
an example of each. Before that: encoding, delimiter, rows with another number of fields, duplicates.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

FORMS = (
    ("integer", r"[+-]?\d+"),
    ("integer with leading zero", r"0\d+"),
    ("decimal point", r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?"),
    ("decimal comma", r"[+-]?\d+,\d+"),
    ("thousands", r"[+-]?\d{1,3}(?:[,.' ]\d{3})+(?:[.,]\d+)?"),
    ("per cent", r"[+-]?[\d.,]+ ?%"),
    ("money", r"[€$£] ?[\d.,']+|[\d.,']+ ?(?:[€$£]|EUR|USD|GBP|CHF)"),
    ("date YYYY-MM-DD", r"\d{4}-\d\d-\d\d"),
    ("time stamp", r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"),
    ("date with /", r"\d{1,2}/\d{1,2}/\d{2,4}"),
    ("date with .", r"\d{1,2}\.\d{1,2}\.\d{2,4}"),
    ("true or false", r"(?i:true|false|yes|no|y|n)"),
    ("says that it is missing", r"(?i:n/?a|null|none|nan|-+|\?+|unknown|#n/a|\\n)"),
)
PATTERNS = [(name, re.compile(pattern)) for name, pattern in reversed(FORMS)]


def form(value: str) -> str:
    """The form of a value; where several fit, the later in the table."""
    stripped = value.strip()
    if not stripped:
        return "only spaces" if value else "empty"
    found = next((name for name, pattern in PATTERNS if pattern.fullmatch(stripped)), "text")
    return found if stripped == value else f"{found}, spaces around it"


def decode(raw: bytes, encoding: str) -> tuple[str, str]:
    for name in [encoding] if encoding else ["utf-8-sig", "cp1252", "latin-1"]:
        try:
            return raw.decode(name), name
        except UnicodeDecodeError as error:
            print(f"not {name}: byte {raw[error.start]:#04x} at {error.start}")
    sys.exit("None of these encodings fits.")


def delimiter_of(text: str) -> str:
    """What divides the heading; in rows a comma may as well be that of a number."""
    head = text.partition("\n")[0]
    return max(",;\t|", key=head.count)


def json_rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    for number, line in enumerate(text.split("\n"), 1):
        try:
            item = json.loads(line) if line.strip() else None
        except ValueError as error:
            print(f"line {number}: no JSON ({error})")
            continue
        if isinstance(item, dict):
            yield number, {key: one if isinstance(one, str) else json.dumps(one) for key, one in item.items()}
        elif item is not None:
            print(f"line {number}: no object")


def csv_rows(text: str, delimiter: str) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    head = next(reader, [])
    print(f"columns: {len(head)}")
    for name, count in Counter(head).items():
        if count > 1 or name != name.strip() or not name:
            print(f"heading {name!r}: {'there more than once' if count > 1 else 'empty or with spaces'}")
    odd: Counter[int] = Counter()
    for fields in reader:
        if len(fields) != len(head):
            odd[len(fields)] += 1
            if odd.total() <= 5:
                print(f"line {reader.line_num}: {len(fields)} fields, not {len(head)}: {fields!r:.100}")
        yield reader.line_num, dict(zip(head, fields, strict=False))
    if odd:
        print(f"rows with another number of fields: {dict(odd)}")


def report(rows: Iterator[tuple[int, dict[str, str]]]) -> None:
    forms: dict[str, Counter[str]] = {}
    values: dict[str, Counter[str]] = {}
    example: dict[tuple[str, str], tuple[int, str]] = {}
    seen: Counter[str] = Counter()
    total = 0
    for line, row in rows:
        total += 1
        seen[json.dumps(row, sort_keys=True)] += 1
        for column, value in row.items():
            kind = form(value)
            forms.setdefault(column, Counter())[kind] += 1
            values.setdefault(column, Counter())[value] += 1
            example.setdefault((column, kind), (line, value))
    print(f"rows: {total}; the same as another row: {sum(count - 1 for count in seen.values())}")
    for column, found in forms.items():
        longest = max(values[column], key=len)
        print(
            f"\n{column}: there in {found.total()}, {len(values[column])} different, longest {len(longest)}"
        )
        for kind, count in found.most_common():
            line, value = example[column, kind]
            print(f"  {count:8} {kind}; line {line}: {value!r:.60}")
        if len(values[column]) <= 12:
            print(f"  values: {dict(values[column].most_common())}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--delimiter", default="")
    parser.add_argument("--encoding", default="")
    asked = parser.parse_args()
    text, encoding = decode(asked.file.read_bytes(), asked.encoding)
    print(f"encoding: {encoding}")
    if text.lstrip().startswith("{"):
        report(json_rows(text))
    else:
        delimiter = asked.delimiter or delimiter_of(text)
        print(f"delimiter: {delimiter!r}")
        report(csv_rows(text, delimiter))


if __name__ == "__main__":
    main()
