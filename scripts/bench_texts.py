"""How well hostile text is told from ordinary text: recall and false alarms by category, over files in the
corpus's format.

scripts/bench texts FILE.jsonl …: each line has `id`, `in` and `want` (flag or pass);
the category is what stands before the first dash of `id`.
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from hermes.safety.text.injection import scan


def main() -> None:
    """Print a table for each file, and how long a text of a usual size takes."""
    given = argparse.ArgumentParser()
    given.add_argument("files", nargs="+", type=Path)
    for path in given.parse_args().files:
        table(path)
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


def speed() -> None:
    """What a scan costs."""
    page = (Path(__file__).parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    scan(page)
    for size in (4_000, 1_000_000):
        text = (page * (size // len(page) + 1))[:size]
        runs = max(1, 400_000 // size)
        started = time.process_time()
        for _ in range(runs):
            scan(text)
        print(
            f"\n{size:,} characters: {(time.process_time() - started) / runs * 1000:.1f} ms of processor"
            " time",
            end="",
        )
    print()


if __name__ == "__main__":
    main()
