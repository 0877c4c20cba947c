"""Once a session has read text from outside, its commands cannot change what agents take as instructions."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from hermes.environments.sandbox.launch import Confinement
from hermes.environments.sandbox.prewarm import Prewarmer, Spawn
from hermes.types.error import Refused
from tests.escapes.test_prewarmed import Ground

pytestmark = pytest.mark.anyio

SCRIPT = """
echo evil >> AGENTS.md; echo evil >> sub/CLAUDE.md; echo evil > .claude/rules.md
mv AGENTS.md old; rm -f sub/CLAUDE.md; mv sub other; rm -rf .claude; ln -sf /etc/passwd AGENTS.md
echo evil > .cursorrules; mkdir -p .github/workflows; echo evil > .github/workflows/ci.yml
echo more >> notes.md; echo done
"""


@pytest.fixture
async def ground(tmp_path: Path, environ: dict[str, str], spawn: Spawn) -> AsyncIterator[Ground]:
    made = Ground(tmp_path, Path(environ["HOME"]), environ, spawn, "workspace")
    for name in ("AGENTS.md", "sub/CLAUDE.md", ".claude/rules.md", "notes.md"):
        path = made.work / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine\n")
    (made.work / "later.sh").write_text(SCRIPT)
    yield made
    await made.space.close()


def rules(ground: Ground) -> dict[str, str]:
    """All that agents would take as instructions in the workspace, and what it says."""
    places = (
        "AGENTS.md",
        "sub/CLAUDE.md",
        ".claude/rules.md",
        ".cursorrules",
        ".github/workflows/ci.yml",
    )
    return {name: (ground.work / name).read_text() for name in places if (ground.work / name).is_file()}


MINE = {"AGENTS.md": "mine\n", "sub/CLAUDE.md": "mine\n", ".claude/rules.md": "mine\n"}


async def test_a_script_that_was_written_before_cannot_change_them_later(ground: Ground) -> None:
    ground.permitted = {"protected": True}
    output = await ground.run("sh later.sh")
    assert rules(ground) == MINE
    assert (ground.work / "notes.md").read_text() == "mine\nmore\n"
    assert f"agents would take {ground.work}/.cursorrules as instructions" in output
    assert (ground.work / ".cursorrules.taken").read_text() == "evil\n"


async def test_without_text_from_outside_they_are_files_as_any_other(ground: Ground) -> None:
    await ground.run("sh later.sh")
    assert not set(rules(ground).items()) & set(MINE.items())


async def test_what_is_new_and_was_allowed_stays(ground: Ground) -> None:
    ground.permitted = {"protected": True}
    await ground.run("true")
    ground.permitted = {}
    await ground.run("echo mine > .cursorrules")
    ground.permitted = {"protected": True}
    await ground.run("echo more >> notes.md")
    assert rules(ground) == {**MINE, ".cursorrules": "mine\n"}


async def test_the_model_is_told_what_to_declare(ground: Ground) -> None:
    ground.permitted = {"protected": True}
    done = await ground.space.run("echo x >> AGENTS.md", timeout=20)
    assert 'needs {"paths": ["AGENTS.md"]}' in done.denied


async def test_the_sandbox_that_waits_is_thrown_away_for_it_once(ground: Ground, spawn: Spawn) -> None:
    """Then the next one waits with the same mounts, and is used."""
    prewarmer = Prewarmer(ground.sandbox, spawn, dict)
    protected, used = Confinement(protected=True), []
    for wanted in (Confinement(), *[protected] * 20):  # other programs of this machine open sockets
        prewarmer.request(wanted)
        await anyio.wait_all_tasks_blocked()
        taken = await prewarmer.take(protected)
        used.append(taken is not None)
        if taken:
            await taken.end()
            break
    await prewarmer.close()
    assert used[:: len(used) - 1] == [False, True]


async def test_a_process_of_before_gets_no_more_input(ground: Ground) -> None:
    """It could change them; one that is started again cannot."""
    before = await ground.space.start("bash")
    ground.permitted = {"protected": True}
    with pytest.raises(Refused, match="kill it and start it again"):
        await ground.space.processes.write(before.id, "sh later.sh\n")
    after = await ground.space.start("bash")
    await ground.space.processes.write(after.id, "sh later.sh\nexit\n")
    await ground.space.processes.wait(after.id, 20)
    assert (rules(ground), (ground.work / "notes.md").read_text()) == (
        {**MINE, ".cursorrules": "evil\n", ".github/workflows/ci.yml": "evil\n"},
        "mine\nmore\n",
    )
    await ground.run("true")
    assert rules(ground) == MINE
