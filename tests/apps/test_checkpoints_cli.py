"""`hermes checkpoints`, as a program: it lists what was saved and brings it back."""

from pathlib import Path

from msgspec.structs import replace

from hermes.store.checkpoints import Checkpoint, CheckpointLimits, CheckpointStore
from tests.apps.conftest import Run


def saved(environ: dict[str, str], work: Path) -> None:
    (work / "src").mkdir()
    (work / "src" / "a.py").write_text("a\n")
    save(environ, work, work / "src")


def save(environ: dict[str, str], work: Path, path: Path, command: str = "rm -rf src") -> None:
    kept = CheckpointStore(Path(environ["HERMES_HOME"]) / "checkpoints", CheckpointLimits())
    about = Checkpoint(
        id="c1f0",
        at=1e9,
        command=command,
        cwd=str(work),
        session="s",
        workspace=str(work),
        paths=(str(path),),
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
    newer = run("checkpoints", "list").stdout.split()[0]
    assert (done.returncode, done.stdout) == (
        0,
        f"{work}/src/a.py is as it was.\n`hermes checkpoints restore {newer}` takes this back.\n",
    )
    assert (work / "src" / "a.py").read_text() == "a\n"
    assert run("checkpoints", "list").stdout.count("\n") == 2


def test_a_known_key_in_a_command_is_not_shown(run: Run, work: Path, environ: dict[str, str]) -> None:
    (work / "src").mkdir()
    (work / "src" / "a.py").write_text("a\n")
    (work / ".env").write_text("SHOP_API_KEY=8sJq2LmX4vTz9RkW1bYc\n")
    save(environ, work, work / "src", "rm -rf src 8sJq2LmX4vTz9RkW1bYc")
    assert "rm -rf src [redacted]" in run("checkpoints", "list").stdout
    assert run("checkpoints", "show").stdout == f"c1f0: {work}$ rm -rf src [redacted]\n  {work}/src/a.py\n"


def test_names_stand_in_a_line_each_and_a_repository_in_one(
    run: Run, work: Path, environ: dict[str, str]
) -> None:
    (work / "src").mkdir()
    (work / "src" / "\x1b]0;x\n").write_text("a\n")
    (work / ".git" / "hooks").mkdir(parents=True)
    for name in ("HEAD", "hooks/a.sample", "hooks/b.sample"):
        (work / ".git" / name).write_text("x")
    save(environ, work, work)
    assert run("checkpoints", "show").stdout == (
        f"c1f0: {work}$ rm -rf src\n  {work}/src/⟨U+001B⟩]0;x⟨U+000A⟩\n  {work}/.git (3 files)\n"
    )


def test_a_restore_tells_which_branches_moved(run: Run, work: Path, environ: dict[str, str]) -> None:
    heads = work / ".git" / "refs" / "heads"
    heads.mkdir(parents=True)
    (heads / "main").write_text("a" * 40)
    (heads / "feat").write_text("c" * 40)
    (work / ".git" / "packed-refs").write_text(f"# pack-refs\n{'d' * 40} refs/tags/v1\n")
    save(environ, work, work / ".git")
    (heads / "main").write_text("b" * 40)
    (heads / "feat").unlink()
    told = run("checkpoints", "restore").stdout.splitlines()
    assert told[:3] == [
        f"{work}/.git is as it was.",
        "heads/feat: none → cccccccc",
        "heads/main: bbbbbbbb → aaaaaaaa",
    ]


def test_what_is_not_there_is_told_in_a_sentence(run: Run) -> None:
    done = run("checkpoints", "restore", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert "There is no checkpoint that begins with x; hermes checkpoints list shows them all." in done.stderr


def test_a_command_of_the_agent_brings_nothing_back(run: Run, work: Path, environ: dict[str, str]) -> None:
    saved(environ, work)
    assert run("checkpoints", "restore", HERMES_CALL="1").returncode == 2


def test_what_was_saved_of_one_file_goes_to_standard_output(
    run: Run, work: Path, environ: dict[str, str]
) -> None:
    saved(environ, work)
    kept = CheckpointStore(Path(environ["HERMES_HOME"]) / "checkpoints", CheckpointLimits())
    kept.save_tree(replace(kept.find("c1", str(work)), id="t1f0", at=2e9, message="m"))
    (work / "src" / "a.py").write_text("changed\n")
    for name in ("c1f0", "t1f0"):
        assert run("checkpoints", "show", name, "--file", "src/a.py").stdout == "a\n"
        assert "is no file in this checkpoint" in run("checkpoints", "show", name, "--file", "src").stderr
        assert "was not saved" in run("checkpoints", "show", name, "--file", "src/b.py").stderr
