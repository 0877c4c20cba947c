"""However a dangerous command is written, the verdict is at least as strict as for its plain form."""

import re
import shlex
from collections.abc import Callable, Iterator
from typing import Final
from zlib import crc32

import pytest
from msgspec.structs import replace

from hermes.safety.commands.rule_catalog import CatalogEntry, entries
from hermes.safety.commands.rules import table
from hermes.safety.decide import Policy, decide
from hermes.types.action import Command

OPEN = Policy(workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes")
SANDBOX = replace(OPEN, sandbox="workspace")
READ_ONLY = replace(OPEN, sandbox="read-only")
STRICTNESS: Final = {"allow": 0, "contain": 0, "ask": 1, "deny": 2}

STRIDES: Final = [7, pytest.param(1, marks=pytest.mark.slow)]
"""A share of the forms in every run, all of them in a long one."""

WORD = re.compile(
    r"""(?:[^\s'"\\;&|()<>]|\\.|'[^']*'|"(?:\\.|[^"\\])*"|\$\([^)]*\))+|&&|\|\||[;&|()<>]+|\s+"""
)
RESERVED = re.compile(
    r"if|then|else|elif|fi|for|while|until|do|done|case|esac|in|function|select|time|coproc|[{}!]|\[\[|\]\]"
)
BUILTINS = re.compile(
    r"[.:]|alias|bg|bind|break|builtin|cd|command|compgen|complete|continue|declare|dirs|disown|enable|eval|exec|exit|export|fc|fg|getopts|hash"
    r"|help|history|jobs|kill|let|local|logout|popd|printf|pushd|pwd|read|readonly|return|set|shift|shopt|source|suspend|test|times|trap|type"
    r"|typeset|ulimit|umask|unalias|unset|wait"
)
FORMS: Final[tuple[Callable[[str], str], ...]] = (
    '"{}"'.format,
    "'{}'".format,
    r"\{}".format,
    lambda word: f'{word[:1]}""{word[1:]}',
)


def around(command: str) -> Iterator[str]:
    """Forms that keep the meaning of every command line that ends where it seems to end."""
    yield f"  \t {command} \t "
    yield f"true; {command}"
    yield f"true && {command}"
    yield f"true\n{command}"
    yield f"({command}\n)"
    yield f"{{ {command}\n}}"
    yield f"if true; then {command}\nfi"
    yield f"work() {{ {command}\n}}; work"
    yield f"LEVEL=1; {command}"
    yield f"{command} # done"
    yield f"sh -c {shlex.quote(command)}"
    yield f"sudo sh -c {shlex.quote(command)}"


def parts(command: str) -> list[str]:
    """Words, operators and the space between them; joined they are the command again, or there are none."""
    found = WORD.findall(command)
    return found if "".join(found) == command else []


def respaced(command: str) -> Iterator[str]:
    """Other space between the words, other joints between the commands."""
    found = parts(command)
    if not found or any(part.startswith("<<") for part in found) or "\n" in command:
        return
    yield "".join(re.sub(r"^\s+$", "   ", part) for part in found)
    yield "".join(re.sub(r"^\s+$", " \t", part) for part in found)
    if "&&" in found:
        yield "".join(";" if part == "&&" else part for part in found)
        yield "".join("\n" if part == "&&" else part for part in found)


def quoted(command: str) -> Iterator[str]:
    """Each word in quotes that the shell would not read in another way without them."""
    found = (
        parts(command) if "<<" not in command else []
    )  # a quote in a here-document, or at its mark, says something else
    for position, word in enumerate(found):
        if not re.fullmatch(r"[\w./:@+,%=-]+", word) or RESERVED.fullmatch(word):
            continue
        if "=" in word and starts_command(found[:position]):
            continue  # an assignment in quotes is a program's name
        if "".join(found[position + 1 :]).startswith("()"):
            continue  # the name of a function
        form = FORMS[position // 2 % len(FORMS)](word)
        yield "".join([*found[:position], form, *found[position + 1 :]])


def starts_command(before: list[str]) -> bool:
    """Whether what comes after these parts may be an assignment."""
    words = [part for part in before if not part.isspace()]
    while words and re.match(r"\w+=", words[-1]):
        words.pop()
    return (
        not words
        or RESERVED.fullmatch(words[-1]) is not None
        or not WORD.fullmatch(words[-1])
        or words[-1][0] in ";&|("
    )


def behind(command: str) -> Iterator[str]:
    """Another way to the same program, where the line starts with a program that is a file."""
    first, space, rest = command.partition(" ")
    if not re.fullmatch(r"[\w+-][\w.+-]*", first) or RESERVED.fullmatch(first) or BUILTINS.fullmatch(first):
        return
    yield f"LEVEL=1 {command}"
    yield f"\\{command}"
    yield f"/usr/bin/{command}"
    yield f"shopt -s expand_aliases; alias work={first}\nwork{space}{rest}"
    yield f"alias work='{first}'; work{space}{rest}"
    yield f"{first} >out.txt{space}{rest}"
    yield f"{first} 2>&1{space}{rest}"
    for wrapper in WRAPPERS:
        yield f"{wrapper} {command}"


WRAPPERS: Final = ("env", "env A=1", "nice", "nice -n 5", "timeout 5", "timeout -s KILL 5", "sudo", "sudo -u root", "command", "nohup", "xargs -a /dev/null", "echo | xargs")  # fmt: skip
MUTATIONS: Final[tuple[Callable[[str], Iterator[str]], ...]] = (around, respaced, quoted, behind)


def in_other_words(command: str, stride: int) -> list[str]:
    """Each so many-th of the other forms of a command; which one comes first depends on the command, so that all kinds are among them."""
    others = [other for mutation in MUTATIONS for other in mutation(command)]
    return others[crc32(command.encode()) % stride :: stride]


COUNTING: Final = [one for one in entries() if "off" not in table().effects[one.effect].free]
"""What asks somewhere; the others only say what a command does."""


def strictness(command: str, policy: Policy) -> int:
    """How strict the verdict on a command is."""
    return STRICTNESS[decide(Command(command=command, cwd=policy.workspace), policy).decision]


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("entry", COUNTING, ids=lambda entry: f"{entry.id}-{entry.effect}")
def test_no_other_way_of_writing_makes_a_verdict_milder(entry: CatalogEntry, stride: int) -> None:
    milder = []
    for command in entry.match:
        plain = {policy: strictness(command, policy) for policy in (OPEN, SANDBOX, READ_ONLY)}
        assert max(plain.values()) > 0, command
        others = in_other_words(command, stride)
        for policy in (one for one, strict in plain.items() if strict):
            milder += [other for other in others if strictness(other, policy) < plain[policy]]
    assert milder == []


def test_most_examples_can_be_written_in_many_ways() -> None:
    commands = [command for entry in entries() for command in entry.match]
    counts = [sum(len(list(mutation(command))) for mutation in MUTATIONS) for command in commands]
    assert min(counts) >= 12
    assert sorted(counts)[len(counts) // 2] > 25


@pytest.mark.parametrize(
    "command",
    [
        "env sh -c 'rm -rf /' -S x",
        "env -S rm -rf /",
        "env -iS '-u A B=1 rm -rf /'",
        "env --split-string='rm -rf' /",
        "time A=1 rm -rf /",
        "time 2>x rm -rf /",
        "coproc A=1 rm -rf /",
        '$"rm" -rf /',
        "true\n\\rm -rf /",
        "rm >x -rf /",
        "rm -rf 2>&1 /",
        "rm <<END -rf /\nEND",
        "nice <x rm -rf /",
        "((rm -rf /); ls)",
        "((((rm -rf /); ls)); ls)",
    ],
)
def test_a_hard_limit_is_not_got_around_by_odd_ways_of_writing(command: str) -> None:
    assert strictness(command, SANDBOX) == STRICTNESS["deny"]


def test_arithmetic_is_no_subshell() -> None:
    assert (
        decide(
            Command(command="((count++)); (( 1 < 3 )) && echo $((1 + 2))", cwd=OPEN.workspace), OPEN
        ).reasons
        == ()
    )
