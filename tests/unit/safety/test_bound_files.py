"""A yes is bound to the files that a command runs; where it may run others, it is for once and says so."""

from typing import Final

import pytest
from msgspec.structs import replace

from hermes.safety.bound_files import named_paths
from hermes.safety.decide import Policy, decide
from hermes.types.action import Command
from hermes.types.needs import Needs

SANDBOX: Final = Policy(
    workspace="/ws", home="/home/user", hermes_home="/home/user/.hermes", sandbox="workspace"
)
NEEDS: Final = (Needs(unconfined=True), Needs(network=True), Needs(paths=("/opt/y",)))


def offers(command: str, needs: Needs) -> tuple[bool, bool, bool]:
    """Whether a yes for the session and one for good are offered, and whether it says what it is not bound
    to.
    """
    action = Command(command=command, cwd="/ws", needs=needs, content="0" * 20)
    verdict = decide(action, SANDBOX)
    said = any("may run files that this yes is not bound to" in one for one in verdict.reasons)
    return verdict.session is not None, verdict.always is not None, said


@pytest.mark.parametrize("needs", NEEDS)
@pytest.mark.parametrize(
    ("command", "steered", "lasts"),
    [
        ("git commit -m x", False, True),
        ("git commit -m x", True, False),
        ("git pp", True, False),
        ("git add f && git push", True, False),
        ("git -C other commit -m x", False, False),
        ("cd other && git commit -m x", False, False),
        ("git --git-dir=x/.git commit -m x", False, False),
    ],
)
def test_git_is_allowed_once_where_its_repository_has_it_run_programs(
    command: str, needs: Needs, *, steered: bool, lasts: bool
) -> None:
    action = Command(command=command, cwd="/ws", needs=needs, content="0" * 20, steered=steered)
    assert (decide(action, SANDBOX).session is not None) == lasts


@pytest.mark.parametrize("needs", NEEDS)
@pytest.mark.parametrize("command", ["./run.sh", "bash run.sh", "timeout 5 ./run.sh", "cp a b"])
def test_what_its_words_name_may_be_allowed_for_longer(command: str, needs: Needs) -> None:
    assert offers(command, needs) == (True, True, False)


@pytest.mark.parametrize("needs", NEEDS)
@pytest.mark.parametrize(
    "command",
    [
        "pytest t.py",
        "uv run pytest t.py",
        "npm test",
        "npx jest",
        "jest",
        "bunx vitest run",
        "vitest",
        "bats t",
        "rspec",
        "python3 main.py",
        ".venv/bin/python main.py",
        "env A=1 python3 main.py",
        "python3 -m tool",
        "python -m tool",
        "python3 package",
        "python3 -c 'import tool'",
        "make run",
        "ls; make run",
        'bash "$X"',
        'cd "$X"; ./run.sh',
    ],
)
def test_what_may_run_other_files_is_allowed_once_and_the_question_says_so(
    command: str, needs: Needs
) -> None:
    assert offers(command, needs) == (False, False, True)


@pytest.mark.parametrize("needs", NEEDS)
@pytest.mark.parametrize("runner", ["python3", "/usr/bin/make", "uv"])
@pytest.mark.parametrize("command", ["./main", "./ma*", "sudo ./main", "PATH=/ws:$PATH; main"])
def test_a_file_that_no_shell_runs_is_allowed_once_as_where_its_program_is_named(
    command: str, runner: str, needs: Needs
) -> None:
    action = Command(
        command=command, cwd="/ws", needs=needs, content="0" * 20, runners=(("/ws/main", runner),)
    )
    for policy in (SANDBOX, replace(SANDBOX, sandbox="off")):
        verdict = decide(action, policy)
        assert (verdict.session, verdict.always) == (None, None)


def test_a_file_that_a_shell_runs_may_be_allowed_for_longer() -> None:
    action = Command(
        command="./run.sh", cwd="/ws", needs=NEEDS[0], content="0" * 20, runners=(("/ws/run.sh", "/bin/sh"),)
    )
    assert decide(action, SANDBOX).always is not None


def test_one_host_is_kept_by_the_sandbox_whatever_runs() -> None:
    assert offers("python3 main.py", Needs(hosts=("example.org",))) == (True, True, False)


def test_a_script_that_nothing_confined_can_write_runs_what_it_did() -> None:
    assert offers("python3 /usr/lib/tool/main.py", Needs(network=True)) == (True, True, False)


@pytest.mark.parametrize("needs", NEEDS)
def test_a_file_that_is_not_there_yet_is_not_bound(needs: Needs) -> None:
    verdict = decide(Command(command="./later.sh", cwd="/ws", needs=needs), SANDBOX)
    assert (verdict.session, verdict.always) == (None, None)


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ('bash "ru"n.sh', "/ws/run.sh"),
        ("bash r*.sh", "/ws/r*.sh"),
        ('bash "$PWD/run.sh"', "/ws/run.sh"),
        ("bash ~/x.sh", "/home/user/x.sh"),
        ("D=run; bash $D.sh", "/ws/run.sh"),
        ("cd s*; ./run.sh", "/ws/s*/run.sh"),
        ("bash run.{sh,}", "/ws/run.sh"),
        ("bash < ru''n.sh", "/ws/run.sh"),
        ("PATH=b'i'n:$PATH; run", "/ws/bin"),
    ],
)
def test_the_files_of_a_command_are_those_that_its_words_mean(command: str, path: str) -> None:
    assert path in named_paths(Command(command=command, cwd="/ws"), SANDBOX.folders)


def test_a_command_that_cannot_be_read_names_none() -> None:
    deep = "timeout 1 " * 50 + "./run.sh"
    assert named_paths(Command(command=deep, cwd="/ws"), SANDBOX.folders) == ()
