"""The agent cannot widen its own permissions: each way is refused or asked about, with a reason, and nothing has changed afterwards."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

import pytest

from hermes.agent.gate import ApprovalGate
from hermes.composition import SYSTEM_PORTS
from hermes.environments.local_workspace import LocalWorkspace
from hermes.safety.decide import Policy, decide
from hermes.types.action import Command, FileAccess
from hermes.types.error import Refused
from hermes.types.event import NEVER
from hermes.types.question import Answer, Deny, Question

pytestmark = pytest.mark.anyio

HARD: Final = (
    "hermes config set approvals.mode off",
    "hermes config set command_allowlist '[rm -rf /]'",
    "hermes config unset terminal.sandbox",
    "hermes --yolo chat -q 'rm -rf src'",
    "hermes --profile other config set approvals.mode off",
    "hermes approvals revoke 1",
    "python3 -m hermes config set approvals.mode off",
    "hermes mcp add x -y --no-sandbox -- sh -c evil",
    "hermes mcp allow x --network --trust full",
    "hermes mcp review x -y",
    "hermes mcp login x",
    "hermes plugins enable evil",
    "hermes plugins install ./evil --enable -y",
    "hermes skills install ./evil --force",
    "hermes skills review 1 --yes",
    "hermes hooks revoke",
    "cp evil.json ~/.hermes/mcp/x.json",
    "echo 'approvals: {mode: off}' > $HERMES_HOME/config.yaml",
    "echo 'approvals: {mode: off}' >> ~/.hermes/config.yaml",
    "sed -i 's/manual/off/' ~/.hermes/config.yaml",
    "cp off.yaml ~/.hermes/config.yaml",
    "ln -sf $PWD/off.yaml ~/.hermes/config.yaml",
    "ln ~/.hermes/config.yaml here.yaml",
    "ln -s ~/.hermes here && echo x > here/config.yaml",
    "cd ~/.hermes && echo x > config.yaml",
    "cd ~ && cp off.yaml .hermes/config.yaml",
    "mv ~/.hermes ~/.hermes.old",
    "rm -rf ~/.hermes",
    "tee ~/.hermes/config.yaml < off.yaml",
    "dd if=off.yaml of=$HOME/.hermes/config.yaml",
    "python3 -c \"open('/home/user/.hermes/config.yaml','w').write('x')\"",
    "install -D evil.py ~/.hermes/plugins/evil/__init__.py",
    "cp evil.py ~/.hermes/tools/evil.py",
    "mkdir -p ~/.hermes/skills/evil",
    "printf 'HERMES_YOLO_MODE=1\\n' >> ~/.hermes/.env",
    "sqlite3 ~/.hermes/sessions.db 'update sessions set yolo=1'",
    "rsync -a evil/ ~/.hermes/",
    "tar xf evil.tar -C ~/.hermes",
    "patch ~/.hermes/config.yaml < off.patch",
)
"""What no setting, no flag and no grant lets a command do."""
COMMANDS: Final = (
    *HARD,
    "hermes -z 'rm -rf src' --yolo",
    "hermes cron add '* * * * *' 'rm -rf src'",
    "env HERMES_YOLO_MODE=1 hermes chat",
    "HERMES_HOME=/tmp/h hermes chat",
    "export HERMES_YOLO_MODE=1",
    "export HERMES_HOME=$PWD/home",
    "mv off.yaml ~/.hermes/config.yaml",
    "echo 'export HERMES_YOLO_MODE=1' >> ~/.bashrc",
    "echo 'alias hermes=\"hermes --yolo\"' >> ~/.zshrc",
    "printf '#!/bin/sh\\nhermes --yolo' > .git/hooks/post-commit",
    "git config core.hooksPath ./hooks",
    "git config --global alias.x '!hermes --yolo'",
    "crontab -l | { cat; echo '* * * * * hermes --yolo'; } | crontab -",
    "systemctl --user enable hermes-yolo",
    "cp evil ~/.local/bin/hermes",
    "pip install --force-reinstall ./hermes-agent",
    "pip install hermes-agent==0.0.1",
    "pkill -f hermes",
    "kill -9 $PPID",
    "gdb -p $PPID -batch -ex 'set var yolo=1'",
    "find ~ -name config.yaml -path '*hermes*' -exec sed -i s/manual/off/ {} +",
)
FILES: Final = (
    "~/.hermes/config.yaml", "~/.hermes/.env", "~/.hermes/plugins/evil.py", "~/.hermes/tools/evil.py", "~/.hermes/skills/x/SKILL.md",
    "~/.hermes/SOUL.md", "~/.hermes/mcp/x.json", "~/.hermes/mcp/x.tokens", "~/.hermes/shell-hooks-allowlist.json", "~/.hermes/auth.json", "../.hermes/config.yaml", "link", "folder/config.yaml", "~/.bashrc", ".git/hooks/pre-commit",
    ".git/config", "~/.config/autostart/x.desktop",
)  # fmt: skip


@pytest.fixture
def guarded(
    tmp_path: Path, environ: dict[str, str]
) -> tuple[LocalWorkspace, ApprovalGate, Callable[[], str]]:
    """A workspace in a home with settings, its gate, and a digest of all that decides."""
    home, work = tmp_path / "user", tmp_path / "user" / "work"
    own = home / ".hermes"
    work.mkdir(parents=True)
    own.mkdir()
    (own / "config.yaml").write_text("approvals: {mode: manual}\n")
    (work / "link").symlink_to(own / "config.yaml")
    (work / "folder").symlink_to(own)

    async def nobody(_question: Question) -> Answer:
        return Deny()

    policy = Policy(workspace=str(work), home=str(home), hermes_home=str(own), temp=())
    gate = ApprovalGate(policy=policy, ask=nobody, save=lambda _: None, ports=SYSTEM_PORTS)
    space = LocalWorkspace(
        work, authorize=gate.authorize, environ={**environ, "HOME": str(home)}, scratch=tmp_path / "scratch"
    )

    def digest() -> str:
        files = sorted((str(path), path.read_bytes()) for path in home.rglob("*") if path.is_file())
        return hashlib.sha256(repr((gate.policy, gate.grants, files)).encode()).hexdigest()

    return space, gate, digest


@pytest.mark.parametrize("command", COMMANDS)
async def test_no_command_widens_what_is_allowed(
    guarded: tuple[LocalWorkspace, ApprovalGate, Callable[[], str]], command: str
) -> None:
    space, gate, digest = guarded
    before = digest()
    with pytest.raises(Refused) as refused:
        await space.run(command.replace("/home/user", gate.policy.home), timeout=10)
    assert str(refused.value)
    told = [one.removesuffix(NEVER) for one in gate.take_refused()]
    assert (digest(), told) == (before, [command.replace("/home/user", gate.policy.home)])
    await space.close()


@pytest.mark.parametrize("path", FILES)
async def test_no_file_tool_widens_what_is_allowed(
    guarded: tuple[LocalWorkspace, ApprovalGate, Callable[[], str]], path: str
) -> None:
    space, _, digest = guarded
    before = digest()
    with pytest.raises(Refused):
        await space.write(path, b"approvals: {mode: off}\n")
    assert digest() == before
    await space.close()


async def test_a_hard_link_to_the_settings_is_no_way_to_change_them(
    guarded: tuple[LocalWorkspace, ApprovalGate, Callable[[], str]],
) -> None:
    space, gate, _ = guarded
    config = Path(gate.policy.hermes_home) / "config.yaml"
    (Path(gate.policy.workspace) / "twin").hardlink_to(config)
    await space.write("twin", b"approvals: {mode: off}\n")
    assert config.read_text() == "approvals: {mode: manual}\n"
    await space.close()


async def test_an_answer_of_always_is_the_persons_and_adds_its_own_words_alone(tmp_path: Path) -> None:
    saved: list[str] = []

    async def deny(_question: Question) -> Answer:
        return Deny(reason="always")

    gate = ApprovalGate(
        policy=Policy(workspace=str(tmp_path), home="/home/user", hermes_home="/h"),
        ask=deny,
        save=saved.append,
        ports=SYSTEM_PORTS,
    )
    before = gate.policy
    space = LocalWorkspace(
        tmp_path,
        authorize=gate.authorize,
        environ={"HOME": "/home/user", "PATH": "/bin"},
        scratch=tmp_path / "s",
    )
    with pytest.raises(Refused):
        await space.run("git push", timeout=10)
    assert (saved, gate.policy) == ([], before)
    await space.close()


def test_there_are_enough_ways_to_mean_something() -> None:
    assert len(COMMANDS) + len(FILES) >= 60


LIMITS: Final = (
    *HARD,
    "hermes auth add groq --key x",
    "env HERMES_HOME=/other hermes config set approvals.mode off",
    "sh -c 'hermes config set approvals.mode off'",
    "echo 'approvals: {mode: off}' >> /srv/hermes/config.yaml",
    "echo 'approvals: {mode: off}' >> /srv/hermes/profiles/other/config.yaml",
    "mv off.yaml ~/.hermes/profiles/x/config.yaml",
    "touch ~/.hermes/tools/evil.py",
    "chmod 777 ~/.hermes/auth.json",
    "truncate -s 0 ~/.hermes/grants.json",
)


@pytest.mark.parametrize("sandbox", ["off", "read-only", "workspace", "full"])
@pytest.mark.parametrize("command", LIMITS)
def test_nothing_lets_a_command_change_what_it_may_do(
    command: str, sandbox: Literal["off", "read-only", "workspace", "full"]
) -> None:
    policy = Policy(
        workspace="/home/user/work",
        home="/home/user",
        hermes_home="/srv/hermes/profiles/mine",
        sandbox=sandbox,
        network=True,
        yolo=True,
        mode="off",
        allowlist=("*", command),
    )
    verdict = decide(Command(command=command, cwd=policy.workspace), policy)
    assert (verdict.decision, verdict.effects[-1:]) == ("deny", ("policy",))


@pytest.mark.parametrize(
    "path", ["config.yaml", ".env", "auth.json", "tools/x.py", "grants.json", "profiles/x/config.yaml"]
)
@pytest.mark.parametrize("home", ["/home/user/.hermes", "/srv/hermes", "/srv/hermes/profiles/mine"])
def test_nothing_lets_a_file_tool_change_what_it_may_do(path: str, home: str) -> None:
    policy = Policy(
        workspace="/home/user",
        home="/home/user",
        hermes_home="/srv/hermes/profiles/mine",
        yolo=True,
        mode="off",
    )
    written = [
        decide(FileAccess(operation=operation, path=f"{home}/{path}"), policy).decision
        for operation in ("write", "delete")
    ]
    assert written == ["deny", "deny"]


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("cat ~/.hermes/config.yaml", "allow"),
        ("ls ~/.hermes/skills", "allow"),
        ("python3 ~/.hermes/skills/x/run.py", "allow"),
        ("hermes config get approvals.mode", "allow"),
        ("rm ~/.hermes/scratch/a/outputs/output-1.txt", "allow"),
        ("hermes chat -q hi", "allow"),
        ("echo x > hermes/config.yaml", "allow"),
    ],
)
def test_what_only_reads_our_files_or_uses_our_scratch_is_no_limit(command: str, decision: str) -> None:
    policy = Policy(
        workspace="/home/user/work", home="/home/user", hermes_home="/home/user/.hermes", yolo=True
    )
    assert decide(Command(command=command, cwd=policy.workspace), policy).decision == decision
