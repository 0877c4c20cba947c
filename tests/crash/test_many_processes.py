"""Eight processes open one store, write and die, again and again: it stays whole, and has all that they were told is stored."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.store.check import check
from tests.crash.test_together import WRITERS
from tests.unit.store.filled import logs

PROCESSES = 8
NAMED = WRITERS.replace('f"s{number}"', 'f"{sys.argv[2]}-s{number}"')


def deleted_files(pid: int) -> list[str]:
    """What a process has open of the store that is not there any more."""
    found = []
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        target = str(handle.readlink())
        if "s.db" in target and target.endswith("(deleted)"):
            found.append(target)
    return found


def life(folder: Path, chance: random.Random, number: int) -> tuple[set[str], list[str]]:
    """Eight that write until they are killed: what they were told is stored, and what they held that was deleted."""
    argv = [sys.executable, "-c", NAMED, str(folder)]
    living = [
        subprocess.Popen([*argv, f"p{number}x{one}"], stdout=subprocess.PIPE, text=True)
        for one in range(PROCESSES)
    ]
    told, held = [], []
    for process in chance.sample(living, PROCESSES):
        assert process.stdout is not None
        told += [process.stdout.readline() for _ in range(chance.randrange(1, 60))]
        held += deleted_files(process.pid)
        process.kill()
        told += process.stdout.readlines()
        process.stdout.close()
        process.wait()
    return {line.strip() for line in told if line.endswith("\n")}, held


@pytest.mark.timeout(900)
@pytest.mark.parametrize("lives", [2, pytest.param(60, marks=pytest.mark.slow)])
def test_a_store_that_eight_processes_write_to_and_die_in_is_whole(tmp_path: Path, lives: int) -> None:
    chance, told = random.Random(lives), set()
    for number in range(lives):
        stored, held = life(tmp_path, chance, number)
        assert held == []
        told |= stored
        assert check(tmp_path / "s.db", full=True).faults == ()
    (tmp_path / "s.db").rename(tmp_path / "sessions.db")
    wal = tmp_path / "s.db-wal"
    if wal.exists():
        wal.rename(tmp_path / "sessions.db-wal")
    kept = {message.id for log in logs(tmp_path).values() for message in log}
    assert told - kept == set()
    assert len(told) > PROCESSES * lives
