"""Where nothing confines and nobody answers, code that a session wrote itself does not run."""

import pytest
from msgspec.structs import replace

from hermes.safety.decide import Policy, decide
from hermes.safety.unreviewed import unreviewed, writes
from hermes.types.action import Command, FileAccess

POLICY = Policy(workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes")


def judged(command: str, policy: Policy = POLICY, *, wrote: bool = False) -> str:
    action = Command(command=command, cwd="/data/project")
    return unreviewed(action, decide(action, policy), policy, wrote=wrote).decision


RUNS = (
    "python build.py",
    "python -m unittest",
    "python -c 'import build'",
    "make",
    "make -C sub all",
    "npm run start",
    "pytest -q",
    "bash run.sh",
    "sh < run.sh",
    "./run",
    "sub/run",
    "/data/project/run",
    "env A=1 ./run",
    "node x.js",
    "go run .",
    "cargo test",
    ". ./x.sh",
    "awk -f x.awk y",
    "sed -f x.sed y",
    "find . -name x -exec ./run {} +",
    "ls; make",
    "cat x | bash",
    "ruff check .",
    "cd r; git status",
    "git -c safe.bareRepository=explicit commit -m x",
    "git -c safe.bareRepository=explicit -c core.hooksPath=/dev/null --git-dir=r status",
    "GIT_DIR=r git -c safe.bareRepository=explicit -c core.hooksPath=/dev/null status",
    "let 'a[$(bash e.sh)0]=1'",
    "x='a[$(bash e.sh)0]'; echo $((x))",
    "/tmp/x",
)


@pytest.mark.parametrize("command", RUNS)
def test_what_may_run_a_file_of_the_session_needs_a_yes(command: str) -> None:
    assert judged(command, wrote=True) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "printf 'x' > build.py && python build.py",
        "cat > t.py <<'E'\nprint(1)\nE\npython t.py",
        "cp a Makefile; make",
        "sed -i s/a/b/ x.py && pytest",
    ],
)
def test_a_line_that_writes_and_runs_needs_one_too(command: str) -> None:
    assert judged(command) == "ask"


@pytest.mark.parametrize(
    "command", ["make > log.txt 2>&1", "pytest -q", "python build.py", "npm run start", "ls"]
)
def test_what_the_session_did_not_write_runs(command: str) -> None:
    assert judged(command) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "ls -l",
        "cat a | sort | uniq -c",
        "git -c safe.bareRepository=explicit -c core.hooksPath=/dev/null commit -m x",
        "/usr/bin/wc -l x",
        "cd sub && grep -r x .",
        "cp a b",
    ],
)
def test_programs_that_run_nothing_of_a_folder_go_on(command: str) -> None:
    assert judged(command, wrote=True) == "allow"


def test_the_refusal_of_git_says_how_it_runs_nothing() -> None:
    action = Command(command="git status", cwd="/data/project")
    verdict = unreviewed(action, decide(action, POLICY), POLICY, wrote=True)
    expected = (
        "git may run what this session wrote, with nothing that confines it;"
        " git -c safe.bareRepository=explicit -c core.hooksPath=/dev/null does not"
    )
    assert verdict.reasons == (expected,)


@pytest.mark.parametrize(
    "policy",
    [
        replace(POLICY, sandbox="workspace"),
        replace(POLICY, sandbox="container"),
        replace(POLICY, yolo=True),
        replace(POLICY, mode="off"),
    ],
)
def test_a_sandbox_and_the_users_own_word_let_it_run(policy: Policy) -> None:
    assert judged("python build.py", policy, wrote=True) in {"allow", "contain"}


def test_writing_is_told_by_what_an_action_changes() -> None:
    actions = (
        Command(command="echo x > a", cwd="/data/project"),
        Command(command="ls", cwd="/data/project"),
        FileAccess(operation="write", path="/data/project/a"),
        FileAccess(operation="read", path="/data/project/a"),
    )
    assert [writes(one, decide(one, POLICY)) for one in actions] == [True, False, True, False]
