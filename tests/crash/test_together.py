"""Sessions whose writes share transactions: what one was told is stored survives kill -9, whatever the others do."""

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

WRITERS = """
import sys
from pathlib import Path
import anyio
from hermes.store.protocol import SessionRow
from hermes.store.sqlite_store import open_store
from hermes.types.message import User

async def main(folder):
    async with open_store(folder / "s.db", folder / "f.db") as store, anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(write, store, f"s{number}")

async def write(store, name):
    row = SessionRow(id=name, cwd="", model="", created=0.0, updated=0.0)
    await store.create(row, system="", tools=[])
    for number in range(10_000):
        await store.append(name, User(id=f"{name}-{number}", at=0.0, text="x" * 300))
        print(f"{name}-{number}", flush=True)

anyio.run(main, Path(sys.argv[1]))
"""


@pytest.mark.parametrize("seed", range(4))
def test_what_any_of_many_sessions_was_told_is_stored_survives_kill_9(seed: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITERS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(100)]
        time.sleep(random.Random(seed).uniform(0, 0.1))
        process.kill()
        told += process.stdout.readlines()
    with sqlite3.connect(tmp_path / "s.db") as rows:
        kept = {
            name for (name,) in rows.execute("SELECT json_extract(CAST(body AS TEXT), '$.id') FROM messages")
        }
    rows.close()
    assert {line.strip() for line in told if line.endswith("\n")} - kept == set()
    for session in {name.partition("-")[0] for name in kept}:  # and none without those before it
        numbers = {int(name.partition("-")[2]) for name in kept if name.startswith(f"{session}-")}
        assert numbers == set(range(len(numbers)))
