"""A workplace on another machine stands behind the same gate as one on this."""

from pathlib import Path

from hermes.agent.elsewhere import open_elsewhere
from hermes.agent.workplace import open_workplace, options_from
from hermes.config.settings import Settings, TerminalSettings
from hermes.types.question import Answer, Deny, Question


async def nobody(_question: Question) -> Answer:
    return Deny()


def test_its_gate_knows_the_caller_and_counts_uses_as_the_one_here_does(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ssh").touch(mode=0o755)
    spent: list[tuple[str, str]] = []
    options = options_from(
        Settings(terminal=TerminalSettings(backend="ssh", ssh_host="there", sandbox="off")),
        {**environ, "PATH": f"{tmp_path / 'bin'}:{environ['PATH']}"},
        cwd=tmp_path,
        hermes_home=tmp_path / "home",
        scratch=tmp_path / "scratch",
        save=lambda _: None,
        holder="session cli",
        spent=lambda old, new: spent.append((old, new)),
    )
    here, there = open_workplace(options, nobody).gate, open_elsewhere(options, nobody).gate
    assert (there.holder, there.spent, there.save, there.ask) == (here.holder, here.spent, here.save, here.ask)
    assert there.policy.allowlist == here.policy.allowlist
