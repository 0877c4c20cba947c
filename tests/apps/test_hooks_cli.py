"""`hermes hooks`, as a program, and the question about a command that is new."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes.plugins.hook_consent import HookConsent
from hermes.plugins.settings import ShellHook
from hermes.testing import ScriptedModel, ScriptedServer, call, say
from tests.apps.conftest import Run
from tests.apps.screen import Terminal
from tests.apps.test_tui_program import Place

UNHEARD = "once changes nothing here: it is run each time that its matcher fits, and waited for."
NO_PLACE = "hooks of the type http have no place here"
CODE = "import sys\nprint('not now', file=sys.stderr)\nsys.exit(2)\n"


@pytest.fixture
def command(tmp_path: Path) -> str:
    (tmp_path / "hook.py").write_text(CODE)
    return f"{sys.executable} {tmp_path / 'hook.py'}"


def configure(home: Path, command: str) -> None:
    home.mkdir(parents=True, exist_ok=True)
    hook = {"command": command, "matcher": "terminal"}
    (home / "config.yaml").write_text(json.dumps({"hooks": {"PreToolUse": [hook]}}))


def test_commands_are_listed_tried_and_taken_back(environ: dict[str, str], run: Run, command: str) -> None:
    configure(Path(environ["HERMES_HOME"]), command)

    def state() -> str:
        return str(json.loads(run("hooks", "list", "--json").stdout)["state"])

    told = f"hook PreToolUse: {command}"
    assert state() == "waits for your yes"
    assert run("hooks", "test", "PreToolUse", given="n\n").stdout.endswith(f"{told}: not run\n")
    answer = f'{told}: exit code 2, answers {{"action": "block", "message": "not now"}}\n'
    assert run("hooks", "test", "pre_tool_call", "-y").stdout == answer
    doctor = run("hooks", "doctor")
    assert (doctor.returncode, doctor.stdout) == (1, f"{told}: waits for your yes\n")
    assert run("hooks", "test", "PreToolUse", given="y\n").stdout.endswith(answer)
    assert state() == "runs"
    assert "hook PreToolUse" not in run("doctor").stdout
    assert run("hooks", "doctor").stdout == "Nothing is wrong.\n"
    Path(command.split()[1]).write_text("pass")
    assert state() == "changed since your yes"
    assert f"! {told} is not run: nobody has said yes to it as it is now" in run("doctor").stdout
    Path(command.split()[1]).write_text(CODE)
    assert run("hooks", "revoke", command).stdout == "1 taken back.\n"
    again = run("hooks", "revoke", command)
    assert (again.returncode, again.stderr) == (
        2,
        f"hermes: There is no yes to {command!r}; hermes hooks list shows the commands.\n",
    )
    assert state() == "waits for your yes"
    assert "No command is run at Stop" in run("hooks", "test", "Stop").stderr
    deep = run("hooks", "test", "PreToolUse", "--arguments", '{"a":' * 3000 + "1" + "}" * 3000)
    assert deep.stderr.startswith("hermes: --arguments is no JSON that can be read: ")
    nope = run("hooks", "test", "Nope").stderr
    assert nope.startswith("hermes: hooks.Nope is no hook point; there are Notification, PostToolUse, ")


GROUPS: dict[str, Any] = {
    "PreToolUse": [
        {"command": "true", "matcher": "terminal"},
        {
            "matcher": "Edit|Write",
            "hooks": [
                {"type": "command", "command": "sh .claude/guard.sh", "timeout": 5},
                {"type": "http", "url": "http://127.0.0.1:1/"},
            ],
        },
    ],
    "PreCompact": [{"hooks": [{"type": "command", "command": "true", "once": True}]}],
    "SessionStart": [{"hooks": [{"type": "command", "command": "git status", "once": True}]}],
}
GUARD = "sh .claude/guard.sh"
TWO_FILES = json.dumps({"mode": "patch", "patch": "*** Add File: a\n+x\n*** Delete File: b\n"})


def put_guard(folder: Path, name: str) -> None:
    (folder / ".claude").mkdir(parents=True, exist_ok=True)
    (folder / ".claude/guard.sh").write_text(
        f"grep -q '/{name}\"' && echo 'keep {name}' >&2 && exit 2 || true\n"
    )


def test_both_forms_are_listed_and_what_is_not_run_with_its_reason(environ: dict[str, str], run: Run) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(json.dumps({"hooks": GROUPS}))
    listed = run("hooks", "list", "--json").stdout.splitlines()
    waits = "waits for your yes"
    assert [tuple(json.loads(one).values()) for one in listed] == [
        ("PreToolUse", "true", "terminal", "60 s", waits),
        ("PreToolUse", GUARD, "Edit|Write", "5 s", waits),
        ("PreToolUse", "a hook of the type http", "Edit|Write", "", f"never runs: {NO_PLACE}"),
        ("PreCompact", "true", "", "", "never runs: PreCompact is no hook point here"),
        ("SessionStart", "git status", "", "600 s", waits),
    ]
    doctor = run("hooks", "doctor")
    assert (doctor.returncode, doctor.stdout.splitlines()) == (
        1,
        [
            f"hook PreToolUse: true: {waits}",
            f"hook PreToolUse: {GUARD}: {waits}",
            f"hook PreToolUse: a hook of the type http: {NO_PLACE}",
            "hook PreCompact: true: PreCompact is no hook point here",
            f"hook SessionStart: git status: {UNHEARD}",
            f"hook SessionStart: git status: {waits}",
        ],
    )


def test_the_doctor_says_of_a_matcher_that_it_fits_no_tool(environ: dict[str, str], run: Run) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    fitting = ("Read", " Read | x ", "read_file", "mcp__files__read", ".*", "", "Glob|Gone")
    groups = [
        {"matcher": one, "hooks": [{"command": f"echo {number}"}]}
        for number, one in enumerate(("/Read/", "read", "Read\n", *fitting))
    ]
    (home / "config.yaml").write_text(json.dumps({"hooks": {"PreToolUse": groups}}))
    told = [one for one in run("hooks", "doctor").stdout.splitlines() if "matcher" in one]
    assert told == [
        f"hook PreToolUse: echo {number}: its matcher {matcher} fits no tool that is known here"
        for number, matcher in enumerate(("'/Read/'", "'read'", r"'Read\n'"))
    ]


def test_a_group_is_tried_on_each_file_and_asked_about_in_each_project(
    environ: dict[str, str], run: Run, work: Path, tmp_path: Path
) -> None:
    home, other = Path(environ["HERMES_HOME"]), tmp_path / "other"
    home.mkdir(parents=True, exist_ok=True)
    for folder in (work, other):
        put_guard(folder, "b")

    def tried(folder: Path, answer: str = "") -> list[str]:
        settings = {"hooks": {"PreToolUse": GROUPS["PreToolUse"][1:]}, "terminal": {"cwd": str(folder)}}
        (home / "config.yaml").write_text(json.dumps(settings))
        words = ("hooks", "test", "PreToolUse", "--for-tool", "patch", "--arguments", TWO_FILES)
        return run(*words, given=answer).stdout.splitlines()

    told = f"hook PreToolUse: {GUARD}"
    shown = "hook PreToolUse, matcher 'Edit|Write':", f"│ {GUARD}"
    answers = [
        f"{told}: exit code 0, answers {{}}",
        f'{told}: exit code 2, answers {{"blocks": "keep b"}}',
    ]
    where = "It is run before each call of a tool in {}."
    bound = "A change of these files is asked about again: .claude/guard.sh."
    asks = "{} Run it from now on? [y/N]: "
    assert tried(work, "y\n") == [
        *shown,
        where.format(work),
        bound,
        asks.format("It is new.") + answers[0],
        answers[1],
    ]
    assert tried(work) == answers
    news = asks.format("Your yes was for another project.")
    assert tried(other, "n\n") == [*shown, where.format(other), bound, f"{news}{told}: not run"]
    put_guard(work, "a")
    news = asks.format("Since your yes guard.sh was changed.")
    assert tried(work, "n\n") == [*shown, where.format(work), bound, f"{news}{told}: not run"]
    put_guard(work, "b")
    assert run("hooks", "revoke", GUARD).stdout == "1 taken back.\n"
    assert tried(work, "n\n")[4].startswith(asks.format("It is new."))


def test_where_nobody_can_be_asked_a_new_command_is_not_run_and_said_once(
    environ: dict[str, str], run: Run, command: str
) -> None:
    configure(Path(environ["HERMES_HOME"]), command)

    def asked(*more: str) -> tuple[bool, bool]:
        model = ScriptedModel(call("terminal", {"command": "echo ran"}), say("done"))
        with ScriptedServer(model).running() as server:
            done = run(*more, "-z", "go", "-m", "m", "--base-url", server.base_url)
        blocked = "not now" in json.dumps(model.requests[-1]["messages"])
        return blocked, done.stderr.count("is not run: nobody has said yes to it") == 1

    assert (asked(), asked("--accept-hooks")) == ((False, True), (True, False))


def test_a_yes_is_given_in_a_terminal_alone(
    environ: dict[str, str], run: Run, work: Path, command: str
) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(
        json.dumps({"hooks": {"Stop": [{"command": "true"}], "PreToolUse": [{"command": command}]}})
    )
    listed = run("hooks", "list")
    assert listed.stderr == "hermes hooks accept asks about those without your yes.\n"
    without = run("hooks", "accept", given="y\ny\n")
    assert (without.returncode, without.stdout) == (2, "")
    assert without.stderr == "hermes: 2 wait for a yes, which can only be given in a terminal.\n"

    def asked(*words: str) -> Terminal:
        return Terminal([sys.executable, "-m", "hermes", "hooks", "accept", *words], cwd=work, env=environ)

    with asked("PreToolUse") as terminal:
        terminal.until("Run it from now on? [y/N]")
        assert "before each call of a tool" in terminal.text
        terminal.type("y\r")
        terminal.until("hook.py: runs")
    with asked() as terminal:
        terminal.until("│ true")
        terminal.until("It names no file that is there: a change of what it runs would not be noticed.")
        terminal.until("Run it from now on? [y/N]")
        terminal.type("\r")
        terminal.until("hook Stop: true: waits for your yes")
    with asked("PreToolUse") as terminal:
        terminal.until("No command waits for your yes.")


def test_a_new_command_is_asked_about_before_the_screen_opens(tmp_path: Path, command: str) -> None:
    place = Place(tmp_path)
    configure(place.home / ".hermes", command)
    with (
        ScriptedServer(
            ScriptedModel(call("terminal", {"command": "echo ran"}), say("done"))
        ).running() as server,
        place.window(server.base_url, 100, 30, "", {}) as terminal,
    ):
        terminal.until("It is new. Run it from now on? [y/N]")
        assert "before each call of a tool" in terminal.text
        terminal.type("n\r")
        terminal.until("(main")
    HookConsent(place.home / ".hermes").accept("PreToolUse", ShellHook(command=command, matcher="terminal"))
    file = Path(command.split()[1])
    file.write_text(CODE + "\n")
    with (
        ScriptedServer(
            ScriptedModel(call("terminal", {"command": "echo ran"}), say("done"))
        ).running() as server,
        place.window(server.base_url, 100, 30, "", {}) as terminal,
    ):
        terminal.until("Since your yes hook.py was changed. Run it from now on? [y/N]")
        terminal.type("y\r")
        terminal.until("(main")
        terminal.type("go\r")
        terminal.until("not now")
        terminal.until("done")


def test_the_doctor_names_every_command_that_cannot_be_run(environ: dict[str, str], run: Run) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True)
    some = {"NoSuchPoint": [{"command": "true"}], "Stop": [{"command": "no-such-program-here"}]}
    (home / "config.yaml").write_text(json.dumps({"hooks": some, "hooks_auto_accept": True}))
    told = [line for line in run("doctor").stdout.splitlines() if "hook" in line]
    assert [line.partition("; there are")[0] for line in told] == [
        "✗ hook NoSuchPoint: true: hooks.NoSuchPoint is no hook point",
        "✗ hook Stop: no-such-program-here: no-such-program-here is not there, or cannot be run",
    ]


def test_the_doctor_asks_the_shell_for_the_program_of_a_group(
    environ: dict[str, str], run: Run, work: Path
) -> None:
    home, script = Path(environ["HERMES_HOME"]), work / ".claude/guard.sh"
    home.mkdir(parents=True)
    script.parent.mkdir()
    script.write_text("exit 0\n")
    there = (
        "true; x",
        "if true; then false; fi",
        "! nothing",
        "A=b nothing",
        '"$NOTHING"/x',
        "cd a && nothing",
    )
    gone = ("no-such-program --x", ".claude/guard.sh", "~/no-such-script")
    groups = [{"hooks": [{"command": one}]} for one in (*gone, *there)]
    settings = {"hooks": {"Stop": groups}, "hooks_auto_accept": True}
    (home / "config.yaml").write_text(json.dumps(settings))
    words = (*gone[:2], f"{environ['HOME']}/no-such-script")
    told = [
        f"hook Stop: {command}: {word.split()[0]} is not there, or cannot be run"
        for command, word in zip(gone, words, strict=True)
    ]
    assert [one for one in run("hooks", "doctor").stdout.splitlines() if "waits" not in one] == told
    found = [one for one in run("doctor").stdout.splitlines() if "hook Stop" in one]
    assert found == [f"✗ {one}" for one in told]
    script.chmod(0o755)
    assert ".claude/guard.sh" not in run("doctor").stdout


def test_a_group_of_a_project_is_asked_about_before_the_screen_opens_and_then_guards(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.home / ".hermes").mkdir(parents=True, exist_ok=True)
    settings = {"hooks": {"PreToolUse": GROUPS["PreToolUse"][1:2]}}
    (place.home / ".hermes/config.yaml").write_text(json.dumps(settings))
    put_guard(place.project, "b")
    model = ScriptedModel(call("write_file", {"path": "b", "content": "x"}), say("done"))
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, 100, 30, "", {}) as terminal,
    ):
        terminal.until("It is new. Run it from now on? [y/N]")
        terminal.type("y\r")
        terminal.until("(main")
        terminal.type("go\r")
        terminal.until("keep b")
        terminal.until("done")


def test_a_guard_of_a_repository_guards_in_a_worktree_too(
    environ: dict[str, str], run: Run, work: Path
) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(json.dumps({"hooks": {"PreToolUse": GROUPS["PreToolUse"][1:2]}}))
    put_guard(work, "b")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "a")):
        subprocess.run([*git, *words], cwd=work, check=True)
    writes = ("--for-tool", "write_file", "--arguments", '{"path": "b"}')
    assert "keep b" in run("hooks", "test", "PreToolUse", *writes, given="y\n").stdout
    model = ScriptedModel(call("write_file", {"path": "b", "content": "x"}), say("done"))
    with ScriptedServer(model).running() as server:
        done = run("-w", "one", "-z", "go", "-m", "m", "--base-url", server.base_url)
    assert done.stdout == "done\n", done.stderr
    assert "keep b" in model.requests[-1]["messages"][-1]["content"]
