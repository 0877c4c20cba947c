"""A hard limit is found by what happens, however it is written; and asking for help silences no other program."""

from pathlib import Path
from typing import Final

import pytest

from hermes.safety.decide import Policy, decide
from hermes.types.action import Command

FREE: Final = Policy(
    workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes", yolo=True
)
OPEN: Final = Policy(workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes")


NEVER, MAY_BE = (
    (Path(__file__).parent / "hard_limits.txt")
    .read_text(encoding="utf-8")
    .removeprefix("# never\n")
    .strip()
    .split("\n# may be\n")
)
"""Spellings of what ends a machine: disks, homes, all processes, power; and commands that come near."""


def decision(command: str, policy: Policy) -> str:
    return decide(Command(command=command, cwd="/data/project"), policy).decision


@pytest.mark.parametrize(
    "command",
    [
        "find / -mindepth 1 -exec rm -rf {} +",
        "find / -mindepth 1 -maxdepth 1 -print0 | xargs -0 rm -rf /*",
        'rm -rf "${HOME:?}"/*',
        'rm -rf "${HOME:?not set}"',
        "rm -rf `echo /`",
        "rm -rf $(printf %s /)",
        "$(echo rm) -rf /",
        "$(echo rm -rf) /",
        "$(printf '\\x72\\x6d') -rf /",
        "printf '%s\\0' / | xargs -0 rm -rf",
        "echo / | tee /dev/stderr | xargs rm -rf",
        "ls / | xargs -I{} rm -rf /{}",
        "tar cf /tmp/x.tar / --remove-files",
        "tar --remove-files -czf x.tgz /home",
        "python3 -c 'import shutil,os; shutil.rmtree(os.path.expanduser(\"~\"))'",
        "python3 -c 'from pathlib import Path; import shutil; shutil.rmtree(Path.home())'",
        "node -e 'fs.rmSync(process.env.HOME, {recursive: true})'",
        "echo cm0gLXJmIC8K | base64 -d | sh",
        "echo 'cm0gLXJmIC8K' | openssl base64 -d | bash",
        "xxd -r -p <<< 726d202d7266202f | sh",
        "echo '/ fr- mr' | rev | sh",
        "bash -c \"$(printf 'rm -rf /')\"",
        'eval "$(echo cm0gLXJmIC8= | base64 --decode)"',
        "printf 'a:\\n\\trm -rf /\\n' | make -f -",
        "let 'a[$(rm -rf /)0]=1'",
        "test -v 'a[$(rm -rf ~)]'",
        "printf -v 'a[`rm -rf /`]' x",
        "read 'a[$(rm -rf /)]' <<< x",
        "declare -i x='a[$(rm -rf /)]'",
        "compgen -W '$(rm -rf /)'",
        "kill -s KILL -- -1",
        "kill --signal KILL -1",
        "gdb -batch -ex 'shell rm -rf /'",
        "gdb -batch -ex '!rm -rf ~'",
        "docker run -v /:/host alpine rm -rf /host",
        "docker run --rm -v /home/user:/h alpine sh -c 'rm -rf /h'",
        "kill -9 -1 --help",
        "rm -rf / --help",
    ],
)
def test_erasing_and_stopping_everything_is_never_let_through(command: str) -> None:
    assert decision(command, FREE) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "ls / | head",
        "find / -mindepth 1 -maxdepth 1",
        'rm -rf "${TMPDIR:?}/x"',
        "echo aGVsbG8K | base64 -d",
        "kill -1 4242 || true",
        "tar czf x.tgz src",
        "docker run -v /:/host:ro alpine ls /host",
        "gdb -batch -ex 'break main' ./a.out",
        "printf 'a:\\n\\techo hi\\n' | make -f -",
    ],
)
def test_what_only_looks_like_it_is_no_hard_limit(command: str) -> None:
    assert decision(command, FREE) != "deny"


@pytest.mark.parametrize("command", NEVER.split("\n"))
def test_what_ends_a_machine_is_known_by_its_effect(command: str) -> None:
    assert decision(command, FREE) == "deny"


@pytest.mark.parametrize("command", MAY_BE.split("\n"))
def test_what_comes_near_is_a_question_at_most(command: str) -> None:
    assert decision(command, FREE) != "deny"


@pytest.mark.parametrize(
    "command",
    [
        "ssh prod './deploy.sh;' --help",
        "sudo sh x.sh --help",
        "git push origin main --force --help; git push",
    ],
)
def test_a_word_at_the_end_silences_nothing_else(command: str) -> None:
    assert decision(command, OPEN) == "ask"


@pytest.mark.parametrize("command", ["git push --help", "docker run --help", "kubectl delete pod --help"])
def test_a_program_that_explains_itself_needs_no_question(command: str) -> None:
    assert decision(command, OPEN) == "allow"
