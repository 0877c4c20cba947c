"""Settings, keys and policy of the agent are the user's alone: where a path or a program may be ours, it counts as ours."""

from typing import Final

import pytest
from msgspec.structs import replace

from hermes.safety.decide import Policy, decide
from hermes.types.action import Command

FREE: Final = Policy(
    workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes", yolo=True
)
CHANGES: Final = [
    "cp x ~/.herme?/config.yaml",
    "for f in ~/.h*/config.yaml; do echo x > $f; done",
    "sed -i s/manual/off/ ~/.*/config.yaml",
    "cd ~/.he*; echo x > config.yaml",
    "cd ~; echo x > .h*/config.yaml",
    "echo x > /home/us??/.hermes/config.yaml",
    'cp x ~/"$D"/config.yaml',
    'cp x "$D"/.hermes/config.yaml',
    "echo x > /proc/self/root/home/user/.hermes/config.yaml",
    "cp x /proc/$$/root//home/user/.hermes/config.yaml",
    "cp x /proc/1/task/1/root/home/user/.hermes/config.yaml",
    "echo x > /proc/self/cwd/../../home/user/.hermes/config.yaml",
    "rm -rf ~/.h*",
    "cp -r x/.hermes ~/",
    "find ~ -name config.yaml -exec sed -i s/manual/off/ {} +",
    "find ~ -maxdepth 2 -name '*.yaml' -exec sed -i s/a/b/ {} +",
    "find / -type d -name .hermes -exec rm -r {} +",
    "ls -d ~/.h*/config.yaml | xargs sed -i s/a/b/",
    'python3 -c \'from pathlib import Path;(Path.home()/".hermes"/"config.yaml").write_text("x")\'',
    'python3 -c \'import os;open(os.path.expanduser("~/.hermes/config.yaml"),"a").write("x")\'',
    'perl -e \'open F,">>$ENV{HOME}/.hermes/config.yaml"; print F "x"\'',
    'node -e \'require("fs").writeFileSync(process.env.HOME+"/.hermes/config.yaml","x")\'',
    'awk \'BEGIN{print "x" > ENVIRON["HOME"] "/.hermes/config.yaml"}\'',
    "env -u HERMES_CALL hermes config set approvals.mode off",
    "script -qc 'env -u HERMES_CALL hermes config set a b' /dev/null",
    "screen -dm hermes config set a b",
    "tmux new-session -d 'env -u HERMES_CALL hermes config set a b'",
    "setsid sh -c 'unset HERMES_CALL; exec hermes config set a b'",
    "bash -x ./scripts/hermes config set a b",
    ". scripts/hermes config set a b",
    "python3 .venv/bin/hermes config set a b",
    'python3 -c \'import hermes.apps.cli.main as m; m.main(["config","set","a","b"])\'',
    'python3 -c \'import runpy,sys; sys.argv=["h","config","set","a","b"]; runpy.run_module("hermes")\'',
]
OTHERS: Final = [
    "cp x ~/notes*/a",
    "sed -i s/a/b/ */config.yaml",
    'cd "$repo" && sed -i s/a/b/ config.yaml',
    'cp x ~/"$D".txt',
    "find ~ -name config.yaml",
    "find . -name '*.yaml' -exec sed -i s/a/b/ {} +",
    "rm -rf ~/.cache/pip*",
    'python3 -c \'from pathlib import Path; print((Path.home()/".hermes"/"x.log").read_text())\'',
    'python3 -c \'from pathlib import Path; (Path.home()/".hermes-notes").write_text("x")\'',
    "python3 -c 'import hermes; print(hermes.__version__)'",
    "bash scripts/hermes doctor",
    "docker build -t hermes .",
    "grep -rn 'hermes config set' docs",
    "git commit -m 'hermes config set approvals.mode off'",
]


def decision(command: str, policy: Policy) -> str:
    return decide(Command(command=command, cwd="/data/project"), policy).decision


@pytest.mark.parametrize("command", CHANGES)
@pytest.mark.parametrize("sandbox", ["off", "workspace"])
def test_nothing_lets_a_change_of_our_own_files_through(sandbox: str, command: str) -> None:
    assert decision(command, replace(FREE, sandbox=sandbox)) == "deny"


@pytest.mark.parametrize("command", OTHERS)
def test_a_file_that_cannot_be_ours_is_no_hard_limit(command: str) -> None:
    assert decision(command, FREE) == "allow"


def test_a_profile_elsewhere_is_ours_with_all_profiles_around_it() -> None:
    there = replace(FREE, hermes_home="/srv/agent/profiles/work")
    commands = ["cp x /srv/a*/config.yaml", "cp x /srv/agent/profiles/*/.env", "cp x ~/.h*/auth.json"]
    assert [decision(command, there) for command in [*commands, "cp x /srv/b*/config.yaml"]] == [
        *["deny"] * 3,
        "allow",
    ]
