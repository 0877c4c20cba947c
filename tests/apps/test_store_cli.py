"""`hermes store` and `hermes doctor` as a person runs them: what they say, their exit codes, and that looking changes nothing."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hermes.store.migrations import scripts
from tests.unit.store.filled import contents, fill, logs


def hermes(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "HERMES_HOME": str(home)}
    argv = [sys.executable, "-m", "hermes", *words]
    return subprocess.run(argv, capture_output=True, text=True, env=environ, check=False, cwd=home.parent)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    fill(tmp_path / "home")
    return tmp_path / "home"


def test_a_store_is_checked_backed_up_lost_and_brought_back(home: Path, tmp_path: Path) -> None:
    before = logs(home)
    assert hermes(home, "store", "check", "--full").stdout == (
        f"{home / 'sessions.db'}: 4 sessions, 200 messages, schema {len(scripts('sessions'))}\n✓ ok\n"
    )
    made = hermes(home, "store", "backup", str(tmp_path / "c.db"))
    assert (made.returncode, made.stdout) == (
        0,
        f"{tmp_path / 'c.db'}: 4 sessions, 200 messages, verified.\n",
    )
    (home / "sessions.db").write_bytes(b"no database at all" * 500)
    checked = hermes(home, "store", "check", "--json")
    assert (checked.returncode, json.loads(checked.stdout)["faults"] != []) == (1, True)
    assert hermes(home, "store", "repair").returncode == 1
    done = hermes(home, "store", "restore", str(tmp_path / "c.db"), "--json")
    assert (done.returncode, json.loads(done.stdout)["messages"]) == (0, 200)
    assert Path(json.loads(done.stdout)["kept"]).read_bytes() == b"no database at all" * 500
    assert logs(home) == before


def test_a_repair_that_loses_something_says_what_and_with_its_exit_code(home: Path) -> None:
    with closing(sqlite3.connect(home / "sessions.db")) as rows, rows:
        rows.execute("DELETE FROM messages WHERE place & 0xffffff = 7 AND place >> 24 = 2")
    done = hermes(home, "store", "repair", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["lost"]) == (
        1,
        ["session s1: 1 of its messages before the last one that is left"],
    )
    assert (told["sessions"], told["messages"], Path(told["kept"]).is_file()) == (4, 199, True)


@pytest.mark.parametrize("state", ["closed", "left by a process that died", "damaged"])
def test_doctor_and_check_change_no_byte_of_the_home(home: Path, state: str) -> None:
    if state == "left by a process that died":
        with closing(sqlite3.connect(home / "sessions.db", isolation_level=None)) as rows:
            rows.execute("UPDATE sessions SET title = 'in the log'")
            left = contents(home)
        for name, data in left.items():
            (home / name).write_bytes(data)
    elif state == "damaged":
        (home / "sessions.db").write_bytes((home / "sessions.db").read_bytes()[:8192])
    before = contents(home)
    for words in (("doctor",), ("store", "check", "--full")):
        run = hermes(home, *words)
        assert ("damaged" in run.stdout) == (state == "damaged")
    assert contents(home) == before


def test_a_list_with_an_undecodable_row_shows_the_others_and_names_it(home: Path) -> None:
    with closing(sqlite3.connect(home / "sessions.db")) as rows, rows:
        rows.execute("UPDATE sessions SET title = CAST(x'41ff' AS TEXT) WHERE id = 's1'")
    run = hermes(home, "sessions", "list")
    assert [line.split()[0] for line in run.stdout.splitlines()] == ["s3", "s2", "s1", "s0"]
    assert (
        run.stderr == "hermes: session s1 has bytes that are no text; hermes store check --full tells more.\n"
    )
