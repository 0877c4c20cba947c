"""A workspace behind a gate, and what is asked of it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hermes.agent.gate import ApprovalGate
from hermes.composition import SYSTEM_PORTS
from hermes.environments.local_workspace import LocalWorkspace
from hermes.safety.decide import Policy
from hermes.types.question import Answer, Deny, Question

Open = Callable[..., "Bench"]


@dataclass(slots=True)
class Bench:
    """A workspace with something precious in it, its gate, and the questions that came."""

    space: LocalWorkspace
    gate: ApprovalGate
    root: Path
    asked: list[Question] = field(default_factory=list)

    @property
    def is_unharmed(self) -> bool:
        """Whether nothing was executed that needed a decision."""
        plan = self.root / "plans" / "one.txt"
        kept = (
            plan.is_file() and plan.read_text() == "precious" and (self.root / ".env").read_text() == "A=b\n"
        )
        return (
            kept
            and not (self.root.parent / "outside" / "new.txt").exists()
            and (self.root.parent / "outside" / "old.txt").exists()
        )


@pytest.fixture
async def bench(tmp_path: Path, environ: dict[str, str]) -> AsyncIterator[Open]:
    """`bench(ask)` opens one; `ask` gives the answers."""
    opened: list[Bench] = []
    root, outside = tmp_path / "work", tmp_path / "outside"
    (root / "plans").mkdir(parents=True)
    (root / "plans" / "one.txt").write_text("precious")
    (root / ".env").write_text("A=b\n")
    outside.mkdir()
    (outside / "old.txt").write_text("old")

    def opening(ask: Callable[[Question], Awaitable[Answer]] | None = None, *, child: bool = False) -> Bench:
        made: Bench

        async def asking(question: Question) -> Answer:
            made.asked.append(question)
            return await ask(question) if ask else Deny()

        policy = Policy(
            workspace=str(root), home=environ["HOME"], hermes_home=environ["HERMES_HOME"], temp=()
        )
        gate = ApprovalGate(
            policy=policy, ask=asking, save=lambda _: None, ports=SYSTEM_PORTS, holder="session 1 cli"
        )
        gate = gate.child() if child else gate
        space = LocalWorkspace(
            root, authorize=gate.authorize, environ=environ, scratch=tmp_path / f"scratch{len(opened)}"
        )
        made = Bench(space, gate, root)
        opened.append(made)
        return made

    yield opening
    for one in opened:
        await one.space.close()
