"""Commands that need a decision get one however they are written, and all others run without a question."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.safety.commands.findings import inspect
from hermes.safety.commands.rules import Rule, table
from hermes.safety.decide import Policy, Verdict, decide
from hermes.types.action import Command
from hermes.types.error import BeyondReading

POLICY = Policy(workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes")


def verdict(command: str) -> Verdict:
    return decide(Command(command=command, cwd="/data/project"), POLICY)


def block(name: str) -> list[str]:
    text = (Path(__file__).parent / "commands.txt").read_text(encoding="utf-8")
    lines = iter(text.split(f"%% {name}\n")[1].split("\n%%")[0].strip("\n").split("\n"))
    found = []
    for line in lines:
        command, mark = line, re.search(r"(?<!<)<<'?(\w+)'?", line)
        if mark:
            while (more := next(lines)) != mark[1]:
                command += f"\n{more}"
            command += f"\n{mark[1]}"
        elif line.endswith("\\"):
            command += f"\n{next(lines)}"
        found.append(command)
    return found


@pytest.mark.parametrize("command", block("ask"))
def test_what_can_do_harm_needs_a_yes(command: str) -> None:
    assert verdict(command).decision in {"ask", "deny"}


@pytest.mark.parametrize("command", block("deny"))
def test_what_destroys_the_machine_is_never_allowed(command: str) -> None:
    free = Policy(
        workspace="/data/project",
        home="/home/user",
        hermes_home="/home/user/.hermes",
        yolo=True,
        mode="off",
        sandbox="workspace",
        network=True,
    )
    assert verdict(command).decision == "deny"
    assert decide(Command(command=command, cwd="/data/project"), free).decision == "deny"


@pytest.mark.parametrize("command", block("allow"))
def test_everyday_work_runs_without_a_question(command: str) -> None:
    found = verdict(command)
    assert (found.decision, found.reasons) == ("allow", ())


@pytest.mark.parametrize("rule", table().rules, ids=lambda rule: rule.id)
def test_a_rule_finds_its_examples(rule: Rule) -> None:
    assert rule.match
    for command in rule.match:
        assert rule.id in {
            found.rule for found in inspect(command, cwd=POLICY.workspace, folders=POLICY.folders)
        }, command


@pytest.mark.parametrize("rule", table().rules, ids=lambda rule: rule.id)
def test_no_rule_finds_what_another_lets_pass(rule: Rule) -> None:
    for command in rule.passes:
        assert verdict(command).reasons == (), command


def test_every_rule_has_a_known_effect_and_a_name_of_its_own() -> None:
    assert {rule.effect for rule in table().rules} <= set(table().effects)
    assert len({rule.id for rule in table().rules}) == len(table().rules)


def wrapped(command: str) -> Iterator[str]:
    """The command in other words that mean the same."""
    yield f"   {command}   "
    yield f"true; {command}"
    yield f"true && {command}"
    yield f"( {command}\n)"
    yield f"{{ {command}\n}}"
    yield f"if true; then {command}\nfi"
    yield f"while true; do {command}\nbreak; done"
    yield f"for i in 1 2; do {command}\ndone"
    yield f"case x in x) {command}\n;; esac"
    yield f"f() {{ {command}\n}}; f"
    yield f"X=1; {command}"
    yield f"echo $({command}\n)"
    yield f"bash -c {shlex.quote(command)}"
    yield f"sh -xc {shlex.quote(command)}"
    yield f"eval {shlex.quote(command)}"
    yield f"env -S {shlex.quote(command)}" if re.fullmatch(r"[\w ./-]+", command) else command
    yield f"bash <<'END'\n{command}\nEND"
    yield f"trap {shlex.quote(command)} EXIT"
    if re.match(r"[a-z]+ [-\w./ ]+$", command) and not command.startswith(
        ("cd ", "set ", "source ", "exec ", "history ", "kill ")
    ):
        first, rest = command.split(" ", 1)
        for prefix in (
            "env",
            "nice -n 5",
            "timeout -k 3 5",
            "command",
            "nohup",
            "env A=1 B=2",
            "time",
            "stdbuf -oL",
            "/usr/bin/env",
            "exec -a x",
        ):
            yield f"{prefix} {command}"
        yield f"/usr/bin/{command}"
        yield f'"{first}" {rest}'
        yield f"{first[0]}''{first[1:]} {rest}"
        yield f"\\{command}"
        yield f"{first}\t{rest}"
        yield f"shopt -s expand_aliases; alias zap='{first}'\nzap {rest}"
        yield f"{first[0]}\\\n{first[1:]} {rest}"
        yield f"p={first}; $p {rest}"


@pytest.mark.parametrize(
    "command",
    [one for one in block("ask") + block("deny") if "\n" not in one and not one.startswith(("#", ":", "if"))],
)
def test_harm_is_seen_in_any_wrapping(command: str) -> None:
    assert [other for other in wrapped(command) if verdict(other).decision not in {"ask", "deny"}] == []


@pytest.mark.parametrize(
    "command",
    [
        one
        for one in block("allow")
        if "\n" not in one and not re.match(r"(?:set|exec|kill|T=|VAR=|export)\b|.*&$", one)
    ],
)
def test_everyday_work_is_seen_in_any_wrapping(command: str) -> None:
    found = {
        other: verdict(other).reasons
        for other in wrapped(command)
        if not other.startswith("p=") and "bash -c '" not in command
    }
    assert {other: reasons for other, reasons in found.items() if reasons} == {}


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200))
def test_any_text_gets_a_verdict(command: str) -> None:
    assert verdict(command).decision in {"allow", "ask", "deny"}


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "rm",
                "-rf",
                "$x",
                "/opt",
                "|",
                ";",
                "&&",
                "(",
                ")",
                "'",
                '"',
                "<<E",
                "\n",
                "{",
                "}",
                "`",
                "$(",
                "\\",
                "sh",
                "-c",
            ]
        ),
        max_size=15,
    )
)
def test_broken_commands_get_a_verdict(words: list[str]) -> None:
    assert verdict(" ".join(words)).decision in {"allow", "ask", "deny"}


@settings(max_examples=300, deadline=None)
@given(
    st.text(
        alphabet=st.sampled_from(
            [*"{}[]$@!*?~=<>|&;:a1 \"'", "🎉", "\U000a9a0e", "é", "\U0010ffff", "\ud800"]
        ),
        max_size=20,
    )
)
def test_no_character_crashes_the_parser(command: str) -> None:
    assert verdict(f"echo {{{command}").decision in {"allow", "ask", "deny"}


def test_characters_outside_ascii_keep_their_meaning() -> None:
    assert verdict("rm -rf ~/Bücher/🎉").reasons == (
        "it deletes /home/user/Bücher/🎉, outside the workspace",
    )
    assert verdict("echo {🎉,é} > café.txt").decision == "allow"
    assert verdict("cat <<< 'é' > /etc/é").decision == "ask"
    assert verdict("r\uff4d -rf x").decision == "allow"  # a full-width letter is another letter
    assert verdict("rm -rf /opt/Zq7uffffffq").reasons == (
        "it deletes /opt/Zq7uffffffq, outside the workspace",
    )
    assert verdict("r\\Zq7u6dq -rf /opt/x").decision == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "(" * 500 + "ls" + ")" * 500,
        "; ".join(["ls"] * 5_000),
        "cat {" + ",".join(f"q{number}" for number in range(2_001)) + ",~/.ssh/id_rsa}",
        "echo " + "{a,b}" * 25,
        "x=aaaaaaaaaa;" + "x=$x$x;" * 30 + "rm $x",
        "env " * 8 + "rm -rf /",
        "true;" * 2_001 + "rm -rf /",
        "setarch " + "-R " * 5_000 + "rm -rf src",
    ],
)
def test_what_is_too_large_to_be_read_never_runs_however_much_is_allowed(command: str) -> None:
    for policy in (POLICY, replace(POLICY, mode="off"), replace(POLICY, yolo=True, sandbox="workspace")):
        with pytest.raises(
            BeyondReading, match=r"^This is too large to be read before it runs \(.*\), so it never"
        ):
            decide(Command(command=command, cwd=POLICY.workspace), policy)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf {" + ",".join(f"q{number}" for number in range(300)) + ",/}",
        "for i in " + " ".join(f"q{number}" for number in range(10)) + " /; do rm -rf $i; done",
        "setarch " + "-R " * 600 + "rm -rf /",
        "wrapit " + "ls -a " * 5 + "rm -rf /",
    ],
)
def test_what_is_long_is_read_to_its_end(command: str) -> None:
    found = decide(Command(command=command, cwd=POLICY.workspace), replace(POLICY, mode="off"))
    assert found.decision == "deny"


def test_a_long_word_is_asked_about() -> None:
    assert verdict("echo " + "a" * 150_000).decision == "ask"


def test_text_that_is_only_shown_is_not_run() -> None:
    for shown in ("rm -rf /", "shutdown -h now", "curl x | sh", ":(){ :|:& };:", "sudo rm"):
        for command in (
            f"echo {shlex.quote(shown)}",
            f"grep -rn {shlex.quote(shown)} .",
            f"git commit -m {shlex.quote(shown)}",
            f"# {shown}\nls",
        ):
            assert verdict(command).decision == "allow", command
