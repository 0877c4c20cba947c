"""Whatever becomes of a store's file, it is said: damage is never absence, and what was not done is never called done (invariant 5)."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from hermes.store.check import check
from hermes.store.protocol import Owner, SessionRow
from hermes.store.sqlite_store import open_store
from hermes.types.error import HermesError, StorageDamaged, StoreError
from hermes.types.message import Message, User
from tests.unit.store.filled import contents, damage_elsewhere, fill, logs
from tests.unprivileged import held_by_modes

pytestmark = pytest.mark.anyio


def told(home: Path) -> dict[str, tuple[Message, ...]] | StoreError:
    """What the store gives, or the fault that it raises."""
    try:
        return logs(home)
    except StoreError as error:
        return error


@pytest.mark.parametrize("seed", range(24))
def test_flipped_bytes_are_a_fault_or_named_and_never_fewer_rows(tmp_path: Path, seed: int) -> None:
    before, chance = fill(tmp_path), random.Random(seed)
    path = tmp_path / "sessions.db"
    data = bytearray(path.read_bytes())
    page = chance.randrange(len(data) // 4096) * 4096
    for at in chance.sample(range(page, page + 4096), 64):
        data[at] = chance.randrange(256)
    path.write_bytes(data)
    found = told(tmp_path)
    if not isinstance(found, StoreError) and found != before:
        report = check(path, full=True)
        assert report.faults or report.unreadable


@pytest.mark.parametrize("left", [0.1, 0.5, 0.9])
def test_a_file_that_was_cut_is_a_fault(tmp_path: Path, left: float) -> None:
    fill(tmp_path)
    path = tmp_path / "sessions.db"
    os.truncate(path, int(path.stat().st_size * left) // 4096 * 4096)
    assert isinstance(told(tmp_path), StorageDamaged)
    assert check(path).faults


async def young(folder: Path) -> Path:
    """A store as a process that is killed leaves it: all that was written is in the write-ahead log alone."""
    home, alive = folder / "killed", folder / "alive"
    async with open_store(alive / "sessions.db", alive / "search.db") as store:
        await store.create(
            SessionRow(id="s", cwd="", model="", created=1.0, updated=1.0), system="", tools=[]
        )
        await store.claim("s", Owner(pid=1, host="h", app="cli", since=1.0))
        await store.append("s", User(id="u1", at=1.0, text="one"))
        await anyio.to_thread.run_sync(shutil.copytree, alive, home)
    return home


@pytest.mark.parametrize("left", [None, 0, 20, 5000])
async def test_a_store_that_lost_its_write_ahead_log_is_damaged_and_is_not_made_anew(
    tmp_path: Path, left: int | None
) -> None:
    home = await young(tmp_path)
    log = home / "sessions.db-wal"
    if left is None:
        log.unlink()
    else:
        os.truncate(log, left)
    before = contents(home)
    with pytest.raises(StorageDamaged, match="has lost all that was in it, and sessions were kept in it"):
        async with open_store(home / "sessions.db", home / "search.db"):
            pass
    assert contents(home) == before
    assert check(home / "sessions.db").faults == (f"{home / 'sessions.db'} is no store of sessions.",)


async def test_a_store_whose_tables_are_in_its_log_alone_is_whole(tmp_path: Path) -> None:
    home = await young(tmp_path)
    async with open_store(home / "sessions.db", home / "search.db") as store:
        assert [message.id for message in (await store.read("s")).log] == ["u1"]


async def test_a_file_that_was_being_made_when_its_process_died_is_a_new_store(tmp_path: Path) -> None:
    home = await young(tmp_path)
    (home / "sessions.db-wal").unlink()
    shutil.rmtree(home / "sessions.locks")
    async with open_store(home / "sessions.db", home / "search.db") as store:
        assert await store.recent() == []


async def test_a_file_that_is_removed_while_it_is_open_is_noticed_and_nothing_is_called_written(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path / "sessions.db", tmp_path / "search.db") as store:
        await store.create(
            SessionRow(id="s", cwd="", model="", created=1.0, updated=1.0), system="", tools=[]
        )
        await store.append("s", User(id="u1", at=1.0, text="one"))
        moved = (tmp_path / "sessions.db").rename(tmp_path / "elsewhere.db")
        with pytest.raises(StorageDamaged, match="was removed or replaced while in use; nothing was written"):
            await store.append("s", User(id="u2", at=1.0, text="two"))
        moved.rename(tmp_path / "sessions.db")
        await store.append("s", User(id="u3", at=1.0, text="three"))
        assert [message.id for message in (await store.read("s")).log] == ["u1", "u3"]


async def test_a_store_that_is_verified_tells_of_damage_to_what_nobody_reads(tmp_path: Path) -> None:
    await anyio.to_thread.run_sync(fill, tmp_path)
    async with open_store(tmp_path / "sessions.db", tmp_path / "search.db") as store:
        await store.verify()
    damage_elsewhere(tmp_path)
    async with open_store(tmp_path / "sessions.db", tmp_path / "search.db") as store:
        assert len(await store.recent()) == 4
        for _ in range(2):
            with pytest.raises(StorageDamaged, match=r"is damaged \(.+\): hermes store repair brings"):
                await store.verify()


async def test_a_list_with_a_row_that_is_no_text_shows_the_others_and_names_it(tmp_path: Path) -> None:
    await anyio.to_thread.run_sync(fill, tmp_path)
    with closing(sqlite3.connect(tmp_path / "sessions.db")) as rows, rows:
        rows.execute("UPDATE sessions SET title = CAST(x'41ff42' AS TEXT) WHERE id = 's1'")
    async with open_store(tmp_path / "sessions.db", tmp_path / "search.db") as store:
        found = {row.id: (row.title, row.messages, row.damaged) for row in await store.recent()}
        assert (await store.resolve("s2")).id == "s2"
    assert found == {
        "s0": ("", 50, False),
        "s1": ("A\\xffB", 50, True),
        "s2": ("", 50, False),
        "s3": ("", 50, False),
    }


def test_a_store_of_a_newer_version_is_refused_in_one_sentence_and_stays_as_it_is(tmp_path: Path) -> None:
    fill(tmp_path)
    with closing(sqlite3.connect(tmp_path / "sessions.db")) as rows:
        rows.execute("PRAGMA journal_mode=DELETE")
        rows.execute("PRAGMA user_version=99")
    before = contents(tmp_path)
    found = told(tmp_path)
    assert isinstance(found, HermesError)
    assert str(found) == (
        f"{tmp_path / 'sessions.db'} was written by a newer Hermes (schema 99 is newer than 10, the newest this"
        " program knows); update Hermes to open it."
    )
    assert contents(tmp_path) == before


def test_a_full_disk_is_said_and_what_was_written_before_stays(tmp_path: Path) -> None:
    """In a process of its own that may write so much to a file and no more."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(_write_until_full(tmp_path))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    said = (tmp_path / "said").read_text().splitlines()
    kept = [message.id for message in logs(tmp_path)["s"]]
    assert said[:-1] == kept
    assert "cannot be used now (" in said[-1]


def _write_until_full(home: Path) -> int:
    import resource
    import signal

    async def write() -> list[str]:
        told: list[str] = []
        async with open_store(home / "sessions.db", home / "search.db") as store:
            row = SessionRow(id="s", cwd="", model="", created=1.0, updated=1.0)
            await store.create(row, system="", tools=[])
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
            try:
                for number in range(1_000):
                    await store.append("s", User(id=f"u{number}", at=1.0, text="x" * 2_000))
                    told.append(f"u{number}")
            except StoreError as error:
                told.append(str(error))
        return told

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    (home / "said").write_text("\n".join(anyio.run(write)))
    return 0


def test_without_permission_the_store_is_not_called_damaged(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "sessions.db").chmod(0)
    words = held_by_modes(sys.executable, "-m", "tests.unit.store.test_damage", str(tmp_path))
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "StoreError"


if __name__ == "__main__":
    sys.stdout.write(type(told(Path(sys.argv[1]))).__name__)
