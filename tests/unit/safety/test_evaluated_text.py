"""Text that a shell takes for a name, a number or a prompt is run by it where it substitutes: it is read as a command."""

from typing import Final

import pytest

from hermes.safety.decide import Policy, decide
from hermes.types.action import Command

FREE: Final = Policy(
    workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes", yolo=True
)
TEXT: Final = "x='a[$(rm -rf ~)]'; "
EVALUATED: Final = [
    *(
        TEXT + behind
        for behind in [
            "echo $((x))",
            "echo $[x]",
            "y=x; echo $((y + 1))",
            "(( x )) && echo y",
            "[[ x -eq 1 ]]",
            "[[ $x -eq 1 ]]",
            '[ -v "$x" ]',
            "echo ${y[x]}",
            "y[x]=1",
            'echo "${y:0:x}"',
            "echo ${!x}",
            "let y=x",
            "for ((i=x;i<1;i++)); do :; done",
            "export x; bash -c 'echo $((x))'",
        ]
    ),
    "x='a[$(rm -rf ~)]' bash -c 'echo $((x))'",
    "[ -v 'a[$(rm -rf ~)]' ]",
    "[[ 'a[$(rm -rf ~)]' -eq 1 ]]",
    "declare -i x='a[$(rm -rf ~)]'",
    "declare -i x; x='a[$(rm -rf ~)]'",
    "declare 'a[$(rm -rf ~)]=1'",
    "export -i x='a[$(rm -rf ~)]'",
    "unset 'a[$(rm -rf ~)]'",
    "readarray -t 'a[$(rm -rf ~)]' < f",
    "getopts a 'a[$(rm -rf ~)]'",
    "wait -n -p 'a[$(rm -rf ~)]'",
    "x='$(rm -rf ~)'; echo \"${x@P}\"",
    "x='`rm -rf ~`'; echo ${x@P}",
    "set -- '$(rm -rf ~)'; echo ${1@P}",
    "x=('$(rm -rf ~)'); echo \"${x[@]@P}\"",
    'echo "${x:-`rm -rf ~`}"',
    "compgen -W '$(rm -rf ~)'",
    "complete -C 'rm -rf ~' x",
    "mapfile -C 'rm -rf ~ #' -c1 < f",
    "trap -- 'rm -rf ~' RETURN",
    "PS4='$(rm -rf ~)'; set -x; true",
    "PS1='$(rm -rf ~)' bash -i <<< true",
    "PROMPT_COMMAND='rm -rf ~' bash -i <<< true",
    "BASH_ENV='$(rm -rf ~)' bash -c true",
    "EDITOR='rm -rf ~' git commit",
]


def decision(command: str) -> str:
    return decide(Command(command=command, cwd="/data/project"), FREE).decision


@pytest.mark.parametrize("command", EVALUATED)
def test_what_a_shell_evaluates_is_a_command(command: str) -> None:
    assert decision(command) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "x='$(rm -rf ~)'; echo \"$x\" >> notes.txt",
        "echo 'a[$(rm -rf ~)]'; i=$((1 + 1))",
        "printf '%s' 'a[$(rm -rf ~)]'",
        "x='$(date)'; [ -n \"$x\" ] && echo ${#x}",
        "n=$(git rev-list --count HEAD); if (( n > 10 )); then echo many; fi",
        "x='$((x))'; echo $((x))",
    ],
)
def test_what_it_only_passes_on_is_text(command: str) -> None:
    assert decision(command) == "allow"
