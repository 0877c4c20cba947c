"""`hermes store` and `hermes doctor` as a person runs them: what they say, their exit codes, and that looking changes nothing."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hermes.commands.home_check import what_hinders
from hermes.config.home import locate
from hermes.store.migrations import scripts
from hermes.store.repair import repair
from hermes.testing import ScriptedModel, ScriptedServer
from hermes.types.error import StoreError
from tests.unit.store.filled import contents, damage_elsewhere, fill, logs
from tests.unprivileged import held_by_modes


def hermes(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "HERMES_HOME": str(home)}
    argv = held_by_modes(sys.executable, "-m", "hermes", *words)
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


def test_damage_to_other_sessions_is_said_by_whatever_opens_the_store(home: Path) -> None:
    with ScriptedServer(ScriptedModel("hello")).running() as server:
        model = ("-m", "fake-1", "--base-url", server.base_url)
        assert hermes(home, *model, "-z", "hi").returncode == 0
        store = home / "sessions.db"
        damage_elsewhere(home)
        before = store.stat().st_size
        for words in (["-z", "new"], ["-c", "-z", "more"], ["-z", "new", "--json"]):
            done = hermes(home, *model, *words)
            assert (done.returncode, done.stdout.count("hello")) == (1, 0)
            assert done.stderr.startswith(f"hermes: {store} is damaged (")
            assert done.stderr.endswith("hermes store restore FILE brings back a backup.\n")
        assert store.stat().st_size == before
        assert len(server.model.requests) == 1
    listed = hermes(home, "sessions", "list")
    assert len(listed.stdout.splitlines()) == 5, "what can be read is shown"
    assert listed.stderr.startswith(f"hermes: {store} is damaged (")


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


def faults(home: Path) -> tuple[int, list[str]]:
    """The exit code of doctor, and what it says does not work."""
    done = hermes(home, "doctor")
    return done.returncode, [line for line in done.stdout.splitlines() if line.startswith("✗ ")]


def test_doctor_tells_of_a_key_without_effect_and_of_damage_behind_settings_it_cannot_read(
    home: Path,
) -> None:
    (home / "config.yaml").write_text("modle:\n  default: x\n")
    assert faults(home) == (
        1,
        [
            "✗ config.yaml line 2: nobody knows the key modle.default; it has no effect. Did you mean model.default?"
        ],
    )
    (home / "config.yaml").write_text("model:\n  context_window: many\n")
    os.truncate(home / "sessions.db", 8192)
    before = contents(home)
    code, (settings, store) = faults(home)
    assert (code, settings) == (
        1,
        "✗ config.yaml line 2: model.context_window is 'many': expected a whole number, got text.",
    )
    assert re.fullmatch(
        rf"✗ sessions: {home}/sessions.db is damaged \(.*\); hermes store repair brings over what can be read,"
        " hermes store restore FILE brings back a backup",
        store,
    )
    assert contents(home) == before


def test_doctor_names_what_may_not_be_written_and_what_allows_it(home: Path) -> None:
    (home / "sessions.db").chmod(0o400)
    home.chmod(0o500)
    try:
        run = hermes(home, "doctor")
        named = [line for line in run.stdout.splitlines() if line.startswith("✗")]
        assert (run.returncode, named) == (
            1,
            [
                (
                    f"✗ home: {home} cannot be written, so no session can be kept; chmod u+rwx {home} mends that, or"
                    " set HERMES_HOME to a folder of yours"
                ),
                (
                    f"✗ sessions: {home}/sessions.db cannot be written, so no session can go on; chmod u+rw"
                    f" {home}/sessions.db mends that"
                ),
            ],
        )
    finally:
        home.chmod(0o700)


def test_doctor_names_a_disk_without_room() -> None:
    *_, told = what_hinders(locate({"HERMES_HOME": "/proc/hermes"}, ""))
    assert told == (
        "disk: 0.0 MB are left for /proc, too little to keep sessions; make room there, or set HERMES_HOME to a"
        " folder on another disk"
    )


def test_a_repair_on_a_full_disk_asks_for_room_and_for_no_backup() -> None:
    store = Path("/proc/version")  # a file on a disk on which no byte is left
    with pytest.raises(StoreError) as caught:
        repair(store, store, 0.0)
    assert str(caught.value) == (
        "A repaired copy of /proc/version takes up to 1.0 MB, and 0.0 MB are left on its disk; make room there"
        " first. Whether it is damaged tells hermes store check; nothing has changed."
    )


def test_doctor_and_a_session_tell_of_notes_that_are_no_text_and_the_session_goes_on(home: Path) -> None:
    (home / "memories").mkdir()
    notes = home / "memories" / "USER.md"
    notes.write_bytes(b"J\xf6rg\n")
    told = f"{notes} has bytes that are no UTF-8 (the first in line 1): "
    doctor = hermes(home, "doctor")
    assert (doctor.returncode, f"✗ memory: {told}" in doctor.stdout) == (1, True)
    with ScriptedServer(ScriptedModel("hello")).running() as server:
        done = hermes(home, "-m", "fake-1", "--base-url", server.base_url, "-z", "hi")
    assert (done.returncode, done.stdout, done.stderr.count(told)) == (0, "hello\n", 1)
    assert notes.read_bytes() == b"J\xf6rg\n"


def test_a_list_with_an_undecodable_row_shows_the_others_and_names_it(home: Path) -> None:
    with closing(sqlite3.connect(home / "sessions.db")) as rows, rows:
        rows.execute("UPDATE sessions SET title = CAST(x'41ff' AS TEXT) WHERE id = 's1'")
    run = hermes(home, "sessions", "list")
    assert [line.split()[0] for line in run.stdout.splitlines()] == ["s3", "s2", "s1", "s0"]
    assert (
        run.stderr == "hermes: session s1 has bytes that are no text; hermes store check --full tells more.\n"
    )
