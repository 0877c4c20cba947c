"""Compare the scores of two models on the same items: difference, interval, and whether it may be chance.

    compare_runs.py BEFORE.jsonl AFTER.jsonl [--score score] [--id id] [--group category]

Each line is an object with an id and a number (0 and 1, or any scale; true and false count as 1 and 0).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

ROUNDS = 10_000


def scores(path: Path, key: str, value: str, group: str) -> dict[str, tuple[float, str]]:
    found: dict[str, tuple[float, str]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip():
            continue
        item = json.loads(line)
        name = str(item[key])
        if name in found:
            sys.exit(f"{path}:{number}: the item {name} is there twice.")
        found[name] = float(item[value]), str(item.get(group, ""))
    return found


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """Where 95 of 100 means lie when items are drawn anew, with a fixed seed."""
    chance = random.Random(0)
    means = sorted(fmean(chance.choices(differences, k=len(differences))) for _ in range(ROUNDS))
    return means[int(0.025 * ROUNDS)], means[int(0.975 * ROUNDS)]


def sign_test(better: int, worse: int) -> float:
    """How often chance alone gives a split at least as uneven, ties left out."""
    total = better + worse
    tail = sum(math.comb(total, one) for one in range(min(better, worse) + 1))
    return min(1.0, tail / (1 << max(total - 1, 0)))


def report(name: str, pairs: Sequence[tuple[float, float]]) -> None:
    differences = [after - before for before, after in pairs]
    better, worse = (sum(one > 0 for one in differences), sum(one < 0 for one in differences))
    before, after = fmean(one[0] for one in pairs), fmean(one[1] for one in pairs)
    low, high = interval(differences)
    print(f"{name}: {len(pairs)} items, {before:.4f} -> {after:.4f}, difference {after - before:+.4f}")
    same = len(pairs) - better - worse
    print(f"  95 % interval {low:+.4f} to {high:+.4f}; better {better}, worse {worse}, same {same}")
    print(f"  by chance alone (sign test): p = {sign_test(better, worse):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--score", default="score")
    parser.add_argument("--id", default="id")
    parser.add_argument("--group", default="")
    asked = parser.parse_args()
    old, new = (scores(path, asked.id, asked.score, asked.group) for path in (asked.before, asked.after))
    both = sorted(old.keys() & new.keys())
    for path, only in ((asked.before, old.keys() - new.keys()), (asked.after, new.keys() - old.keys())):
        if only:
            print(f"only in {path}: {len(only)} items, left out: {sorted(only)[:5]}")
    if not both:
        sys.exit("No item is in both.")
    report("all", [(old[one][0], new[one][0]) for one in both])
    for group in sorted({old[one][1] for one in both} - {""}) if asked.group else []:
        report(group, [(old[one][0], new[one][0]) for one in both if old[one][1] == group])
    lost = [one for one in both if new[one][0] < old[one][0]]
    print(f"worse now: {lost[:20]}")


if __name__ == "__main__":
    main()
