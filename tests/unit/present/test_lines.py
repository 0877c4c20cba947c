"""What tool lines, receipts and errors promise."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from hermes.present.checkup import CheckResult, checkup_lines
from hermes.present.children import child_line
from hermes.present.lines import (
    asked_about,
    attempt_line,
    compaction_line,
    failure_lines,
    notice_lines,
    receipt_lines,
    running_lines,
    tool_lines,
    user_lines,
)
from hermes.present.markdown import markdown_lines
from hermes.present.plan import plan_lines
from hermes.present.spans import Line, columns, plain
from hermes.present.theme import Theme, choose
from hermes.present.words import call_words
from hermes.types.error import Failure
from hermes.types.event import Action, Attempted, ChildChanged, Notice
from hermes.types.message import Compaction, ToolCall, ToolResult
from hermes.types.question import Approve, Deny, Grant
from hermes.types.usage import NO_USAGE

DIFF = "--- a/app.py\n+++ b/app.py\n@@ -1,3 +1,3 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n--- not a header\n"


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id="c1", name=name, arguments=arguments)


def result(content: object, *, failed: bool = False) -> ToolResult:
    body = content if isinstance(content, str) else json.dumps(content)
    return ToolResult(id="r1", at=0.0, call_id="c1", name="x", content=body, failed=failed)


def shown(lines: list[Line]) -> list[str]:
    return [plain(row) for row in lines]


def ran(command: str, code: int, output: str, width: int, *, whole: bool = False) -> list[str]:
    content = {"output": output, "exit_code": code, "error": None}
    return shown(
        tool_lines(call("terminal", command=command), result(content), 12.44, width, emoji="💻", whole=whole)
    )


ESCAPES = "\x1b]52;c;UFdORUQ=\x07\x9d52;c;QQ==\x9c\x1b[2J\rover\u202eturned"


@pytest.mark.parametrize(
    "one",
    [
        ToolCall(id="c1", name=f"nosuch{ESCAPES}\nforged", arguments={"a": ESCAPES}),
        call("terminal", command=f"echo {ESCAPES}; ls{ESCAPES}"),
        call("read_file", path=f"/x{ESCAPES}"),
        call("delegate_task", goal=ESCAPES),
    ],
)
def test_no_escape_of_a_call_or_a_child_reaches_the_terminal(one: ToolCall) -> None:
    child = ChildChanged(call_id="c1", child="d1", goal=f"{ESCAPES}\nforged", state="running",
                         doing=f"{ESCAPES}\nforged")  # fmt: skip
    rows = [
        *tool_lines(one, result("x"), 1.0, 80),
        *tool_lines(one, result("x"), 1.0, 80, whole=True),
        *running_lines(one, ESCAPES, 1.0, 80, emoji=ESCAPES, spinner="-"),
        child_line(child, 1.0, 80),
    ]
    assert all(plain(row).isprintable() for row in rows)
    assert all(Theme(escapes=False).write(row).isprintable() for row in rows)
    assert all(columns(row) <= 80 for row in rows[:1])


@pytest.mark.parametrize("text", ["&#27;]52;c;QQ==&#7;", "[a](<x&#x9d;52;c;QQ&#x9c;>)", "`\x9b2J`"])
def test_no_escape_that_markdown_spells_reaches_the_terminal(text: str) -> None:
    assert all(plain(row).isprintable() for row in markdown_lines(text, 80))


SEVEN = "\n".join(f"line {n}" for n in range(1, 8))


@pytest.mark.parametrize(
    ("width", "head"),
    [
        (40, "💻 run    pytest …  +1   12.4s  ✗ exit 2"),
        (80, "💻 run    pytest -q  +1                                      12.4s  ✗ exit 2"),
        (
            120,
            "💻 run    pytest -q  +1                                                          12.4s  ✗ exit 2",
        ),
    ],
)
def test_a_failed_command_says_its_code_and_its_last_lines(width: int, head: str) -> None:
    rows = ran("pytest -q && echo ok", 2, SEVEN, width)
    assert rows[0] == head
    assert rows[1:] == [
        "      line 3", "      line 4", "      line 5", "      line 6", "      line 7", "      … 2 earlier lines · Ctrl-O",
    ]  # fmt: skip


def todo(*statuses: str, whole: bool = False) -> list[str]:
    items = [{"id": str(n), "content": f"step {n}", "status": one} for n, one in enumerate(statuses, 1)]
    plan = {"todos": items, "summary": {"total": len(items)}}
    return shown(tool_lines(call("todo"), result(plan), 0.01, 60, emoji="📋", whole=whole))


def test_a_plan_is_one_line_with_how_far_it_is_and_whole_a_list() -> None:
    assert todo("completed", "in_progress", "pending", "cancelled", whole=True) == [
        "📋 plan   step 2                          0.0s  1 of 3",
        "      ☑ step 1",
        "      ▸ step 2",
        "      ☐ step 3",
        "      ✗ step 4",
    ]
    assert todo("completed", "pending") == ["📋 plan                                   0.0s  1 of 2"]
    assert todo() == ["📋 plan                                   0.0s  empty"]
    assert len(todo(*("pending",) * 41, whole=True)) == 42


def test_of_a_long_plan_what_is_open_is_shown_and_the_rest_counted() -> None:
    statuses = ("completed",) * 20 + ("in_progress",) + ("pending",) * 20
    long = [{"content": f"step {number}", "status": one} for number, one in enumerate(statuses, 1)]
    rows = shown(plan_lines(long, 60))
    assert (rows[0], rows[1], rows[2], rows[-1], len(rows)) == (
        "… 19 earlier · Ctrl-O", "☑ step 20", "▸ step 21", "… 10 more · Ctrl-O", 14,
    )  # fmt: skip


@pytest.mark.parametrize("content", [{"todos": None}, {"todos": [1]}, {"todos": [{"id": "1"}]}])
def test_a_plan_of_another_form_is_no_fault_of_the_screen(content: object) -> None:
    assert len(shown(tool_lines(call("todo"), result(content), 0.01, 60))) == 1


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_row_of_a_finished_call_is_wider_than_the_window(width: int) -> None:
    lines = tool_lines(
        call("terminal", command="echo " + "漢字 " * 60),
        result({"output": "x" * 300, "exit_code": 1}),
        1,
        width,
    )
    assert [columns(row) <= width for row in lines] == [True] * len(lines)
    assert "…" in plain(lines[0])
    assert plain(lines[0]).endswith("✗ exit 1")


def test_seconds_of_calls_stand_in_one_column() -> None:
    heads = [ran("true", 0, "", 80)[0], ran("false", 1, "", 80)[0], ran("x" * 200, 0, "", 80)[0]]
    assert {row.index("12.4s") for row in heads} == {heads[0].index("12.4s")}


def test_empty_output_adds_no_line_and_success_has_no_word() -> None:
    assert ran("true", 0, "", 80) == [ran("true", 0, "", 80)[0]]
    assert ran("true", 0, "", 80)[0].endswith("12.4s")


def test_the_whole_view_shows_every_line_and_the_whole_command() -> None:
    rows = ran("pytest -q && echo ok", 0, SEVEN, 80, whole=True)
    assert "pytest -q && echo ok" in rows[0]
    assert rows[1:] == [f"      line {n}" for n in range(1, 8)]


def test_quoted_separators_do_not_count_as_parts() -> None:
    assert ' run    echo "a; b && c"  ' in ran('echo "a; b && c"', 0, "", 80)[0]


def test_an_edit_shows_its_count_and_a_numbered_diff() -> None:
    lines = shown(
        tool_lines(call("patch", path="app.py"), result({"success": True, "diff": DIFF}), 0.1, 80, emoji="🔧")
    )
    assert lines[0].endswith("0.1s  +1 −2")
    assert lines[1:] == [
        "         1   def add(a, b):", "         2 -     return a - b", "         2 +     return a + b", "         3 - -- not a header",
    ]  # fmt: skip


SEVERAL = (
    "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-one\n+two\n"
    "--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+new\n"
    "--- a/c.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
    "rename from d.py\nrename to e.py\n--- a/d.py\n+++ b/e.py\n@@ -1 +1 @@\n-x\n+y\n"
    "rename from f.py\nrename to g.py\n"
)
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-one\n+two\n*** Add File: b.py\n+new\n*** Delete File: c.py\n*** Update File: d.py\n*** Move to: e.py\n"


def test_a_patch_of_several_files_says_how_many_and_what_becomes_of_each() -> None:
    edit, done = call("patch", mode="patch", patch=PATCH), result({"success": True, "diff": SEVERAL})
    lines = shown(tool_lines(edit, done, 0.1, 120))
    assert lines[0].startswith(
        "🔧 edit   4 files (1 added, 1 deleted, 1 moved): a.py, b.py, c.py, d.py → e.py"
    )
    assert [row.strip() for row in lines[1:] if " −" in row] == [
        "a.py +1 −1", "b.py +1 −0 (added)", "c.py +0 −1 (deleted)", "d.py → e.py +1 −1 (moved)", "f.py → g.py +0 −0 (moved)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        ("*** Add File: b.py\n+x", "b.py (added)"),
        ("*** Delete File: c.py", "c.py (deleted)"),
        ("*** Update File: d.py\n*** Move to: e.py", "d.py → e.py (moved)"),
        ("*** Update File: a.py\n@@\n-x\n+y", "a.py"),
    ],
)
def test_a_patch_of_one_file_says_what_becomes_of_it(patch: str, told: str) -> None:
    assert call_words(call("patch", mode="patch", patch=patch)).argument == told


def test_a_question_about_several_files_is_headed_by_all_of_them() -> None:
    question = Approve(command="write /w/a.py", cwd="", reasons=(), rule="edit", diff=SEVERAL)
    told = "5 files: 1 added, 1 changed, 1 deleted, 2 moved"
    assert asked_about(question) == told
    assert shown(receipt_lines(question, Grant(), "person", 80)) == [f"✓ allowed once by you: {told}"]
    alone = replace(question, diff=DIFF)
    assert asked_about(alone) == "write /w/a.py"


def test_a_file_that_was_written_over_shows_its_change_as_an_edit_does() -> None:
    written = result({"bytes_written": 40})
    lines = shown(tool_lines(call("write_file", path="app.py"), written, 0.1, 80, diff=DIFF))
    assert (lines[0].endswith("0.1s  +1 −2"), lines[2]) == (True, "         2 -     return a - b")


def test_a_long_diff_is_cut_at_twenty_rows_with_a_count() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -0,0 +1,50 @@\n" + "".join(f"+{n}\n" for n in range(50))
    lines = shown(tool_lines(call("patch", path="x"), result({"success": True, "diff": diff}), 0.1, 80))
    assert len(lines) == 21
    assert lines[-1] == "      … 31 more lines of the change · Ctrl-O"


@pytest.mark.parametrize(
    ("name", "arguments", "content", "start", "end"),
    [
        ("read_file", {"path": "app.py"}, {"content": "3|a\n4|b|c"}, "📖 read   app.py:3-4", "0.1s"),
        ("search_files", {"pattern": "x"}, {"total_count": 3, "matches": []}, "🔎 search x", "0.1s  3 hits"),
        ("write_file", {"path": "a"}, {"bytes_written": 3400}, "✍  write  a", "0.1s  3.4 kB"),
        (
            "terminal",
            {"command": "sleep 9"},
            {"output": "", "exit_code": 124},
            "💻 run    sleep 9",
            "0.1s  ✗ timed out",
        ),
        (
            "terminal",
            {"command": "sleep 9"},
            {"output": "", "exit_code": 130},
            "💻 run    sleep 9",
            "0.1s  ✗ stopped",
        ),
        (
            "terminal",
            {"command": "x"},
            {"output": "", "exit_code": -1, "status": "blocked"},
            "💻 run    x",
            "0.1s  ✗ denied",
        ),
        (
            "terminal",
            {"command": "x"},
            {"error": "The call was not run: the user stopped the turn first.", "status": "not_run"},
            "💻 run    x",
            "0.1s  ✗ not run",
        ),
        ("some_tool", {"city": "Rome"}, {"ok": 1}, "⚡ some tool Rome", "0.1s"),
        ("some_tool", {"n": 1}, {"error": "no such thing"}, "⚡ some tool", "0.1s  ✗ error"),
    ],
)
def test_each_kind_of_call_shows_what_matters(
    name: str, arguments: dict[str, Any], content: object, start: str, end: str
) -> None:
    head = shown(tool_lines(call(name, **arguments), result(content), 0.1, 80))[0]
    assert (head.startswith(start), head.endswith(end)) == (True, True), head


def test_an_error_of_a_tool_is_shown_below_it() -> None:
    assert shown(tool_lines(call("read_file", path="x"), result({"error": "no file x"}), 0.1, 80))[1:] == [
        "      no file x"
    ]


def test_tools_cannot_move_the_cursor_or_colour_the_screen() -> None:
    assert ran("x", 0, "\x1b[2J\x1b[31mred\x1b[0m\r\n10%\r100%", 80)[1:] == ["      red", "      100%"]


def test_a_running_call_shows_its_last_three_lines() -> None:
    rows = shown(running_lines(call("terminal", command="make"), SEVEN, 61, 80, emoji="💻", spinner="⠹"))
    assert (rows[0].startswith("💻 run    make"), rows[0].endswith("1m 01s  ⠹"), rows[1:]) == (
        True, True, ["      line 5", "      line 6", "      line 7"],
    )  # fmt: skip


def test_a_refused_key_is_told_in_three_lines_without_the_key() -> None:
    failure = Failure(reason="auth", message="Incorrect API key\nprovided", status=401, address="http://h/v1")
    assert shown(failure_lines(failure, 80, key="sk-abcdef1234", fix="Set another one with /model")) == [
        "✗ the key was refused (401): Incorrect API key provided", "  http://h/v1 · key …1234", "  Set another one with /model",
    ]  # fmt: skip


def test_a_long_sentence_of_a_provider_is_wrapped_and_whole() -> None:
    failure = Failure(reason="format_error", message="word " * 40 + "end", status=400, address="http://h/v1")
    rows = shown(failure_lines(failure, 100))
    assert (len(rows), all(len(row) <= 100 for row in rows), rows[-1]) == (4, True, "  http://h/v1")
    told = "✗ the server did not accept the request (400): " + "word " * 40 + "end"
    assert " ".join(" ".join(rows[:-1]).split()) == told


def test_a_retry_line_keeps_its_countdown_at_any_width() -> None:
    failure = Failure(
        reason="rate_limit", message="slow", status=429, address="http://a-very-long-host.example/v1/chat"
    )
    event = Attempted(
        attempt=2,
        attempts=4,
        provider="p",
        model="m",
        seconds=1.0,
        usage=NO_USAGE,
        action="wait",
        failure=failure,
    )
    assert (
        plain(attempt_line(event, 16.4, 60)) == "too many requests (429) · ht… · retrying in 16s · try 2 of 4"
    )
    assert columns(attempt_line(event, 16.4, 60)) <= 60


@pytest.mark.parametrize(
    ("action", "follows", "words"),
    [
        ("next_credential", "b", "going on with the next key"),
        ("next_endpoint", "p/m2", "going on with p/m2"),
        ("leave_out", "tool_images", "once more without tool images"),
    ],
)
def test_a_failed_request_is_told_with_what_follows(action: Action, follows: str, words: str) -> None:
    failure = Failure(reason="billing", message="pay", status=402)
    event = Attempted(
        attempt=1,
        attempts=4,
        provider="p",
        model="m",
        seconds=1.0,
        usage=NO_USAGE,
        action=action,
        failure=failure,
        next=follows,
    )
    assert plain(attempt_line(event, 0, 80)) == f"the account cannot pay (402) · {words}"


def test_receipts_say_what_which_choice_and_by_whom() -> None:
    question = Approve(command="rm -rf\n./x", cwd="/w", reasons=(), rule="r")
    assert shown(receipt_lines(question, Grant(scope="session"), "person", 80)) == [
        "✓ allowed for this session by you: rm -rf ./x"
    ]
    assert shown(receipt_lines(question, Deny(reason="use git"), "person", 80)) == [
        "✗ denied by you: rm -rf ./x",
        "  use git",
    ]
    assert shown(receipt_lines(question, Deny(), "policy", 80)) == ["✗ denied by policy: rm -rf ./x"]


def test_a_long_message_is_echoed_by_its_ends() -> None:
    assert shown(user_lines("\n".join(f"row {n}" for n in range(1, 201)), 80)) == [
        "❯ row 1", "  row 2", "  row 3", "  … 196 more lines", "  row 200",
    ]  # fmt: skip


def test_notices_carry_their_level_as_a_word() -> None:
    assert shown(notice_lines(Notice(level="warning", text="no sandbox"), 80)) == ["warning: no sandbox"]


def test_an_attempt_that_saved_nothing_is_not_told_as_one_that_did() -> None:
    entry = Compaction(id="k", at=0.0, summary="", first_kept="", before=15_023, after=15_023)
    assert plain(compaction_line(entry)) == "… Nothing older could be left out: 15k tokens"


def test_a_child_in_the_background_that_has_done_nothing_yet_is_said_to_go_on() -> None:
    one = ChildChanged(call_id="c", child="s", goal="dig", state="running", background=True)
    assert [
        plain(child_line(each, 0.0, 60))
        for each in (one, replace(one, background=False), replace(one, doing="x"))
    ] == ["● dig · goes on in the background · 0.0s", "● dig · 0.0s", "● dig · x · 0.0s"]


def test_no_color_leaves_no_colour_code_and_dumb_no_escape_at_all() -> None:
    rows = tool_lines(call("terminal", command="x"), result({"output": "y", "exit_code": 3}), 1, 80)
    bare = choose({"NO_COLOR": "1", "TERM": "xterm"})
    dumb = choose({"TERM": "dumb"})
    assert "\x1b[3" not in "".join(bare.write(row).replace("\x1b[3m", "") for row in rows)
    assert "\x1b" not in "".join(dumb.write(row) for row in rows)
    assert "\x1b[31m✗ exit 3\x1b[0m" in choose({"TERM": "xterm"}).write(rows[0])


def test_light_and_dark_are_told_from_the_terminal() -> None:
    assert [choose({"TERM": "x", "COLORFGBG": value}).background for value in ("0;15", "15;0", "")] == [
        "light",
        "dark",
        "dark",
    ]


ROLES = (
    "strong", "emphasis", "heading", "struck", "dim", "quote", "error", "good", "added", "removed", "chosen", "title",
    "code", "link", "accent", "warning", "prompt", "chip", "keyword", "string", "number", "comment", "definition",
)  # fmt: skip


@pytest.mark.parametrize("role", ROLES)
def test_no_role_is_lost_or_pale_on_a_light_background(role: str) -> None:
    light, dark = Theme(background="light").attributes(role), Theme(background="dark").attributes(role)
    assert light
    assert not {"yellow", "cyan"} & set(light)
    assert [word in {"bold", "dim", "italic", "underline", "strike"} for word in light] == [
        word in {"bold", "dim", "italic", "underline", "strike"} for word in dark
    ]


def test_a_light_terminal_gets_other_colours_and_the_same_words() -> None:
    rows = notice_lines(Notice(level="warning", text="no sandbox"), 80)
    light, dark = (Theme(background=ground).write(rows[0]) for ground in ("light", "dark"))
    assert (light, dark) == ("\x1b[35mwarning: \x1b[0mno sandbox", "\x1b[33mwarning: \x1b[0mno sandbox")


def test_ascii_keeps_every_cell_in_its_place() -> None:
    rows = tool_lines(
        call("terminal", command="x"), result({"output": SEVEN, "exit_code": 3}), 1, 80, emoji="💻"
    )
    written = [Theme(ascii=True, escapes=False).write(row) for row in rows]
    assert all(row.isascii() for row in written)
    assert [len(row) for row in written] == [columns(row) for row in rows]


def test_a_finding_stands_behind_its_mark_and_wraps_beside_it() -> None:
    found = [CheckResult("ok", "bash: /bin/bash"), CheckResult("fault", "disk: nothing is left on it")]
    assert [plain(row) for row in checkup_lines(found, 20)] == [
        "✓ bash: /bin/bash",
        "✗ disk: nothing is",
        "  left on it",
    ]


def test_a_command_shows_the_end_of_its_output_and_then_what_it_changed() -> None:
    ended = result({"output": "fixed\n", "exit_code": 0})
    lines = shown(tool_lines(call("terminal", command="fix"), ended, 0.1, 80, diff=DIFF))
    assert (lines[0].endswith("0.1s  +1 −2"), lines[1:4]) == (
        True, ["      fixed", "      app.py +1 −2", "         1   def add(a, b):"],
    )  # fmt: skip


def test_a_command_that_failed_says_so_first_and_shows_what_it_changed_all_the_same() -> None:
    ended = result({"output": "no\n", "exit_code": 3}, failed=True)
    lines = shown(tool_lines(call("terminal", command="fix"), ended, 0.1, 80, diff=DIFF))
    assert (lines[0].endswith("0.1s  ✗ exit 3"), lines[2]) == (True, "      app.py +1 −2")


def test_of_many_changed_files_the_first_show_lines_and_the_others_their_counts() -> None:
    def made(name: str, rows: int) -> str:
        return f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,{rows} @@\n" + "+x\n" * rows

    diff = made("a", 12) + made("b", 12) + made("c", 2) + "d: +70 −1\ne.bin: 3 bytes → 4 bytes\n"
    diff += "".join(f"f{n}: renamed to g{n}\n" for n in range(9))
    lines = shown(tool_lines(call("terminal", command="x"), result({"output": ""}), 0.1, 80, diff=diff))
    assert lines[0].endswith("+96 −1")
    assert [row.strip() for row in lines[1:] if "+ x" not in row] == [
        "a +12 −0 (added)", "b +12 −0 (added)", "… 7 more lines of the change · Ctrl-O", "c +2 −0 (added)", "d +70 −1", "e.bin: 3 bytes → 4 bytes",
        *(f"f{n}: renamed to g{n}" for n in range(5)), "… 4 more files · Ctrl-O",
    ]  # fmt: skip
    assert sum("+ x" in row for row in lines) == 17
    whole = tool_lines(call("terminal", command="x"), result({"output": ""}), 0.1, 80, diff=diff, whole=True)
    assert (sum("+ x" in row for row in shown(whole)), shown(whole)[-1].strip()) == (26, "f8: renamed to g8")


def test_a_file_that_an_edit_removed_has_its_own_name_and_a_missing_line_end_is_no_line() -> None:
    diff = "--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-1\n\\ No newline at end of file\n+2\n"
    lines = shown(tool_lines(call("patch", path="b"), result({"success": True, "diff": diff}), 0.1, 80))
    assert [row.strip() for row in lines[1:]] == ["old +0 −1 (deleted)", "1 - x", "b +1 −1", "1 - 1", "1 + 2"]
