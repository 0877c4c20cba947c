"""Session stores of others that are odd, huge or hostile: what can be read comes over, and nothing else happens."""

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.apps.conftest import Run
from tests.apps.other_homes import SESSION, TALK, make_sessions, put

ASKED = ({"role": "user", "content": "a"}, {"role": "assistant", "content": "b"})


@pytest.fixture
def other(tmp_path: Path, environ: dict[str, str]) -> Path:
    folder = tmp_path / "other"
    folder.mkdir()
    return folder


def take(run: Run, other: Path) -> subprocess.CompletedProcess[str]:
    return run("import", str(other), "--from", "hermes", "--only", "sessions", "-y")


def change(other: Path, script: str) -> None:
    with closing(sqlite3.connect(other / "state.db")) as rows:
        rows.executescript(script)


def count(environ: dict[str, str]) -> tuple[int, int]:
    with closing(sqlite3.connect(Path(environ["HERMES_HOME"]) / "sessions.db")) as rows:
        sessions, messages = (
            rows.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("sessions", "messages")
        )
    return sessions, messages


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
REFUSED = {
    "a view that never ends": f"DROP TABLE sessions; CREATE VIEW sessions AS {ENDLESS} i AS id, 'x' AS title FROM n;",
    "messages in a view": f"DROP TABLE messages; CREATE VIEW messages AS {ENDLESS} i AS id, '{SESSION}' AS session_id FROM n;",
    "no messages": "DROP TABLE messages;",
    "a virtual table": "DROP TABLE messages; CREATE VIRTUAL TABLE messages USING fts5(session_id, role, content);",
}


@pytest.mark.parametrize("how", REFUSED)
def test_a_store_without_plain_tables_is_not_read(how: str, run: Run, other: Path) -> None:
    make_sessions(other, {SESSION: TALK})
    change(other, REFUSED[how])
    done = take(run, other)
    assert "not read: state.db cannot be read: it has no table" in done.stdout
    assert done.stderr == "There is nothing to take over.\n"


def test_names_that_lead_elsewhere_become_ids(run: Run, other: Path, environ: dict[str, str]) -> None:
    odd = ("../../../etc/passwd", "latest", "abcd1234", "x" * 200, "a\nb", "")
    make_sessions(other, dict.fromkeys(odd, ASKED))
    done = take(run, other)
    assert (done.returncode, done.stderr) == (0, "Taken over: 6 sessions.\n")
    with closing(sqlite3.connect(Path(environ["HERMES_HOME"]) / "sessions.db")) as rows:
        ids = {row[0] for row in rows.execute("SELECT id FROM sessions")}
    assert {"imported_latest", "imported_abcd1234"} < ids
    assert all(one.startswith("imported_") and "/" not in one for one in ids)
    assert take(run, other).stderr == "There is nothing to take over.\n"


def test_values_of_other_kinds_harm_nothing(run: Run, other: Path, environ: dict[str, str]) -> None:
    make_sessions(other, {SESSION: TALK})
    change(
        other,
        f"""UPDATE sessions SET title = x'ff1b5b33316d', started_at = 'soon', ended_at = 9e999;
        INSERT INTO messages (session_id, role, content, timestamp) VALUES
        ('{SESSION}', 'user', x'ff00', -5), ('{SESSION}', NULL, NULL, NULL), ('{SESSION}', 'assistant', 3, 1e300);""",
    )
    assert take(run, other).stderr == "Taken over: 1 sessions.\n"
    shown = run("sessions", "show", SESSION)
    assert (shown.returncode, "\x1b" in shown.stdout) == (0, False)


def test_a_session_of_too_many_messages_stays_outside_and_the_others_come(
    run: Run, other: Path, environ: dict[str, str]
) -> None:
    make_sessions(other, {SESSION: ASKED, "20260102_120000_abcdef": ASKED})
    change(
        other,
        f"""WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000)
        INSERT INTO messages (session_id, role, content) SELECT '{SESSION}', 'user', 'again' FROM n;""",
    )
    done = take(run, other)
    assert done.returncode == 1
    assert done.stderr == (
        f"hermes: sessions {SESSION} was not taken: it has more than 50,000 messages, or too long ones\n"
        "Taken over: 1 sessions.\n"
    )
    assert count(environ) == (1, 2)


def test_what_stands_in_the_log_of_a_store_that_is_open_comes_too(
    run: Run, other: Path, environ: dict[str, str]
) -> None:
    make_sessions(other, {SESSION: ASKED})
    with closing(sqlite3.connect(other / "state.db")) as rows:
        rows.execute("PRAGMA journal_mode=WAL")
        rows.execute("INSERT INTO sessions (id) VALUES ('20260103_120000_abcdef')")
        rows.execute(
            "INSERT INTO messages (session_id, role, content) VALUES ('20260103_120000_abcdef', 'user', 'new')"
        )
        rows.commit()
        there = sorted(one.name for one in other.iterdir())
        assert take(run, other).stderr == "Taken over: 2 sessions.\n"
        assert sorted(one.name for one in other.iterdir()) == there


@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "empty"])
def test_what_is_no_store_is_told(kind: str, run: Run, other: Path, tmp_path: Path) -> None:
    match kind:
        case "pipe":
            os.mkfifo(other / "state.db")
        case "link":
            make_sessions(put(tmp_path / "real", {"x": ""}), {SESSION: TALK})
            (other / "state.db").symlink_to(tmp_path / "real" / "state.db")
        case "folder":
            (other / "state.db").mkdir()
        case "empty":
            (other / "state.db").touch()
    done = take(run, other)
    assert "not read: state.db cannot be read: " in done.stdout
    assert ("it is a link" in done.stdout) == (kind == "link")
    assert done.stderr == "There is nothing to take over.\n"


def test_an_import_that_was_killed_is_finished_by_the_next(
    run: Run, other: Path, environ: dict[str, str]
) -> None:
    names = [f"20260101_120000_{number:06x}" for number in range(2000)]
    make_sessions(other, dict.fromkeys(names, TALK))
    words = ("import", str(other), "--from", "hermes", "--only", "sessions", "-y")
    begun = subprocess.Popen(
        [sys.executable, "-m", "hermes", *words],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    store = Path(environ["HERMES_HOME"]) / "sessions.db"
    while begun.poll() is None and not (store.is_file() and _stored(store)):
        time.sleep(0.01)
    begun.kill()
    begun.wait()
    assert 0 < _stored(store) < len(names)
    assert run(*words).returncode == 0
    assert count(environ) == (len(names), len(TALK) * len(names))
    assert not (Path(environ["HERMES_HOME"]) / "cache" / "import").exists()


def _stored(store: Path) -> int:
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as rows:
        try:
            return int(rows.execute("SELECT count(*) FROM sessions").fetchone()[0])
        except sqlite3.Error:
            return 0
