"""How well the scanner of texts tells forms that hide or forge from ordinary text, and what it costs.

scripts/bench texts FILE.jsonl …: each line has `id`, `in` and `want` (flag or pass); the category is what
stands before the first dash of `id`. scripts/bench texts --documents build or --documents unseen: half of the
documents that are found on this machine, in which nothing should be.
"""

import argparse
import hashlib
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final

from hermes.safety.text.scan import scan

ROOTS: Final = (Path("/usr"), Path(sys.base_prefix), Path(sys.prefix))
_DOCUMENT: Final = re.compile(
    r".*\.(?:md|markdown|rst|txt|adoc)|(?:METADATA|README|LICEN[CS]E|COPYING|CHANGELOG|CHANGES|NEWS|AUTHORS|copyright).*",
    re.IGNORECASE,
)
_PROGRAM: Final = re.compile(r".*\.(?:py|pyc|json|gz|so)")
_TESTS: Final = re.compile(r"/tests?[-_/]|/testing/|_test_?data/|/fixtures/")
_SMALLEST: Final = 500
_LARGEST: Final = 2_000_000


def main() -> None:
    """Print a table for each file or half, and how long a text of a usual size takes."""
    given = argparse.ArgumentParser()
    given.add_argument("files", nargs="*", type=Path)
    given.add_argument("--documents", choices=["build", "unseen"])
    chosen = given.parse_args()
    for path in chosen.files:
        table(path)
    if chosen.documents:
        documents(chosen.documents)
    speed()


def table(path: Path) -> None:
    """The rows of one file by category."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    wanted: Counter[tuple[str, str]] = Counter()
    found: Counter[tuple[str, str]] = Counter()
    for row in rows:
        for category in (row["id"].split("-")[0], "all"):
            wanted[category, row["want"]] += 1
            found[category, row["want"]] += bool(scan(row["in"]))
    print(
        f"\n{path.name}: {len(rows)} texts\n\n| category | hostile | found | ordinary | false alarms"
        " |\n|---|---:|---:|---:|---:|"
    )
    for category in [*sorted({name for name, _ in wanted} - {"all"}), "all"]:
        counts = [table[category, want] for want in ("flag", "pass") for table in (wanted, found)]
        print(f"| {category} | {' | '.join(map(str, counts))} |")


def documents(half: str) -> None:
    """Everything that is found in one half of the documents, by the digest of their content."""
    seen: set[str] = set()
    false = letters = 0
    for path, text in _documents():
        digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
        if digest in seen or (int(digest[-1], 16) % 2 == 0) != (half == "build"):
            continue
        seen.add(digest)
        letters += len(text)
        spans = scan(text)
        false += bool(spans)
        for span in spans[:3]:
            print(f"{path}: {span.kind}, {span.rule}: {text[span.start : span.end][:100]!r}")
    print(f"\n{half}: {len(seen)} documents, {letters:,} characters, {false} with something found")


def _documents() -> Iterator[tuple[Path, str]]:
    for root in ROOTS:
        for path in sorted(root.rglob("*")):
            if (
                not _DOCUMENT.fullmatch(path.name)
                or _PROGRAM.fullmatch(path.name)
                or _TESTS.search(str(path))
            ):
                continue
            if path.is_file() and _SMALLEST <= path.stat().st_size <= _LARGEST:
                try:
                    yield path, path.read_bytes().decode()
                except (OSError, UnicodeDecodeError):
                    continue


def speed() -> None:
    """What a scan costs."""
    page = (Path(__file__).parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    scan(page)
    for size in (4_000, 1_000_000):
        text = (page * (size // len(page) + 1))[:size]
        times = []
        for _ in range(max(5, 400_000 // size)):
            started = time.process_time()
            scan(text)
            times.append(time.process_time() - started)
        print(f"\n{size:,} characters: {median(times) * 1000:.2f} ms of processor time", end="")
    print()


if __name__ == "__main__":
    main()
