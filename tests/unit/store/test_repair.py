"""What can be read of a damaged store is brought over, the damaged one is kept, and what is lost is named."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes.lib.sqlite import objects
from hermes.store.check import check
from hermes.store.migrations import scripts
from hermes.store.presence import present
from hermes.store.repair import StoreRepair, repair
from hermes.types.error import StorageDamaged, StoreError
from tests.unit.store.filled import contents, fill, logs

NOW = 1_700_000_000.0
PAGE = 4096


def repaired(home: Path) -> StoreRepair:
    return repair(home / "sessions.db", home / "search.db", NOW)


def spoil_page(path: Path, number: int, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[number * PAGE : (number + 1) * PAGE] = chance.randbytes(PAGE)
    path.write_bytes(data)


def test_nothing_is_lost_of_a_store_that_is_whole(tmp_path: Path) -> None:
    before = fill(tmp_path)
    done = repaired(tmp_path)
    assert (done.sessions, done.messages, done.lost, logs(tmp_path)) == (4, 200, (), before)


@pytest.mark.parametrize("seed", range(12))
def test_of_a_store_with_a_spoiled_page_all_else_comes_over_and_what_is_lost_is_named(
    tmp_path: Path, seed: int
) -> None:
    before, chance = fill(tmp_path), random.Random(seed)
    path = tmp_path / "sessions.db"
    spoil_page(path, chance.randrange(1, path.stat().st_size // PAGE), chance)
    harmed = path.read_bytes()
    done = repaired(tmp_path)
    assert Path(done.kept).read_bytes() == harmed
    assert check(path, full=True).faults == ()
    after = logs(tmp_path)
    known = {message.id: message for log in before.values() for message in log}
    kept = [message for log in after.values() for message in log]
    assert all(message == known[message.id] for message in kept)
    if len(kept) < len(known):
        assert done.lost


def test_of_a_store_without_its_first_page_nothing_is_read_and_nothing_has_changed(tmp_path: Path) -> None:
    fill(tmp_path)
    spoil_page(tmp_path / "sessions.db", 0, random.Random(0))
    harmed = (tmp_path / "sessions.db").read_bytes()
    with pytest.raises(StoreError, match="restore it from a backup"):
        repaired(tmp_path)
    assert (tmp_path / "sessions.db").read_bytes() == harmed


def test_messages_whose_session_is_lost_are_found_in_a_recovered_one(tmp_path: Path) -> None:
    before = fill(tmp_path)
    with closing(sqlite3.connect(tmp_path / "sessions.db")) as rows, rows:
        rows.execute("DELETE FROM sessions WHERE id = 's1'")
    done = repaired(tmp_path)
    assert done.lost == ("the row of session 2 is lost; its messages are in recovered-2",)
    assert logs(tmp_path)["recovered-2"] == before["s1"]


def test_a_message_that_is_missing_or_unreadable_is_named(tmp_path: Path) -> None:
    fill(tmp_path, sessions=1)
    with closing(sqlite3.connect(tmp_path / "sessions.db")) as rows, rows:
        rows.execute("DELETE FROM messages WHERE place & 0xffffff IN (7, 8)")
        rows.execute("UPDATE messages SET body = x'ff' WHERE place & 0xffffff = 11")
    assert check(tmp_path / "sessions.db", full=True).unreadable == (
        "session s0: 2 messages before its message 9 are missing",
        "session s0: message 11 cannot be read",
    )
    assert repaired(tmp_path).lost == (
        "session s0: 2 of its messages before the last one that is left",
        "session s0: message 11 is kept and cannot be read",
    )


def test_an_index_that_does_not_fit_its_table_is_found_and_made_anew(tmp_path: Path) -> None:
    before = fill(tmp_path)
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as rows:
        root = rows.execute("SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_sessions_1'")
        (page,) = root.fetchone()
    data = bytearray(path.read_bytes())
    data[page * PAGE - 8 : page * PAGE] = b"zzzzzzzz"
    path.write_bytes(data)
    assert check(path, full=True).faults
    assert (repaired(tmp_path).lost, logs(tmp_path)) == ((), before)


def test_nothing_is_repaired_while_anybody_has_the_store_open(tmp_path: Path) -> None:
    fill(tmp_path)
    with present(tmp_path / "sessions.db"):
        before = contents(tmp_path)
        with pytest.raises(StoreError, match="open in another process"):
            repaired(tmp_path)
        assert contents(tmp_path) == before


def _objects() -> list[tuple[str, str]]:
    with closing(sqlite3.connect(":memory:")) as rows:
        for script in scripts("sessions"):
            rows.executescript(script)
        return sorted(objects(rows))


@pytest.mark.parametrize(("kind", "name"), _objects())
def test_what_the_schema_has_and_the_store_lacks_is_damage_and_no_absence(
    tmp_path: Path, kind: str, name: str
) -> None:
    before, path = fill(tmp_path), tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as rows:
        rows.execute(f"DROP {kind} {name}")
        rows.commit()
    assert f"the {kind} {name} is missing" in check(path).faults
    try:
        assert logs(tmp_path) == before
    except StorageDamaged as error:
        assert "hermes store repair" in str(error)  # noqa: PT017  # some are not needed to read
    if name in {"sessions", "messages"}:
        with pytest.raises(StoreError, match="has no sessions in it; restore it from a backup"):
            repaired(tmp_path)
        return
    lost = (f"the table {name} is missing",) if kind == "table" else ()
    assert (repaired(tmp_path).lost, logs(tmp_path), check(path, full=True).faults) == (lost, before, ())


@pytest.mark.parametrize("missing", [1, 3, 8])
def test_of_a_store_that_was_cut_short_all_that_is_left_comes_over(tmp_path: Path, missing: int) -> None:
    before, path = fill(tmp_path), tmp_path / "sessions.db"
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - missing * PAGE)
    cut = path.read_bytes()
    done = repaired(tmp_path)
    after = logs(tmp_path)
    assert Path(done.kept).read_bytes() == cut
    read, was = ({one.id for log in some.values() for one in log} for some in (after, before))
    assert read <= was
    assert done.messages >= len(was) - 17 * missing, done.lost  # 16 fill a page
    assert [one.name for one in tmp_path.iterdir() if "whole" in one.name] == []


def test_where_nothing_can_be_read_the_newest_backup_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    path.write_bytes(b"x" * 9_000)
    kept = tmp_path / "backups" / "sessions-20260101-000000.db"
    kept.parent.mkdir()
    kept.touch()
    with pytest.raises(StoreError, match=f"restore it from a backup: hermes store restore {kept}"):
        repaired(tmp_path)
