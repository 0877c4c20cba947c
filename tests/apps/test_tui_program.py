"""The interactive terminal as a person meets it: a real program in a real PTY, a scripted model behind a real socket."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from hermes import __version__
from hermes.testing import ScriptedModel, ScriptedServer, Turn, call, calls, fail, say
from tests.apps.screen import Terminal
from tests.unit.store.filled import damage_elsewhere, fill

MARKDOWN = "# Title\n\nSome **bold** text, [x] kept.\n\n- one\n- two\n\n| a | b |\n|---|--:|\n| 1 | 22 |\n\n```python\nprint(1)\n```\n"
SLOW = "for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 0.1; done"


class Place:
    """A home and a project, and the program in them."""

    def __init__(self, root: Path) -> None:
        self.home, self.project = root, root / "project"
        self.project.mkdir()
        self.command = root / "bin" / "hermes"
        self.command.parent.mkdir()
        self.command.touch(0o755)
        (self.project / "app.py").write_text("print(1)\n")
        (self.project / "notes.md").write_text("x" * 2000)
        self.ignored = self.project / "ignored.log"
        self.ignored.write_text("")
        (self.project / ".gitignore").write_text("*.log\n")
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=self.project, check=True)

    @contextmanager
    def open(
        self,
        *replies: object,
        columns: int = 80,
        rows: int = 24,
        resume: str = "",
        ready: str = "? keys",
        env: dict[str, str] | None = None,
        shell: bool = False,
    ) -> Iterator[Terminal]:
        model = ScriptedModel(*replies)  # type: ignore[arg-type]  # replies in any of its forms
        with (
            ScriptedServer(model).running() as server,
            self.window(server.base_url, columns, rows, resume, env or {}, shell) as terminal,
        ):
            terminal.until(ready, 40)
            yield terminal

    def window(
        self, base_url: str, columns: int, rows: int, resume: str, env: dict[str, str], shell: bool = False
    ) -> Terminal:
        environ = {
            "PATH": f"{os.environ['PATH']}:{self.command.parent}", "HOME": str(self.home), "HERMES_HOME": str(self.home / ".hermes"), "TERM": "xterm-256color",
            "LANG": "C.UTF-8", "XTERM_VERSION": "pyte", "COLORFGBG": "15;0", **env,
        }  # fmt: skip
        argv = [sys.executable, "-m", "hermes"]
        argv += ["-m", "fake-1", "--base-url", base_url] if base_url else []
        argv += ["-r", resume] if resume else []
        terminal = Terminal(
            ["bash", "--norc", "-i"] if shell else argv,
            cwd=self.project,
            env=environ,
            columns=columns,
            rows=rows,
        )
        if shell:
            terminal.type(f"{shlex.join(argv)}\r")
        return terminal


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_first_screen_is_a_header_a_prompt_and_a_status_line(place: Place) -> None:
    with place.open() as terminal:
        rows = terminal.until("(main").split("\n")
    assert rows[0] == f"hermes {__version__} · fake-1 · ~/project (main)"
    assert rows[1].endswith("? keys · /help")
    assert (rows[2], rows[3], rows[4]) == ("", "❯", "─" * 79)
    assert rows[5].startswith("fake-1 · 0/128k 0% · ")
    assert len(rows) == 6


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_an_answer_streams_without_frame_fence_or_language_word(place: Place, columns: int) -> None:
    with place.open(say(MARKDOWN, pause=0.005), columns=columns) as terminal:
        terminal.type("hello\r")
        terminal.until("print(1)")
        terminal.until(lambda: "Esc stops" not in terminal.text)
        rows = terminal.everything.split("\n")
    start = rows.index("❯ hello")
    assert rows[start : rows.index("print(1)") + 3] == [
        "❯ hello", "", "Title", "", "Some bold text, [x] kept.", "", "• one", "• two", "", "a   b", "─  ──", "1  22", "", "print(1)",
        "", "❯",
    ]  # fmt: skip
    assert all(len(row) <= columns for row in rows)


def test_a_call_shows_live_output_then_one_line_with_its_outcome(place: Place) -> None:
    with place.open(
        call("terminal", {"command": f"{SLOW}; exit 3"}, text="I look."), "all finished"
    ) as terminal:
        terminal.type("go\r")
        running = terminal.until("line 4")
        assert ("running echo" in running, "Esc stops" in running) == (True, True)
        finished = terminal.until("✗ exit 3")
        terminal.until("all finished")
    assert "      … 4 earlier lines · Ctrl-O" in finished
    assert [row for row in finished.split("\n") if row.startswith("      line")] == [
        f"      line {n}" for n in range(5, 10)
    ]


def test_control_o_shows_the_whole_output(place: Place) -> None:
    with place.open(call("terminal", {"command": "seq 1 12"}), "all finished") as terminal:
        terminal.type("go\r")
        terminal.until("all finished")
        terminal.type("\x0f")
        terminal.until("      1\n")
        assert [f"      {n}" in terminal.everything.split("\n") for n in (1, 6, 12)] == [True, True, True]


def test_calls_at_once_end_in_call_order(place: Place) -> None:
    both = calls(("read_file", {"path": "app.py"}), ("search_files", {"pattern": "print"}))
    with place.open(both, "all finished") as terminal:
        terminal.type("go\r")
        terminal.until("all finished")
        text = terminal.until("1 hit")  # the rows of calls come out of the moving part a frame later
    assert text.index("app.py:1-1") < text.index("1 hit")


def test_escape_stops_the_turn_and_keeps_what_was_said(place: Place) -> None:
    with place.open(say("word " * 400, pause=0.05)) as terminal:
        terminal.type("go\r")
        terminal.until("word word")
        terminal.type("\x1b")
        terminal.until("✗ stopped")
        assert 2 <= terminal.everything.count("word") < 400


def test_control_c_stops_first_and_leaves_second(place: Place) -> None:
    with place.open(call("terminal", {"command": "sleep 30"}), "never") as terminal:
        terminal.type("go\r")
        terminal.until("running sleep")
        terminal.type("\x03")
        terminal.until("✗ stopped")
        assert "Ctrl-C again leaves" in terminal.text
        terminal.type("\x03")
        assert terminal.wait() == 0
        assert re.search(r"^to go on: hermes -r \S+ · .* tokens$", terminal.text, re.MULTILINE)


def test_control_c_with_a_draft_clears_it_then_stops_the_turn_then_leaves(place: Place) -> None:
    with place.open(call("terminal", {"command": "sleep 30"}), "never") as terminal:
        terminal.type("go\r")
        terminal.until("running sleep")
        terminal.type("a thought")
        terminal.until("❯ a thought")
        terminal.type("\x03")
        terminal.until("Ctrl-C again stops what runs")
        terminal.type("\x03")
        terminal.until("✗ stopped")
        terminal.until("Ctrl-C again leaves")
        terminal.type("\x03")
        assert terminal.wait() == 0


def test_control_c_keeps_the_cleared_draft_for_up(place: Place) -> None:
    with place.open() as terminal:
        terminal.type("a long thought")
        terminal.until("❯ a long thought")
        terminal.type("\x03")
        terminal.until(lambda: "a long thought" not in terminal.text)
        terminal.type("\x1b[A")
        terminal.until("❯ a long thought")


def test_control_c_leaves_no_words_that_were_typed_since_the_last_one(place: Place) -> None:
    with place.open() as terminal:
        terminal.type("first words")
        terminal.until("❯ first words")
        terminal.type("\x03other words\x03")
        terminal.until("Ctrl-C again leaves")
        terminal.type("\x1b[A")
        terminal.until("❯ other words")
        terminal.type("\x03\x03")
        assert terminal.wait() == 0


def test_the_last_line_is_the_command_that_goes_on_and_it_does(place: Place) -> None:
    with place.open(call("expand", {"entries": "1"}), "first answer") as terminal:
        terminal.type("remember me\r")
        terminal.until("first answer")
        signs = re.findall(r"(\S+) +expand", terminal.text)
        terminal.type("\x04")
        terminal.wait()
        last = terminal.text.split("\n")[-1]
    named = re.fullmatch(r"to go on: hermes -r (\S+) · .*", last)
    assert named
    with place.open("second answer", resume=named[1], ready="first answer") as terminal:
        assert "❯ remember me" in terminal.text
        assert set(re.findall(r"(\S+) +expand", terminal.text)) == set(signs) == {"🗂"}
        terminal.type("more\r")
        terminal.until("second answer")


def test_enter_steers_the_turn_and_tab_queues_after_it(place: Place) -> None:
    second = call("terminal", {"command": "echo seen"})
    with place.open(call("terminal", {"command": SLOW}), second, "all done", "queued answer") as terminal:
        terminal.type("go\r")
        terminal.until("running echo")
        terminal.type("also this\r")
        terminal.until("into this turn: also this")
        terminal.type("and later\t")
        terminal.until("next: and later")
        terminal.until("queued answer")
        text = terminal.everything
    assert (
        text.index("❯ also this")
        < text.index("all done")
        < text.index("❯ and later")
        < text.index("queued answer")
    )


def test_stopping_hands_the_waiting_messages_back(place: Place) -> None:
    with place.open(call("terminal", {"command": "sleep 30"}), "never") as terminal:
        terminal.type("go\r")
        terminal.until("running sleep")
        terminal.type("later please\t")
        terminal.until("next: later please")
        terminal.type("\x1b")
        terminal.until("❯ later please")


def test_alt_up_puts_the_waiting_messages_and_the_draft_below_each_other_with_room_between(
    place: Place,
) -> None:
    with place.open(call("terminal", {"command": "sleep 30"}), "never") as terminal:
        terminal.type("go\r")
        terminal.until("running sleep")
        for message in ("first", "second"):
            terminal.type(f"{message}\t")
            terminal.until(f"next: {message}")
        terminal.type("a draft")
        terminal.until("❯ a draft")
        terminal.type("\x1b\x1b[A")
        terminal.until("❯ first\n\n  second\n\n  a draft")


def test_a_paste_becomes_a_chip_that_goes_whole_or_is_sent_whole(place: Place) -> None:
    pasted = "\r".join(f"row {n}" for n in range(1, 201))
    with place.open("got it") as terminal:
        terminal.type(f"\x1b[200~{pasted}\r\x1b[201~")
        terminal.until("❯ [paste 1: 200 lines]")
        terminal.type("\x1b[200~" + "y\r" * 9 + "z\x1b[201~")
        terminal.until("❯ [paste 1: 200 lines][paste 2: 10 lines]")
        terminal.type("\x7f")
        terminal.until("❯ [paste 1: 200 lines]\n")
        terminal.type(" thanks\r")
        text = terminal.until("got it")
    assert "❯ row 1\n  row 2\n  row 3\n  … 196 more lines\n  row 200 thanks" in text


def test_every_habit_of_breaking_a_line_works(place: Place) -> None:
    with place.open() as terminal:
        for letter, keys in zip("abcd", ("\\\r", "\n", "\x1b\r", "\x1b[13;2u"), strict=True):
            terminal.type(letter + keys)
            terminal.read(0.2)
        terminal.type("e")
        terminal.until("❯ a\n  b\n  c\n  d\n  e")


def test_the_command_menu_filters_and_types_nothing_by_itself(place: Place) -> None:
    with place.open() as terminal:
        terminal.type("/")
        rows = terminal.until("1 of ").split("\n")
        assert rows[3] == "❯ /"
        assert sum(row.startswith(("❯ /", "  /")) for row in rows[4:]) == 8
        terminal.type("st")
        terminal.until(lambda: "/help" not in terminal.text.replace("? keys · /help", ""))
        assert re.findall(r"^[❯ ] (/\w+) ", terminal.text, re.MULTILINE)[-5:] == [
            "/steer",
            "/stop",
            "/status",
            "/history",
            "/trust",
        ]
        terminal.type("\x1b")
        terminal.until(lambda: "/status" not in terminal.text)


def test_a_question_mark_on_an_empty_line_shows_the_keys(place: Place) -> None:
    with place.open() as terminal:
        terminal.type("?")
        assert "Ctrl-R" in terminal.until("Alt-Enter")
        terminal.type("\x1b")
        terminal.until(lambda: "Alt-Enter" not in terminal.text)


def test_an_at_sign_completes_files_that_git_knows(place: Place) -> None:
    with place.open() as terminal:
        terminal.until("(main")
        terminal.read(0.5)
        terminal.type("look at @no")
        row = next(row for row in terminal.until("notes.md").split("\n") if "notes.md" in row)
        assert row.split() == ["❯", "notes.md", "2.0", "kB"]
        terminal.type("\t")
        terminal.until("❯ look at @notes.md")
        terminal.type("@ignored")
        terminal.read(0.3)
        assert "ignored.log" not in terminal.text


def test_help_usage_tools_and_title_answer(place: Place) -> None:
    with place.open("hi") as terminal:
        terminal.type("/title My work\r")
        terminal.until("This session is called “My work”.")
        terminal.type("/tools\r")
        terminal.until("todo: The plan")
        terminal.type("/usage\r")
        terminal.until("context: 0 of 128k (0 %)")
        terminal.type("/hlep\r")
        terminal.until("error: There is no command /hlep. Did you mean /help?")


def test_undo_gives_the_message_back_and_retry_sends_it_again(place: Place) -> None:
    with place.open("first", say("second", breaks_prefix=True)) as terminal:
        terminal.type("question\r")
        terminal.until("first")
        terminal.type("/undo\r")
        terminal.until(lambda: terminal.text.count("❯ question") == 2)
        terminal.type("\r")
        terminal.until("second")


def writing(name: str) -> list[object]:
    return [call("write_file", {"path": name, "content": "new\n"}), f"wrote {name}"]


def test_undo_of_a_turn_that_wrote_files_shows_what_it_would_do_and_does_it(place: Place) -> None:
    with place.open(*writing("app.py"), columns=100, rows=40) as terminal:
        terminal.type("change it\r")
        terminal.until("wrote app.py")
        terminal.type("/diff\r")
        assert "-print(1)\n+new" in terminal.until("+new")
        terminal.type("/undo\r")
        shown = terminal.until("/undo conversation")
        assert "app.py goes back to what it was" in shown
        terminal.type("/undo both\r")
        terminal.until("app.py is as it was")
        terminal.until(lambda: terminal.text.count("❯ change it") == 2)
    assert (place.project / "app.py").read_text() == "print(1)\n"


def test_without_escapes_files_go_back_and_a_branch_begins(place: Place) -> None:
    with plainly(place, *writing("b.txt")) as terminal:
        terminal.type("make b\n")
        terminal.until("wrote b.txt")
        terminal.type("/rollback 1\n")
        terminal.until("b.txt is removed")
        terminal.type("/branch other way\n")
        terminal.until("session “other way”")
        terminal.type("/branches\n")
        terminal.until("└─")
        terminal.type("/quit\n")
        assert terminal.wait() == 0
    assert not (place.project / "b.txt").exists()


def test_a_refused_key_is_told_at_once_in_three_lines(place: Place) -> None:
    with place.open(fail(401, "Incorrect API key provided")) as terminal:
        terminal.type("hello\r")
        text = terminal.until("/model takes another")
    assert "✗ the key was refused (401): Incorrect API key provided\n  http://127.0.0.1" in text
    assert "Traceback" not in text


def test_a_busy_server_is_told_with_cause_and_countdown(place: Place) -> None:
    with place.open(fail(429, "slow down", headers={"retry-after": "2"}), "finally") as terminal:
        terminal.type("hello\r")
        assert "try 1 of" in terminal.until("too many requests (429)") or "try 2 of" in terminal.text
        terminal.until("finally")


def test_with_nothing_set_the_screen_opens_and_says_what_sets_a_model(place: Place) -> None:
    with place.window("", 80, 24, "", {"HERMES_MODEL": ""}) as terminal:
        terminal.until("❯")
        terminal.until(lambda: "fake" not in terminal.text and "keys" in terminal.text)
        terminal.type("/model\r")
        terminal.until("/model NAME http://host:port/v1")


def test_idle_writes_nothing(place: Place) -> None:
    with place.open() as terminal:
        terminal.until("(main")
        terminal.read(1.0)
        assert terminal.read(1.5) == b""


def test_keys_typed_before_the_screen_is_there_are_kept(place: Place) -> None:
    with (
        ScriptedServer(ScriptedModel("answered")).running() as server,
        place.window(server.base_url, 80, 24, "", {}) as terminal,
    ):
        terminal.type("early bird\r")
        terminal.until("answered")
        assert "❯ early bird" in terminal.everything


@pytest.mark.parametrize(
    ("env", "colour"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=["colour", "no-color", "dumb"],
)
def test_no_color_and_dumb_terminals_get_no_colour_code(
    place: Place, env: dict[str, str], colour: bool
) -> None:
    ready = "an empty line leaves" if env.get("TERM") == "dumb" else "? keys"
    with place.open(call("terminal", {"command": "exit 3"}), say(MARKDOWN), ready=ready, env=env) as terminal:
        terminal.type("hello\r" if env.get("TERM") != "dumb" else "hello\n")
        terminal.until("print(1)")
        terminal.read(0.3)
        raw = terminal.raw
    assert bool(re.search(rb"\x1b\[[0-9;]*(?:3[0-9]|4[0-9]|9[0-7]|10[0-7])[0-9;]*m", raw)) == colour
    if env.get("TERM") == "dumb":
        assert b"\x1b" not in raw


def test_resizing_while_text_streams_leaves_no_torn_line(place: Place) -> None:
    words = " ".join(f"word{n}" for n in range(150))
    with place.open(say(f"{words}\n\nThe end.", pause=0.02)) as terminal:
        terminal.type("go\r")
        terminal.until("word9")
        for columns in (40, 120, 80):
            terminal.resize(columns, 24)
            terminal.read(0.4)
        terminal.until("The end.")
        terminal.until(lambda: "Esc stops" not in terminal.text)
        text = terminal.everything
    assert re.findall(r"word\d+", text) == words.split()
    assert sum("────" in row for row in text.split("\n")) == 1
    assert sum(row == "❯" for row in text.split("\n")) == 1


def test_bang_runs_a_command_as_a_tool_line_and_tells_the_model(place: Place) -> None:
    with place.open("understood") as terminal:
        terminal.until("(main")
        terminal.type("!echo hello there\r")
        terminal.until("      hello there")
        terminal.type("what did I do?\r")
        terminal.until("understood")
        assert "❯ what did I do?" in terminal.text


def test_a_command_of_ones_own_may_ask_before_anything_was_said(place: Place) -> None:
    (place.project / ".env").write_text("KEY_OF_NOBODY=1\n")
    with place.open("understood") as terminal:
        terminal.until("(main")
        terminal.type("!cat .env\r")
        terminal.until("Run this?")
        terminal.read(0.5)
        terminal.type("1")
        terminal.until("❯ 1  once")
        terminal.type("\r")
        terminal.until("✓ allowed once by you: cat .env")
        terminal.until("KEY_OF_NOBODY")
        terminal.type("what did I do?\r")
        terminal.until("understood")


def test_the_status_line_tells_the_folder_that_commands_have_moved_to(place: Place) -> None:
    (place.project / "sub").mkdir()
    with place.open(call("terminal", {"command": "cd sub"}), say("moved")) as terminal:
        terminal.type("go\r")
        terminal.until("moved")
        terminal.until("~/project/sub (main")
        terminal.type("!cd ..\r")
        terminal.until("~/project (main")


def test_the_list_of_sessions_filters_and_resumes(place: Place) -> None:
    for message in ("about apples", "about pears"):
        with place.open(f"answer {message}") as terminal:
            terminal.type(f"{message}\r")
            terminal.until(f"answer {message}")
            terminal.type("\x04")
            terminal.wait()
    with place.open(resume="?", ready="Sessions in this directory") as terminal:
        terminal.until("  ❯ about pears\n    answer about pears")
        terminal.type("apples")
        terminal.until("1 of 2")
        terminal.until("  ❯ about apples\n    answer about apples")
        terminal.type("\r")
        terminal.until("answer about apples")


def test_a_key_is_echoed_quickly_while_text_streams(place: Place) -> None:
    waits: list[float] = []
    with place.open(say("word " * 2000, pause=0.01)) as terminal:
        terminal.type("go\r")
        terminal.until("word word")
        draft = "❯ "
        for letter in "abcdefghijklmnopqrst":
            began = time.monotonic()
            terminal.type(letter)
            draft += letter
            terminal.until(draft)
            waits.append(time.monotonic() - began)
        terminal.type("\x03\x1b")
    assert sorted(waits)[10] < 0.5  # a busy machine is no fault; a key that waits for the stream is


DANGEROUS = {"command": "rm -rf keep && echo removed"}


def approving(place: Place, *replies: object, **size: int) -> AbstractContextManager[Terminal]:
    (place.project / "keep").mkdir(exist_ok=True)
    (place.home / ".hermes").mkdir(exist_ok=True)
    with (place.home / ".hermes" / "config.yaml").open("a") as config:
        config.write("checkpoints: {max_megabytes: 0}\n")
    return place.open(call("terminal", DANGEROUS), *replies, **size)  # type: ignore[arg-type]  # numbers only


def test_the_question_shows_the_whole_command_and_stands_on_no(place: Place) -> None:
    with approving(place, "understood") as terminal:
        terminal.type("go\r")
        text = terminal.until("Run this?")
        assert "  rm -rf keep && echo removed\nin ~/project · stopped because: " in text
        assert re.search(r"^❯ 4  no \(n\)$", text, re.MULTILINE)
        assert "waiting for you" in text or "waits for you" in text
        terminal.read(0.4)
        terminal.type("\r")
        terminal.until("✗ denied by you: rm -rf keep")
        terminal.until("understood")
    assert (place.project / "keep").is_dir()


def test_the_question_says_what_the_command_would_delete_and_ctrl_o_lists_it(place: Place) -> None:
    for name in ("a.txt", "deep/b.txt"):
        (place.project / "keep" / name).parent.mkdir(parents=True, exist_ok=True)
        (place.project / "keep" / name).write_text("x" * 600)
    with approving(place, "understood") as terminal:
        terminal.type("go\r")
        assert "\ndeletes keep/ (2 files, 1.2 kB) · Ctrl-O lists them\n" in terminal.until("Run this?")
        terminal.read(0.5)
        terminal.type("\x0f")
        told = "\ndeletes keep/ (2 files, 1.2 kB)\n"
        terminal.until(lambda: told in terminal.everything)  # above the question, which may fill the window
        rows = terminal.everything.split("\n")
        start = rows.index(told.strip())
        assert rows[start + 1 : start + 3] == ["      a.txt", "      deep/b.txt"]
        terminal.type("\x1b")
        terminal.until("✗ denied by you: rm -rf keep")
        terminal.until("understood")


def test_a_chosen_yes_runs_the_command_and_leaves_a_receipt(place: Place) -> None:
    with approving(place, "finished") as terminal:
        terminal.type("go\r")
        terminal.until("Run this?")
        terminal.read(0.5)
        terminal.type("1")
        terminal.until("❯ 1  once")
        terminal.read(0.2)
        terminal.type("\r")
        terminal.until("✓ allowed once by you: rm -rf keep")
        terminal.until("finished")
    assert not (place.project / "keep").exists()


@pytest.mark.parametrize(("delay", "gap"), [(0.0, 0.0), (0.2, 0.03), (0.6, 0.12)])
def test_a_sentence_typed_as_the_question_opens_approves_nothing(
    place: Place, delay: float, gap: float
) -> None:
    with approving(place, "understood") as terminal:
        terminal.type("go\r")
        terminal.until("Run this?" if delay else "❯ go")
        terminal.read(delay)
        for letter in "yes but 2 files\r":
            terminal.type(letter)
            terminal.read(gap)
        terminal.until("into this turn: yes but 2 files")
        terminal.until("Run this?")
        terminal.read(0.6)
        assert (place.project / "keep").is_dir()
        terminal.type("\x1b")
        terminal.until("✗ denied by you")


@pytest.mark.parametrize(("columns", "rows"), [(44, 14), (100, 10)])
def test_in_a_low_window_the_question_and_the_command_are_in_sight(
    place: Place, columns: int, rows: int
) -> None:
    with approving(place, "understood", columns=columns, rows=rows) as terminal:
        terminal.type("go\r")
        shown = terminal.until("Run this?")
        assert re.search(r"Run this\?\n  rm -rf keep && echo removed\n(.*\n)?  lines 1 to", shown)
        assert "❯ 4  no (n)" in shown


def test_no_with_a_message_tells_the_model_what_to_do(place: Place) -> None:
    with approving(place, "as you say") as terminal:
        terminal.type("go\r")
        terminal.until("Run this?")
        terminal.read(0.5)
        terminal.type("\x1b[B")
        terminal.read(0.2)
        terminal.type("\r")
        terminal.until("Say what to do instead.")
        terminal.type("use git clean -n\r")
        terminal.until("✗ denied by you")
        assert "  use git clean -n" in terminal.until("as you say")


WHICH = call("clarify", {"question": "Which colour?", "choices": ["red", "green"]})


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (("\x1b[B", "\r"), "green"),
        (("\x1b[B\x1b[A\x1b[B\r",), "green"),
        (("a dark teal", "\r"), "a dark teal"),
    ],
)
def test_a_question_of_the_model_is_answered_by_choice_or_in_words(
    place: Place, keys: tuple[str, ...], said: str
) -> None:
    heard: list[str] = []
    with place.open(WHICH, listening(heard)) as terminal:
        terminal.type("paint\r")
        shown = terminal.until("A question for you")
        assert re.search(r"Which colour\?\n.*1  red\n.*2  green\n.*3  another answer", shown)
        for typed in keys:
            terminal.read(0.5)
            terminal.type(typed)
        terminal.until("painted")
    assert heard == [said]


def listening(heard: list[str]) -> object:
    """A reply that notes what the model was told of the answer."""

    def reply(request: dict[str, Any]) -> Turn:
        heard.append(json.loads(request["messages"][-1]["content"])["user_response"])
        return say("painted")

    return reply


def test_control_g_edits_the_draft_in_the_persons_editor(place: Place) -> None:
    editor = place.home / "editor"
    editor.write_text('#!/bin/sh\nprintf "second line" >> "$1"\n')
    editor.chmod(0o755)
    with place.open("got it", env={"EDITOR": str(editor)}) as terminal:
        terminal.type("first line\\\r")
        terminal.until("❯ first line\n")
        terminal.type("\x07")
        terminal.until("❯ first line\n  second line")
        terminal.type("\r")
        terminal.until("got it")


def test_control_z_suspends_and_the_screen_comes_back(place: Place) -> None:
    with place.open("still here", shell=True) as terminal:
        terminal.type("a draft")
        terminal.until("❯ a draft")
        terminal.type("\x1a")
        terminal.until("Stopped")
        terminal.type("echo $((6 * 7))\r")
        terminal.until("\n42\n")
        assert "❯ a draft" not in terminal.text
        terminal.type("fg\r")
        terminal.until("❯ a draft")
        terminal.type("\r")
        terminal.until("still here")


def test_control_r_finds_an_earlier_message_as_it_is_typed(place: Place) -> None:
    with place.open("one", "two", "three") as terminal:
        for message, answer in (("about apples", "one"), ("about pears", "two")):
            terminal.type(f"{message}\r")
            terminal.until(answer)
        terminal.type("\x12")
        terminal.until("search history:")
        terminal.type("appl")
        terminal.until("search history: appl\n❯ about apples")
        terminal.type("\r\r")
        terminal.until("three")
        assert terminal.everything.count("❯ about apples") == 2


def settings(place: Place, text: str) -> None:
    (place.home / ".hermes").mkdir(exist_ok=True)
    (place.home / ".hermes" / "config.yaml").write_text(text)


def test_the_ascii_setting_leaves_no_other_sign_on_the_screen(place: Place) -> None:
    settings(place, "display: {ascii: true}\n")
    with place.open(call("terminal", {"command": "exit 3"}), "all finished") as terminal:
        terminal.type("go\r")
        terminal.until("all finished")
        assert terminal.everything.isascii()
        assert "x exit 3" in terminal.everything


def test_the_bell_setting_rings_when_an_answer_is_needed(place: Place) -> None:
    settings(place, "display: {bell: true}\n")
    with approving(place, "understood") as terminal:
        terminal.type("go\r")
        terminal.until("Run this?")
        assert b"\a" in re.sub(rb"\x1b\][^\a]*\a", b"", terminal.raw)  # the title's own end is no bell
        terminal.read(0.5)
        terminal.type("\x1b")
        terminal.until("understood")


def test_the_thinking_setting_shows_reasoning_in_the_scrollback(place: Place) -> None:
    settings(place, "display: {show_thinking: true}\n")
    with place.open(say("the answer", thinking="first this\nthen that")) as terminal:
        terminal.type("go\r")
        assert "  first this\n  then that\n" in terminal.until("the answer")


def test_a_bare_name_given_to_model_is_another_model_of_ones_own_server(place: Place) -> None:
    with place.open(lambda body: say(f"I am {body['model']}.")) as terminal:
        terminal.type("/model qwen3\r")
        terminal.until("The model is qwen3 (custom). It answers from now on.")
        terminal.type("hi\r")
        terminal.until("I am qwen3.")


def test_a_key_given_to_model_is_neither_shown_nor_kept(place: Place) -> None:
    with place.open(env={}) as terminal:
        terminal.type("/model other http://127.0.0.1:9/v1 sk-secret-1234567890\r")
        assert "The key ends in 7890." in terminal.until("It answers from now on.")
        assert "secret" not in terminal.everything
        terminal.type("\x04")
        terminal.wait()
    assert all("secret" not in path.read_text() for path in (place.home / ".hermes" / "history").iterdir())


def plainly(place: Place, *replies: object, **more: str) -> AbstractContextManager[Terminal]:
    return place.open(*replies, env={"TERM": "dumb"}, **{"ready": "an empty line leaves", **more})  # type: ignore[arg-type]  # texts only


def test_without_escapes_control_c_stops_a_turn_and_then_leaves(place: Place) -> None:
    with plainly(place, call("terminal", {"command": "sleep 30"}), "never") as terminal:
        terminal.type("go\n")
        terminal.read(1.0)
        terminal.type("\x03")
        terminal.until("✗ stopped ·")
        terminal.until(lambda: terminal.text.endswith("\n>"))
        terminal.type("\x03")
        assert terminal.wait() == 130


@pytest.mark.parametrize(
    ("typed", "again", "said"),
    [
        ("2\n", "", "green"),
        ("a dark teal\n", "", "a dark teal"),
        ("\n", "", ""),
        ("7\n", "7\n", "7"),
        ("7\n", "1\n", "red"),
        ("7\n", "\n", ""),
    ],
)
def test_without_escapes_a_question_of_the_model_takes_a_number_or_words(
    place: Place, typed: str, again: str, said: str
) -> None:
    heard: list[str] = []
    with plainly(place, WHICH, listening(heard)) as terminal:
        terminal.type("paint\n")
        shown = terminal.until("Type a number or your own answer; an empty line leaves it open >")
        assert "Which colour?\n  1  red\n  2  green\n" in shown
        terminal.type(typed)
        if again:
            terminal.until("No choice is 7. Type it again to answer with it, or something else >")
            terminal.type(again)
        terminal.until("painted")
    assert heard == [said]


def test_without_escapes_a_session_is_chosen_by_its_number(place: Place) -> None:
    with place.open("an answer") as terminal:
        terminal.type("about apples\r")
        terminal.until("an answer")
        terminal.type("\x04")
        terminal.wait()
    with plainly(place, "go on", resume="?", ready="Number of the session") as terminal:
        assert "about apples" in terminal.text
        terminal.type("1\n")
        terminal.until("an empty line leaves")
        terminal.type("more\n")
        terminal.until("go on")
        terminal.type("/quit\n")
        assert terminal.wait() == 0


@pytest.mark.parametrize("resume", ["", "latest"])
def test_a_damaged_store_opens_no_screen_and_is_told_once(place: Place, resume: str) -> None:
    fill(place.home / ".hermes")
    damage_elsewhere(place.home / ".hermes")
    with place.window("http://127.0.0.1:1/v1", 80, 24, resume, {}) as terminal:
        assert terminal.wait() == 1
    shown = " ".join(terminal.everything.split())
    assert shown.count("is damaged (") == 1
    assert "hermes store repair brings over what can be read" in shown


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_session_whose_folder_is_gone_says_so_when_it_is_opened(place: Place, term: str) -> None:
    fill(place.home / ".hermes", sessions=1)  # which worked in /w
    with place.window("http://127.0.0.1:1/v1", 120, 60, "s0", {"TERM": term}) as terminal:
        terminal.until("/w, where this session worked, is gone: no command of it runs", 40)


def test_a_setting_that_nobody_knows_is_told_under_the_header(place: Place) -> None:
    settings(place, "display: {belll: true}\n")
    with place.open() as terminal:
        shown = terminal.until("Did you mean display.bell?")
    warning = (
        "\n\nwarning: config.yaml line 1: nobody knows the key display.belll; it has no\n"
        "effect. Did you mean display.bell?\n"
    )
    assert warning in shown


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_gives_the_terminal_back_as_it_was(place: Place, number: int) -> None:
    """The turn is interrupted, its command ends, and lines can be edited and seen again as they are typed."""
    program = f"{sys.executable} -m hermes -m fake-1 --base-url"
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(place.home), "HERMES_HOME": str(place.home / ".hermes"),
        "TERM": "xterm-256color", "LANG": "C.UTF-8", "COLORFGBG": "15;0", "HERMES_SANDBOX": "off",
    }  # fmt: skip
    with ScriptedServer(ScriptedModel(call("terminal", {"command": "sleep 4072"}))).running() as server:
        line = f"{program} {server.base_url}; echo code $?; stty -a | grep -oE ' -?(icanon|echo)\\b'"
        with Terminal(["sh", "-c", line], cwd=place.project, env=environ, columns=80, rows=24) as terminal:
            terminal.until("? keys", 40)
            terminal.type("wait\r")
            terminal.until(lambda: bool(running("sleep 4072")))
            (screen,) = (one for one in running("-m hermes") if one.ppid() == terminal.pid)
            screen.send_signal(number)
            terminal.until(lambda: terminal.text.rstrip().endswith("echo"))
            assert terminal.text.split("code ")[1].split() == [str(128 + number), "icanon", "echo"]
            assert not running("sleep 4072")


def running(words: str) -> list[psutil.Process]:
    """The processes of this test whose command line has these words."""
    mine = psutil.Process().children(recursive=True)
    return [one for one in mine if words in command_line(one)]


def command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:  # it has ended
        return ""


def test_status_tells_in_the_middle_of_a_turn_what_it_does(place: Place) -> None:
    hold = "while [ ! -e released ]; do sleep 0.1; done"
    with place.open(call("terminal", {"command": hold}), say("let go")) as terminal:
        terminal.type("wait\r")
        terminal.until("running sleep")
        terminal.type("/status\r")
        shown = terminal.until("protection:")
        assert "• now: running terminal while [ ! -e released ]" in shown
        assert "• this turn: steps: 1, requests: 1, calls: 1" in shown
        (place.project / "released").write_text("")
        terminal.until("let go")


def test_without_escapes_lines_typed_in_a_turn_are_commands_notes_and_what_comes_next(place: Place) -> None:
    seen: list[str] = []

    def told(request: dict[str, Any]) -> Turn:
        seen.append(json.dumps(request["messages"]))
        return say("all of it")

    slow = call("terminal", {"command": "sleep 2; echo slept"}, text="I begin.\n\nNow.")
    with plainly(place, slow, told, "the next answer") as terminal:
        terminal.type("go\n")
        terminal.until("I begin.")
        terminal.type("/status\n")
        terminal.until("this turn")
        terminal.type("/steer look left, too\n")
        terminal.type("and then this\n")
        terminal.until("sent when this turn has ended")
        terminal.until("all of it")
        terminal.until("> and then this")
        terminal.until("the next answer")
        terminal.until(lambda: terminal.text.endswith("\n>"))
        terminal.type("\n")
        assert terminal.wait() == 0
    assert "look left, too" in seen[0]


def test_without_escapes_leaving_in_a_turn_stops_it(place: Place) -> None:
    with plainly(
        place, call("terminal", {"command": "sleep 60"}, text="I begin.\n\nNow."), "never"
    ) as terminal:
        terminal.type("go\n")
        terminal.until("I begin.")
        terminal.type("/quit\n")
        assert terminal.wait() == 0


def test_without_escapes_the_answer_to_a_question_is_not_taken_for_the_next_message(place: Place) -> None:
    heard: list[str] = []
    with plainly(place, WHICH, listening(heard), "unasked") as terminal:
        terminal.type("paint\n")
        terminal.until("Type a number or your own answer; an empty line leaves it open >")
        terminal.type("1\n")
        terminal.until("painted")
        terminal.until(lambda: terminal.text.endswith("\n>"))
        terminal.type("\n")
        assert (terminal.wait(), "unasked" in terminal.everything) == (0, False)
    assert heard == ["red"]


def test_while_it_sums_up_the_screen_says_so_and_esc_stops_it(place: Place) -> None:
    def reply(request: dict[str, Any]) -> Turn:
        return say("## Active task\n- Talk [1]", pause=10.0, breaks_prefix=True)

    long = [say(" ".join(f"w{part}x{number}" for number in range(1_500))) for part in range(6)]
    with place.open(*long, *[reply] * 6) as terminal:
        for part in range(6):
            terminal.type(f"part {part}\r")
            terminal.until(f"w{part}x1499")
        terminal.type("/compress\r")
        shown = re.compile(r"summing up older messages · [1-9]+s · Esc stops")
        terminal.until(lambda: shown.search(terminal.text) is not None)
        terminal.type("\x1b")
        terminal.until("This was stopped; nothing was summed up.")
        assert "summing up older" not in terminal.text


def test_without_escapes_a_summary_is_told(place: Place) -> None:
    def reply(request: dict[str, Any]) -> Turn:
        return say("## Active task\n- Talk [1]", breaks_prefix=True)

    long = [say(" ".join(f"w{part}x{number}" for number in range(1_500))) for part in range(6)]
    with plainly(place, *long, *[reply] * 6) as terminal:
        for part in range(6):
            terminal.type(f"part {part}\n")
            terminal.until(f"w{part}x1499")
        terminal.type("/compress\n")
        terminal.until("summed up")
        terminal.until(lambda: terminal.text.endswith("\n>"))
        terminal.type("\n")
        assert terminal.wait() == 0


@pytest.mark.parametrize(("typed", "said"), [("/status\n2\n", ["green"]), ("/stop\n", [])])
def test_without_escapes_a_command_typed_at_a_question_runs_and_is_no_answer(
    place: Place, typed: str, said: list[str]
) -> None:
    heard: list[str] = []
    with plainly(place, WHICH, listening(heard)) as terminal:
        terminal.type("paint\n")
        terminal.until("Type a number or your own answer; an empty line leaves it open >")
        for part in typed.splitlines(keepends=True):
            terminal.type(part)
            terminal.until(
                "now: waiting for an answer" if part == "/status\n" else "painted" if said else "✗ stopped"
            )
        terminal.until(lambda: terminal.text.endswith("\n>"))  # an empty line leaves from there alone
        terminal.type("\n")
        assert terminal.wait() == 0
    assert heard == said


def test_what_a_command_changes_is_shown_below_its_line_as_an_edit_is(place: Place) -> None:
    (place.project / "app.py").write_text("".join(f"print({n})\n" for n in range(1, 40)))
    fix = "sed -i 's/print(2)/say(2)/' app.py; seq 30 > new.txt; mv notes.md README.md; printf 'a\\0' > x.bin; exit 3"
    with place.open(call("terminal", {"command": fix}), "done", columns=100, rows=50) as terminal:
        terminal.type("fix it\r")
        rows = [row.strip() for row in terminal.until("done").split("\n")]
    shown = rows[next(number for number, row in enumerate(rows) if "✗ exit 3" in row) + 1 :]
    assert shown[: shown.index("")] == [
        "app.py +1 −1", "1   print(1)", "2 - print(2)", "2 + say(2)", "3   print(3)", "4   print(4)", "5   print(5)",
        "notes.md: renamed to README.md", "new.txt +30 −0 (added)", *(f"{n} + {n}" for n in range(1, 11)),
        "… 20 more lines of the change · Ctrl-O", "x.bin: nothing → 2 bytes",
    ]  # fmt: skip


def test_each_call_of_a_reply_has_its_line_and_one_that_waits_says_for_what(place: Place) -> None:
    (place.project / "go").write_text("")
    held = "until [ -e stop ]; do sleep 0.05; done; echo changed > app.py"
    wanted = calls(
        ("search_files", {"pattern": "print"}),
        ("terminal", {"command": held}),
        ("read_file", {"path": "app.py"}),
    )
    with place.open(wanted, "all done", columns=100) as terminal:
        terminal.type("go\r")
        rows = terminal.until("waits for run").split("\n")
        at = [
            next(n for n, row in enumerate(rows) if word in row) for word in (" search ", " run ", " read ")
        ]
        assert at == sorted(at)
        assert ("1 hit" in rows[at[0]], "waits for run" in rows[at[2]]) == (True, True)
        (place.project / "stop").touch()
        text = terminal.until("all done")
    assert ("app.py +1 −1" in text, "read   app.py:1-1" in text) == (True, True)


def test_a_read_does_not_wait_for_a_command_that_only_reads(place: Place) -> None:
    os.mkfifo(place.project / "pipe")
    with place.open(
        calls(("terminal", {"command": "cat pipe"}), ("read_file", {"path": "app.py"})),
        "all done",
        columns=100,
    ) as terminal:
        terminal.type("go\r")
        terminal.until("app.py:1-1")
        assert " run    cat pipe" in terminal.text
        (place.project / "pipe").write_text("x\n")
        terminal.until("all done")
