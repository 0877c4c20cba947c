"""A restore, a repair and a migration are killed (SIGKILL) at points all over them: the store is the old one or the new one, and readable."""

import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from hermes.lib import sqlite
from hermes.store.backup import backup, backup_before_migration, restore
from hermes.store.check import check
from hermes.store.migrations import scripts
from hermes.store.repair import repair
from hermes.store.sqlite_store import open_store
from hermes.types.message import Message, User
from tests.unit.store.filled import fill, logs

NOW = 1_700_000_000.0
OURS = (
    "store/backup.py",
    "store/repair.py",
    "store/check.py",
    "store/reading.py",
    "lib/sqlite.py",
    "store/database.py",
)
CALLS = {
    "execute",
    "executemany",
    "backup",
    "fsync",
    "replace",
    "rename",
    "unlink",
    "link",
    "copy2",
    "connect",
    "close",
    "commit",
}


def stepping(wanted: int) -> Callable[[Any, str, Any], None]:
    """A profile hook that kills this process at the `wanted`th call of our own upkeep, or out of it into the system or the database."""
    passed = 0

    def hook(frame: Any, event: str, argument: Any) -> None:
        nonlocal passed
        if not frame.f_code.co_filename.endswith(OURS):
            return
        if event in {"call", "return"} or getattr(argument, "__name__", "") in CALLS:
            passed += 1
            if passed == wanted:
                os.kill(os.getpid(), signal.SIGKILL)

    return hook


def killed_at(point: int, work: Callable[[], object]) -> bool:
    """Run `work` in a process that is killed at a point; whether it came so far."""
    pid = os.fork()
    if pid == 0:
        try:
            sys.setprofile(stepping(point))
            work()
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in {0, -signal.SIGKILL}
    return code != 0


def copied(start: Path, folder: Path) -> Path:
    folder.mkdir()
    for path in start.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    return folder


def swept(
    start: Path, top: Path, step: int, work: Callable[[Path], object], holds: Callable[[Path], None]
) -> int:
    """Kill `work` on a copy of a home at every so manyth point, and look whether what must hold does; how many points there were."""
    point, killed = 1, 0
    while True:
        home = copied(start, top / str(point))
        went_on = killed_at(point, partial(work, home))
        holds(home)
        work(home)  # and whoever does it again succeeds
        if not went_on:
            return killed
        killed += 1
        point += step


STEPS = [pytest.param(5, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("step", STEPS)
def test_a_restore_that_is_killed_leaves_the_old_store_or_the_new_one(tmp_path: Path, step: int) -> None:
    new, start = tmp_path / "new", tmp_path / "start"
    after = fill(new, sessions=2, turns=3)
    backup(new / "sessions.db", tmp_path / "copy.db")
    before = fill(start, sessions=3, turns=3)

    def work(home: Path) -> None:
        restore(home / "sessions.db", home / "search.db", tmp_path / "copy.db", NOW)

    def holds(home: Path) -> None:
        assert logs(home) in (before, after)
        assert check(home / "sessions.db", full=True).faults == ()

    assert swept(start, tmp_path, step, work, holds) > 20


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "step", [pytest.param(25, id="some"), pytest.param(3, id="all", marks=pytest.mark.slow)]
)
def test_a_repair_that_is_killed_leaves_the_old_store_or_the_new_one(tmp_path: Path, step: int) -> None:
    start = tmp_path / "start"
    before = fill(start, sessions=3, turns=3)
    with closing(sqlite3.connect(start / "sessions.db")) as rows, rows:
        rows.execute("DELETE FROM sessions WHERE id = 's1'")
    del before["s1"]

    def work(home: Path) -> None:
        repair(home / "sessions.db", home / "search.db", NOW)

    def holds(home: Path) -> None:
        assert {name: log for name, log in logs(home).items() if name != "recovered-2"} == before

    assert swept(start, tmp_path, step, work, holds) > 10


def old_store(home: Path, schema: int) -> None:
    """A store as the first `schema` migrations make it, with a session of two messages in it."""
    home.mkdir(parents=True)
    with closing(sqlite.connect(home / "sessions.db", scripts("sessions")[:schema])) as rows:
        rows.execute("INSERT INTO sessions (id, created, system, tools) VALUES ('old', 1.0, 's', x'5b5d')")
        for number in (1, 2):
            body = b'{"kind":"user","id":"u%d","at":1.0,"text":"words %d"}' % (number, number)
            rows.execute(
                "INSERT INTO messages (place, kind, body) VALUES (?, 'user', ?)", ((1 << 24) + number, body)
            )


WORDS = {"old": tuple(User(id=f"u{number}", at=1.0, text=f"words {number}") for number in (1, 2))}


async def opened(home: Path) -> tuple[Message, ...]:
    async with open_store(home / "sessions.db", home / "search.db") as store:
        return (await store.read("old")).log


@pytest.mark.timeout(600)
@pytest.mark.parametrize("schema", range(1, len(scripts("sessions"))))
def test_a_migration_from_any_older_schema_may_be_killed_anywhere(tmp_path: Path, schema: int) -> None:
    old_store(tmp_path / "start", schema)

    def work(home: Path) -> None:
        assert anyio.run(opened, home) == WORDS["old"]

    def holds(home: Path) -> None:
        found = check(home / "sessions.db")
        assert (found.faults, found.messages) == ((), 2)
        assert schema <= found.schema <= len(scripts("sessions"))
        for copy in (home / "backups").glob("*.db"):
            assert check(copy, full=True).faults == ()

    def migrate(home: Path) -> None:
        backup_before_migration(home / "sessions.db")
        sqlite.connect(home / "sessions.db", scripts("sessions")).close()

    assert swept(tmp_path / "start", tmp_path, 7, migrate, holds) > 3
    work(tmp_path / "start")
    assert [path.name for path in (tmp_path / "start" / "backups").iterdir()] == [
        f"sessions.schema-{schema}.db"
    ]
    assert check(tmp_path / "start" / "backups" / f"sessions.schema-{schema}.db").schema == schema
