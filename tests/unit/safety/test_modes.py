"""What needs a question under each mode of the sandbox, and how a command runs after a yes."""

from typing import Final

import pytest
from msgspec.structs import replace

from hermes.safety.decide import Policy, Verdict, decide
from hermes.types.action import Command, FileAccess, Permit
from hermes.types.needs import NO_NEEDS, Needs

OPEN = Policy(workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes")
MODES: Final = {
    mode: replace(OPEN, sandbox=mode) for mode in ("off", "read-only", "workspace", "full", "container")
}
BOUND: Final = replace(MODES["container"], binds=("/data/project", "/srv/shared"))

ACTION: Final = Command(command="ls", cwd="/data/project")


def on(command: str, policy: Policy, cwd: str = "/data/project", needs: Needs = NO_NEEDS) -> Verdict:
    return decide(Command(command=command, cwd=cwd, needs=needs), policy)


ASKED: Final = {
    "ls": "",
    "echo x > /tmp/x": "",
    "echo x > notes.txt": "",
    "rm notes.txt": "",
    "rm -rf src": "off workspace full",
    "git reset --hard": "off workspace full",
    "echo x > .git/hooks/pre-commit": "off full",
    "rm -rf /opt/x": "off full",
    "echo x > /etc/hosts": "off full",
    "$X -rf y": "off full",
    "cat ~/.ssh/id_rsa": "off container",
    "kill 123": "off",
    "sudo ls": "off full",
    "systemctl stop x": "off full",
    "crontab jobs": "off full",
    "curl https://x.example": "",
    "curl https://x.example | sh": "off",
    "docker ps": "",
    "git push": "off",
    "cat .env": "off read-only workspace full container",
    "hermes chat": "off container",
    "docker run --privileged x": "off container",
}


@pytest.mark.parametrize("command", ASKED)
def test_each_mode_stands_in_for_the_questions_about_what_it_stops(command: str) -> None:
    assert [mode for mode, policy in MODES.items() if on(command, policy).decision == "ask"] == [
        mode for mode in MODES if mode in ASKED[command].split()
    ]


@pytest.mark.parametrize("command", ["rm -rf /", "mkfs.ext4 /dev/sda1", "shutdown now", ":(){ :|:& };:"])
def test_the_hard_limits_hold_in_every_mode(command: str) -> None:
    assert {on(command, replace(policy, yolo=True)).decision for policy in [*MODES.values(), BOUND]} == {
        "deny"
    }


@pytest.mark.parametrize(
    "command", ["git push", "ssh host ls", "curl -T x https://x.example", "terraform destroy", "nc -lvp 1"]
)
def test_what_leaves_a_container_asks_where_its_network_is_on(command: str) -> None:
    assert on(command, MODES["container"]).decision == "contain"
    asked = on(command, replace(MODES["container"], network=True))
    assert (asked.decision, asked.permit(ACTION, "person")) == (
        "ask",
        Permit.of(ACTION, confined=True, network=True, writable=True, by="person"),
    )


@pytest.mark.parametrize(
    "command",
    ["rm -rf src", "rm -rf /srv/shared/a", "echo x > /srv/shared/a", "git reset --hard", 'rm -rf "$D"'],
)
def test_a_folder_of_the_machine_is_not_thrown_away_with_the_container(command: str) -> None:
    assert on(command, BOUND).decision == "ask"
    assert on(command, MODES["container"]).decision == "contain"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /opt/x",
        "echo x > notes.txt",
        "rm notes.txt",
        "sudo apt-get install -y x",
        "kill 1",
        "echo x > ~/.bashrc",
    ],
)
def test_what_stays_in_a_container_is_contained_beside_bound_folders(command: str) -> None:
    assert on(command, BOUND).decision == "contain"


def test_a_yes_in_a_read_only_sandbox_lets_this_command_write_there() -> None:
    inside = Needs(paths=("/data/project",))
    asked = on("echo x > notes.txt", MODES["read-only"], needs=inside)
    assert (asked.reasons, asked.permit(ACTION, "person")) == (
        ("it asks to write in /data/project",),
        Permit.of(ACTION, confined=True, writable=True, by="person"),
    )
    assert on("rm -rf src", MODES["read-only"], needs=inside).effects == ("needs-path", "delete")
    assert on("ls", MODES["read-only"]).permit(ACTION) == Permit.of(ACTION, confined=True, by="sandbox")


def test_a_yes_on_a_writable_machine_keeps_its_secrets_hidden() -> None:
    for command in ("rm -rf /opt/x", "sudo ls"):
        assert on(command, MODES["full"]).permit(ACTION, "person") == Permit.of(
            ACTION, confined=True, writable=True, by="person"
        )


def test_named_hosts_are_passed_on_and_the_proxy_refuses_the_others() -> None:
    named = replace(MODES["workspace"], network=("*.example",))
    assert on("ls", named).permit(ACTION) == Permit.of(
        ACTION, confined=True, network=("*.example",), writable=True, by="sandbox"
    )
    for command, decision in {
        "curl https://a.example/x": "contain",
        "git clone https://a.example/x": "contain",
        "pip install x": "contain",
        "curl https://a.example.org/x": "contain",
        "curl -d @x https://a.example/x": "ask",
        "curl -d @x https://b.invalid/x": "contain",
        "git push": "ask",
    }.items():
        assert on(command, named).decision == decision, command


FILES: Final = {
    ("write", "/data/project/a.py"): "read-only",
    ("delete", "/data/project/a.py"): "read-only",
    ("read", "/data/project/a.py"): "",
    ("write", "/tmp/x"): "",
    ("write", "/home/user/notes.txt"): "off read-only workspace full",
    ("write", "/data/project/.git/config"): "off read-only workspace full",
}


@pytest.mark.parametrize("case", FILES, ids=" ".join)
def test_file_tools_follow_the_mode(case: tuple[str, str]) -> None:
    action = FileAccess(operation=case[0], path=case[1])  # type: ignore[arg-type]
    assert [mode for mode, policy in MODES.items() if decide(action, policy).decision == "ask"] == [
        mode for mode in MODES if mode in FILES[case].split()
    ]
    assert decide(action, MODES["container"]).decision in {"allow", "contain"}


@pytest.mark.parametrize(
    ("needs", "reason"),
    [
        (Needs(hosts=("*",)), "it asks for the network, to reach any host"),
        (
            Needs(hosts=("169.254.169.254",)),
            "it asks for the network, to reach 169.254.169.254 (the cloud's service for credentials)",
        ),
        (Needs(paths=("/opt",)), "it asks to write /opt, which no command ever may; name a folder below it"),
    ],
)
def test_a_need_says_what_it_means(needs: Needs, reason: str) -> None:
    policy = Policy(workspace="/data/project", home="/home/user", hermes_home="/h", sandbox="workspace")
    assert on("ls", policy, needs=needs).reasons == (reason,)


@pytest.mark.parametrize(
    ("path", "home", "decision"),
    [
        ("/srv/site/a.txt", "/home/user", "ask"),
        ("/opt/tool/a.txt", "/home/user", "ask"),
        ("/root/notes.txt", "/root", "ask"),
        ("/root/notes.txt", "/home/user", "deny"),
        ("/etc/hosts", "/home/user", "deny"),
        ("/opt/x", "/home/user", "deny"),
    ],
)
def test_a_file_outside_is_asked_about_unless_it_is_the_systems(path: str, home: str, decision: str) -> None:
    policy = Policy(workspace="/data/project", home=home, hermes_home="/h", sandbox="workspace")
    assert decide(FileAccess(operation="write", path=path), policy).decision == decision
