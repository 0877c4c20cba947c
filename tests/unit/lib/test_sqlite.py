"""SQLite files that several open at the same moment."""

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
