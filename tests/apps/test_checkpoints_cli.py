"""`hermes checkpoints`, as a program: it lists what was saved and brings it back."""

from pathlib import Path

from hermes.store.checkpoints import Checkpoint, Checkpoints, Limits
from tests.apps.conftest import Run


def saved(environ: dict[str, str], work: Path) -> None:
    (work / "src").mkdir()
    (work / "src" / "a.py").write_text("a\n")
    kept = Checkpoints(Path(environ["HERMES_HOME"]) / "checkpoints", Limits())
    about = Checkpoint(
        id="c1f0", at=1e9, command="rm -rf src", cwd=str(work), session="s", paths=(str(work / "src"),)
    )
    assert kept.save(about, disposable=lambda _path: False)


def test_what_was_saved_is_listed_shown_and_brought_back(
    run: Run, work: Path, environ: dict[str, str]
) -> None:
    saved(environ, work)
    (work / "src" / "a.py").write_text("changed\n")
    listed = run("checkpoints", "list").stdout
    assert (listed.split()[0], "0.0 MB" in listed, "rm -rf src" in listed) == ("c1f0", True, True)
    assert run("checkpoints", "show").stdout == f"c1f0: {work}$ rm -rf src\n  {work}/src/a.py\n"
    done = run("checkpoints", "restore", "c1", "src/a.py")
    assert (done.returncode, done.stdout) == (0, f"{work}/src/a.py is as it was.\n")
    assert (work / "src" / "a.py").read_text() == "a\n"
    assert run("checkpoints", "list").stdout.count("\n") == 2


def test_what_is_not_there_is_told_in_a_sentence(run: Run) -> None:
    done = run("checkpoints", "restore", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert "There is no checkpoint that begins with x." in done.stderr


def test_a_command_of_the_agent_brings_nothing_back(run: Run, work: Path, environ: dict[str, str]) -> None:
    saved(environ, work)
    assert run("checkpoints", "restore", HERMES_CALL="1").returncode == 2
