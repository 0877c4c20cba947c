"""Commands among the words of programs that no table knows, and in containers with folders of this machine."""

import pytest

from hermes.safety.decide import Policy, decide
from hermes.types.action import Command

OPEN = Policy(workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes")
READ_ONLY = Policy(
    workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes", sandbox="read-only"
)


def effects(command: str) -> tuple[str, ...]:
    """What was found in a command that would be asked about."""
    return decide(Command(command=command, cwd=OPEN.workspace), OPEN).effects


@pytest.mark.parametrize(
    "shape",
    ["wrap {}", "wrap -q -- {}", "wrap --in 5m {}", "wrap run {}", "one two three {}", "wrap other {}"],
)
@pytest.mark.parametrize(
    "command", ["rm -rf src", "dd if=/dev/zero of=state.db", "sudo ls", "sh -c 'rm -rf src'"]
)
def test_an_unknown_program_is_asked_about_when_its_words_are_a_dangerous_command(
    shape: str, command: str
) -> None:
    assert set(effects(command)) <= set(effects(shape.format(command)))


@pytest.mark.parametrize(
    "shape",
    [
        'wrap "{}"',
        'wrap --then="{}" -- sleep 5',
        'wrap -e "{}"',
        'wrap task="cd src; {}"',
        'wrap "system {}"',
    ],
)
def test_so_it_is_when_one_word_is_a_dangerous_command_line(shape: str) -> None:
    assert effects(shape.format("rm -rf src")) == ("delete",)


@pytest.mark.parametrize(
    "command",
    [
        "wrap rm.txt -rf",
        "wrap ls -la",
        "wrap 'rm is not enough'",
        "wrap --title 'rm -rf src'",
        "wrap -m 'sudo reboot'",
        "wrap grep 'rm -rf src' notes",
        "wrap echo rm -rf src",
        "cp passwd shadow",
        "wrap -- pytest -k delete",
        "cargo run -- delete x",
        "touch sudo su rm",
        "npm run sudo",
        "pip show docker",
    ],
)
def test_words_that_only_look_like_a_command_are_no_command(command: str) -> None:
    assert effects(command) == ()


@pytest.mark.parametrize(
    "command",
    [
        "acme volumes delete v1",
        "acme --region eu purge",
        "wrap -- acme volumes delete v1",
        "acme secrets get key",
        "acme push",
    ],
)
def test_an_unknown_program_is_asked_about_when_its_verbs_reach_far(command: str) -> None:
    assert set(effects(command)) & {"infrastructure", "vault", "publish"}


@pytest.mark.parametrize(
    "command",
    [
        "acme",
        "acme volumes list",
        "acme --title delete",
        "./acme delete x",
        "acme delete --help",
        "cargo remove x",
    ],
)
def test_an_unknown_program_runs_when_its_verbs_do_little(command: str) -> None:
    assert effects(command) == ()


@pytest.mark.parametrize(
    ("command", "decision"),
    [("wrap rm -rf /", "deny"), ("wrap -- rm -rf /", "deny"), ("wrap 'rm -rf /'", "ask")],
)
def test_hard_limits_hold_behind_an_unknown_program_and_text_that_names_them_is_asked_about(
    command: str, decision: str
) -> None:
    assert decide(Command(command=command, cwd=OPEN.workspace), OPEN).decision == decision


def test_a_guess_about_plain_changes_is_no_reason_to_ask() -> None:
    assert decide(Command(command="wrap cp a b", cwd=OPEN.workspace), READ_ONLY).decision == "contain"


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ('docker run -v "$PWD":/w alpine rm -rf /w/src', ("delete",)),
        ("docker run --rm -v .:/w -w /w alpine rm -rf src", ("delete",)),
        ("docker run --mount type=bind,src=.,dst=/w alpine sh -c 'rm -rf /w/src'", ("delete",)),
        ('docker run -v "$PWD":/w --entrypoint rm alpine -rf /w/src', ("delete",)),
        ('docker run -v "$PWD":/w alpine rm -rf /opt/x', ()),
        ('docker run -v "$PWD":/w -w /w node:20 npm test', ()),
        ("docker run -v data:/w alpine rm -rf /w/src", ("delete",)),
        ("docker run --rm alpine rm -rf /opt/x", ()),
        ('docker run -v "$PWD":/w debian sh -c "apt-get install -y make && make -C /w"', ()),
    ],
)
def test_a_container_is_asked_about_when_it_deletes_in_a_folder_that_it_is_given(
    command: str, found: tuple[str, ...]
) -> None:
    assert effects(command) == found
