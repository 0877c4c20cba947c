"""A workplace on another machine stands behind the same gate as one on this."""

from pathlib import Path

from hermes.agent.remote_environment import open_remote
from hermes.agent.tool_environment import open_local, options_from
from hermes.composition import SYSTEM_PORTS
from hermes.config.sections import Settings
from hermes.environments.settings import TerminalSettings
from hermes.types.question import Answer, Deny, Question


async def nobody(_question: Question) -> Answer:
    return Deny()


def test_its_gate_knows_the_caller_and_counts_uses_as_the_one_here_does(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ssh").touch(mode=0o755)
    spent: list[tuple[str, str]] = []
    options = options_from(
        Settings((TerminalSettings(backend="ssh", ssh_host="there", sandbox="off"),)),
        {**environ, "PATH": f"{tmp_path / 'bin'}:{environ['PATH']}"},
        cwd=tmp_path,
        hermes_home=tmp_path / "home",
        scratch=tmp_path / "scratch",
        save=lambda _: None,
        ports=SYSTEM_PORTS,
        holder="session cli",
        spent=lambda old, new: spent.append((old, new)),
    )
    here, there = open_local(options, nobody).gate, open_remote(options, nobody).gate
    assert (there.holder, there.spent, there.save, there.ask) == (
        here.holder,
        here.spent,
        here.save,
        here.ask,
    )
    assert there.policy.allowlist == here.policy.allowlist
