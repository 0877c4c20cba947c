"""SQLite files that several open at the same moment, and who may read them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hermes.lib import sqlite

AT_ONCE, ROUNDS = 8, 60
TABLE = "CREATE TABLE lines (word TEXT);\n"


def test_all_who_make_a_file_at_once_get_it_and_lose_nothing(tmp_path: Path) -> None:
    def write(path: Path, barrier: threading.Barrier) -> None:
        barrier.wait()
        connection = sqlite.connect(path, [TABLE])
        with sqlite.transaction(connection):
            connection.execute("INSERT INTO lines VALUES ('a')")
        connection.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(ROUNDS):
            path, barrier = tmp_path / f"{number}.db", threading.Barrier(AT_ONCE)
            list(pool.map(write, [path] * AT_ONCE, [barrier] * AT_ONCE))
    connection = sqlite.connect(tmp_path / "0.db", [TABLE])
    assert connection.execute("SELECT count(*) FROM lines").fetchone() == (AT_ONCE,)
    connection.close()


def test_a_new_file_and_its_folders_are_for_this_user_alone(tmp_path: Path) -> None:
    connection = sqlite.connect(tmp_path / "home" / "part" / "a.db", [TABLE])
    connection.execute("INSERT INTO lines VALUES ('a')")
    made = {path.name: oct(path.stat().st_mode & 0o777) for path in (tmp_path / "home").rglob("*")}
    made["home"] = oct((tmp_path / "home").stat().st_mode & 0o777)
    connection.close()
    assert made == {
        "home": "0o700",
        "part": "0o700",
        "a.db": "0o600",
        "a.db-wal": "0o600",
        "a.db-shm": "0o600",
    }
