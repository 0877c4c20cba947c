"""Two tables of commands, judged as if nothing confined them: what must be stopped in any form, and what must not be."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from hermes.safety.decide import Policy, decide
from hermes.types.action import Command

from .test_mutations import in_other_words

OPEN: Final = Policy(workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes")
STRIDES: Final = [31, pytest.param(1, marks=pytest.mark.slow)]


def table(name: str, want: str) -> dict[str, list[str]]:
    """The commands of a table of which that is wanted, by their class."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in (Path(__file__).parent / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["want"] != want:
            continue
        found[row["id"].rpartition("-")[0]].append(row["in"])
    return found


DANGEROUS: Final = table("dangerous", "flag")
ONLY_CONFINED: Final = table("dangerous", "sandbox")
"""What only running it shows, through links and files that the line makes: nothing but the sandbox holds it."""
ROUTINE: Final = table("routine", "pass")


def runs(command: str) -> bool:
    """Whether a command would run without a question."""
    return decide(Command(command=command, cwd=OPEN.workspace), OPEN).decision == "allow"


@pytest.mark.parametrize("kind", DANGEROUS)
def test_a_dangerous_command_needs_a_decision(kind: str) -> None:
    assert [command for command in DANGEROUS[kind] if runs(command)] == []


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("kind", DANGEROUS)
def test_a_dangerous_command_needs_a_decision_in_other_words(kind: str, stride: int) -> None:
    others = [other for command in DANGEROUS[kind] for other in in_other_words(command, stride)]
    assert [other for other in others if runs(other)] == []


@pytest.mark.parametrize("kind", ROUTINE)
def test_a_routine_command_runs_without_a_question(kind: str) -> None:
    assert [command for command in ROUTINE[kind] if not runs(command)] == []


def test_what_no_reading_finds_is_held_by_the_sandbox_and_is_rare() -> None:
    confined = replace(OPEN, sandbox="workspace")
    rows = [command for commands in ONLY_CONFINED.values() for command in commands]
    found = {decide(Command(command=one, cwd=OPEN.workspace), confined).decision for one in rows}
    assert (found, len(rows) / sum(map(len, DANGEROUS.values())) < 0.02) == ({"contain"}, True)


def test_the_tables_are_large_enough_to_mean_something() -> None:
    assert sum(map(len, DANGEROUS.values())) >= 800
    assert sum(map(len, ROUTINE.values())) >= 390
