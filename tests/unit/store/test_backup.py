"""Copies of a store are verified before anybody relies on them, and come back whole or not at all."""

import os
import random
import resource
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes.store.backup import backup, restore
from hermes.store.check import check
from hermes.store.presence import present
from hermes.types.error import StorageDamaged, StoreError
from tests.unit.store.filled import contents, fill, logs

NOW = 1_700_000_000.0


def restored(home: Path, copy: Path) -> Path | None:
    return restore(home / "sessions.db", home / "search.db", copy, NOW)[1]


def damage(path: Path, *, seed: int = 0, count: int = 40) -> None:
    """Flip bytes at places all over a file."""
    data, chance = bytearray(path.read_bytes()), random.Random(seed)
    for at in chance.sample(range(100, len(data)), count):
        data[at] ^= 0xFF
    path.write_bytes(data)


def test_a_restore_drill_brings_back_every_message(tmp_path: Path) -> None:
    """Back up, lose the store, bring it back, search it, go on with it."""
    home, copy = tmp_path / "home", tmp_path / "copies" / "c.db"
    before = fill(home)
    made = backup(home / "sessions.db", copy)
    assert (made.sessions, made.messages, made.faults) == (4, 200, ())
    (home / "sessions.db").unlink()
    assert restored(home, copy) is None
    assert logs(home) == before
    damage(home / "sessions.db")
    kept = restored(home, copy)
    assert logs(home) == before
    assert kept is not None
    assert kept.name.startswith("sessions.replaced-2023111")
    assert check(home / "sessions.db", full=True).faults == ()


def test_the_store_that_was_there_is_kept_with_what_stood_in_its_log(tmp_path: Path) -> None:
    home, copy = tmp_path / "home", tmp_path / "c.db"
    fill(home, sessions=1)
    backup(home / "sessions.db", copy)
    with closing(sqlite3.connect(home / "sessions.db", isolation_level=None)) as rows:
        rows.execute("UPDATE sessions SET title = 'since then'")
        left = contents(home)  # as a process that dies here leaves it
    for name, data in left.items():
        (home / name).write_bytes(data)
    assert (home / "sessions.db-wal").stat().st_size
    kept = restored(home, copy)
    assert kept is not None
    titles = []
    for path in (kept, home / "sessions.db"):
        with closing(sqlite3.connect(path)) as rows:
            titles.append(rows.execute("SELECT title FROM sessions").fetchone()[0])
    assert titles == ["since then", ""]


def test_a_copy_that_finds_no_room_is_told_of_by_its_own_name_and_leaves_nothing(tmp_path: Path) -> None:
    """In a process of its own that may write so much to a file and no more."""
    home, copy, said = tmp_path / "home", tmp_path / "copies" / "c.db", tmp_path / "said"
    fill(home)
    if (pid := os.fork()) == 0:
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
            backup(home / "sessions.db", copy)
        except StoreError as error:
            said.write_text(str(error))
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert said.read_text().startswith(f"{copy} cannot be used now (")
    assert list(copy.parent.iterdir()) == []


@pytest.mark.parametrize("harm", ["flipped", "cut", "no store", "newer"])
def test_a_copy_that_is_not_whole_is_refused_and_nothing_has_changed(tmp_path: Path, harm: str) -> None:
    home, copy = tmp_path / "home", tmp_path / "c.db"
    fill(home)
    backup(home / "sessions.db", copy)
    match harm:
        case "flipped":
            damage(copy, count=4_000)
        case "cut":
            copy.write_bytes(copy.read_bytes()[:-8_192])
        case "no store":
            with closing(sqlite3.connect(tmp_path / "other.db")) as rows:
                rows.execute("CREATE TABLE t (x)")
            copy = tmp_path / "other.db"
        case "newer":
            with closing(sqlite3.connect(copy)) as rows:
                rows.execute("PRAGMA user_version=99")
    before = contents(home)
    with pytest.raises(StoreError, match="newer Hermes" if harm == "newer" else "damaged|whole|no store"):
        restored(home, copy)
    assert contents(home) == before


def test_nothing_is_restored_while_anybody_has_the_store_open(tmp_path: Path) -> None:
    home, copy = tmp_path / "home", tmp_path / "c.db"
    fill(home)
    backup(home / "sessions.db", copy)
    with present(home / "sessions.db"):
        before = contents(home)
        with pytest.raises(StoreError, match="open in another process; close Hermes everywhere first"):
            restored(home, copy)
        assert contents(home) == before


def test_a_backup_is_never_written_over_a_file_and_a_damaged_store_makes_none(tmp_path: Path) -> None:
    home, copy = tmp_path / "home", tmp_path / "c.db"
    fill(home)
    copy.write_text("mine")
    with pytest.raises(StoreError, match="is there already"):
        backup(home / "sessions.db", copy)
    damage(home / "sessions.db", count=4_000)
    with pytest.raises(StorageDamaged):
        backup(home / "sessions.db", tmp_path / "other.db")
    assert (copy.read_text(), sorted(path.name for path in tmp_path.iterdir())) == ("mine", ["c.db", "home"])
    with pytest.raises(StoreError, match="There is no store at"):
        backup(tmp_path / "none.db", tmp_path / "other.db")
