"""How well dangerous commands are told from everyday ones: `scripts/bench approvals FILE.jsonl …`; nothing of
a file runs.

A row is {"id", "want", "in", "why"}, wanted "flag", "pass" or "sandbox": dangerous, and only a
sandbox holds it. AGENT in it stands for our own command and home. Each
command is judged as if nothing confined it, and each dangerous one in other words, too. The exit code says
whether every row was judged as wanted.
"""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.unit.safety.test_mutations import MUTATIONS

from hermes.safety.decide import Policy, decide
from hermes.types.action import Command

OPEN = Policy(workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes")


@dataclass(slots=True)
class Score:
    """Counts of one category."""

    dangerous: int = 0
    stopped: int = 0
    others: int = 0
    others_stopped: int = 0
    routine: int = 0
    asked: int = 0


def main(files: Sequence[str]) -> int:
    """Score the files; print a table, and every row that was judged wrongly."""
    scores: dict[str, Score] = defaultdict(Score)
    wrong: list[str] = []
    seconds: list[float] = []
    for name, want, command in (row for file in files for row in rows(file)):
        score = scores[name.rpartition("-")[0]]
        began = time.perf_counter()
        stopped = is_stopped(command)
        seconds.append(time.perf_counter() - began)
        if want == "flag":
            score.dangerous, score.stopped = score.dangerous + 1, score.stopped + stopped
            others = [other for mutation in MUTATIONS for other in mutation(command)]
            loose = [other for other in others if not is_stopped(other)]
            score.others, score.others_stopped = (
                score.others + len(others),
                score.others_stopped + len(others) - len(loose),
            )
            wrong += [f"{name} as {other!r}" for other in loose]
        elif want == "sandbox":
            score.dangerous, score.stopped = score.dangerous + 1, score.stopped + stopped
        else:
            score.routine, score.asked = score.routine + 1, score.asked + stopped
        if stopped != (want == "flag"):
            wrong.append(f"{name} {want} {command!r}")
    print_table(scores)
    print(
        f"\n{len(seconds)} rows, {median(seconds) * 1000:.1f} ms a command (median),"
        f" {max(seconds) * 1000:.0f} ms at most"
    )
    print("\n".join(wrong))
    return 1 if wrong else 0


def rows(file: str) -> Iterator[tuple[str, str, str]]:
    """A file's rows: name, what is wanted, command."""
    for line in Path(file).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        text = str(row["in"])
        if "expand" in row:
            for marker, count in dict(row["expand"]).items():
                text = text.replace(marker, str(count))
        yield (
            row["id"],
            row["want"],
            text.replace("AGENT_", "HERMES_").replace(".AGENT", ".hermes").replace("AGENT", "hermes"),
        )


def is_stopped(command: str) -> bool:
    """Whether a command would not run without a decision."""
    return decide(Command(command=command, cwd=OPEN.workspace), OPEN).decision in {"ask", "deny"}


def print_table(scores: dict[str, Score]) -> None:
    """The counts as a table for the guide."""
    print("| category | dangerous | stopped | in other words | stopped | everyday | asked about |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    total = Score()
    for score in scores.values():
        for field in Score.__slots__:
            setattr(total, field, getattr(total, field) + getattr(score, field))
    for name, score in [*sorted(scores.items()), ("all", total)]:
        counts = (
            score.dangerous,
            score.stopped,
            score.others,
            score.others_stopped,
            score.routine,
            score.asked,
        )
        print(f"| {name} | {' | '.join(map(str, counts))} |")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
