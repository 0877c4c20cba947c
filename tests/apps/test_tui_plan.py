"""Shift-Tab goes through the modes of edits: free, asked about on the change itself, plan mode; which one it is stays in sight."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hermes.testing import ScriptedModel, ScriptedServer, call
from tests.apps.test_tui_program import Place


def test_in_plan_mode_everything_stays_as_it_is_until_shift_tab_is_pressed_again(tmp_path: Path) -> None:
    place = Place(tmp_path)
    write = call("write_file", {"path": "made.txt", "content": "x"})
    model = ScriptedModel(write, "This is the plan.", write, "It is made.")
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, 100, 24, "", {}) as terminal,
    ):
        terminal.until("? keys", 40)
        terminal.type("\x1b[Z")
        terminal.until("also of edits")
        terminal.type("\x1b[Z")
        terminal.until("plan: nothing changes")
        terminal.type("make it\r")
        terminal.until("This is the plan.")
        assert "✗" in terminal.text
        assert not (place.project / "made.txt").exists()
        terminal.type("\x1b[Z")
        terminal.until(lambda: "plan: nothing changes" not in terminal.text.splitlines()[-1])
        terminal.type("go\r")
        terminal.until("It is made.")
    assert (place.project / "made.txt").read_text() == "x"


def test_a_new_session_begins_in_the_mode_of_the_one_that_is_left(tmp_path: Path) -> None:
    place = Place(tmp_path)
    write = call("write_file", {"path": "made.txt", "content": "x"})
    with (
        ScriptedServer(ScriptedModel(write, "It is not made.")).running() as server,
        place.window(server.base_url, 100, 24, "", {}) as terminal,
    ):
        terminal.until("? keys", 40)
        terminal.type("\x1b[Z\x1b[Z")
        terminal.until("plan: nothing changes")
        terminal.type("/new\r")
        terminal.until("session 2")
        terminal.until(lambda: "plan: nothing changes" in terminal.text.splitlines()[-1])
        terminal.type("make it\r")
        terminal.until("It is not made.")
    assert not (place.project / "made.txt").exists()


def test_a_session_that_is_gone_on_with_is_in_the_mode_that_it_was_left_in(tmp_path: Path) -> None:
    place = Place(tmp_path)
    write = call("write_file", {"path": "made.txt", "content": "x"})
    with ScriptedServer(ScriptedModel("Seen.", write, "Not made.")).running() as server:
        with place.window(server.base_url, 100, 24, "", {}) as terminal:
            terminal.until("? keys", 40)
            terminal.type("look\r")
            terminal.until("Seen.")
            terminal.type("/edits ask\r")
            terminal.until(lambda: "also of edits" in terminal.text.splitlines()[-1])
            terminal.type("/quit\r")
            assert terminal.wait() == 0
        with place.window(server.base_url, 100, 24, "latest", {}) as terminal:
            terminal.until("Edits ask in this session, as it was left", 40)
            terminal.until(lambda: "also of edits" in terminal.text.splitlines()[-1])
            terminal.type("/plan\r")
            terminal.until(lambda: "plan: nothing changes" in terminal.text.splitlines()[-1])
            terminal.type("/quit\r")
            assert terminal.wait() == 0
        with place.window(server.base_url, 100, 24, "latest", {}) as terminal:
            terminal.until("This session is in plan mode, as it was left", 40)
            terminal.until(lambda: "plan: nothing changes" in terminal.text.splitlines()[-1])
            terminal.type("make it\r")
            terminal.until("Not made.")
            assert not (place.project / "made.txt").exists()
            terminal.type("/plan\r")
            terminal.until(lambda: "also of edits" in terminal.text.splitlines()[-1])


def test_an_edit_is_approved_on_its_numbered_change_and_the_next_ones_may_be_with_it(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.project / "app.py").write_text("def add(a, b):\n    return a - b\n")
    fix = call("patch", {"mode": "replace", "path": "app.py", "old_string": "a - b", "new_string": "a + b"})
    more = call("write_file", {"path": "made.txt", "content": "x\n"})
    with (
        ScriptedServer(ScriptedModel(fix, more, "It is fixed.")).running() as server,
        place.window(server.base_url, 100, 30, "", {}) as terminal,
    ):
        terminal.until("? keys", 40)
        terminal.type("\x1b[Z")
        terminal.until("also of edits")
        terminal.type("fix it\r")
        rows = terminal.until("Make this change?").splitlines()
        at = rows.index("Make this change?")
        assert "".join(row.strip() for row in rows[at + 1 : at + 3]).startswith("write /")
        at = rows.index("  +1 −1")
        assert rows[at : at + 9] == [
            "  +1 −1",
            "   1   def add(a, b):",
            "   2 -     return a - b",
            "   2 +     return a + b",
            "in ~/project · stopped because: it changes a file of the workspace, and edits ask",
            "  1  once",
            "  2  this session: every edit of the workspace, so that edits ask no longer",
            "❯ 4  no (n)",
            "  5  no, and say what to do instead",
        ]
        assert (place.project / "app.py").read_text().endswith("a - b\n")
        terminal.read(0.5)
        terminal.type("2")
        terminal.until("❯ 2  this session")
        terminal.read(0.2)
        terminal.type("\r")
        terminal.until("✓ allowed for this session by you: write")
        terminal.until("It is fixed.")
        terminal.until(lambda: "also of edits" not in terminal.text.splitlines()[-1])
    assert (place.project / "app.py").read_text().endswith("a + b\n")
    assert (place.project / "made.txt").read_text() == "x\n"


def test_a_question_to_a_session_in_plan_mode_says_what_kept_its_changes_back(tmp_path: Path) -> None:
    place = Place(tmp_path)
    ran = call("terminal", {"command": "touch made.txt"})
    model = ScriptedModel("Here.", ran, "It is not made.", ran, "Nor now.")
    with ScriptedServer(model).running() as server:
        with place.window(server.base_url, 100, 24, "", {}) as terminal:
            terminal.until("? keys", 40)
            terminal.type("\x1b[Z\x1b[Z")
            terminal.until("plan: nothing changes")
            terminal.type("hello\r")
            terminal.until("Here.")
            terminal.type("\x04")
            assert terminal.wait() == 0
        command = [
            sys.executable,
            "-m",
            "hermes",
            "-m",
            "fake-1",
            "--base-url",
            server.base_url,
            "-c",
            "-z",
            "go",
        ]
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(place.home),
            "HERMES_HOME": f"{place.home}/.hermes",
        }
        told: dict[str, Any] = {
            "cwd": place.project,
            "env": environ,
            "capture_output": True,
            "text": True,
        }
        done = subprocess.run(command, check=False, **told)
        lines = subprocess.run([*command, "--json"], check=False, **told).stdout.splitlines()
    assert done.stderr.splitlines()[-1] == (
        "hermes: not done in plan mode, which this session was left in: touch made.txt. /plan on the screen ends it."
    )
    assert json.loads(lines[-1])["refused"] == ["touch made.txt (plan mode)"]
