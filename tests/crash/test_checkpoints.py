"""A checkpoint is there whole or not at all, whenever the process that makes it is killed; so what was told to be saved is."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import msgspec

from hermes.store.checkpoints import Checkpoint, CheckpointLimits, CheckpointStore
from hermes.store.rollback import roll_back

SAVER = Path(__file__).with_name("saver.py")
TURN_SAVER = Path(__file__).with_name("turn_saver.py")
RETURNER = Path(__file__).with_name("returner.py")
KILLS = 12


def test_a_checkpoint_outlives_a_kill_whole_or_is_not_there(tmp_path: Path) -> None:
    work = tmp_path / "work"
    for number in range(300):
        file = work / f"d{number % 10}" / f"f{number}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n")
    names = sorted(str(path) for path in work.rglob("*") if path.is_file())
    told: set[str] = set()
    for kill in range(KILLS):
        child = subprocess.Popen(
            [sys.executable, SAVER, tmp_path, str(kill)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        lines = [child.stdout.readline().strip() for _ in range(1 + kill % 3)]
        for _ in range(random.Random(kill).randrange(20_000)):  # some moment of the next one
            pass
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.read().split()
        child.wait()
        child.stdout.close()
        told.update(lines)
    kept = CheckpointStore(tmp_path / "checkpoints", CheckpointLimits())
    found = {one.id: one for one in kept.newest()}
    assert told <= set(found)
    assert {tuple(sorted(kept.files(one))) for one in found.values()} == {tuple(names)}
    kept.prune(1e12)
    assert list((tmp_path / "checkpoints").iterdir()) == []


def test_a_snapshot_outlives_a_kill_whole_or_is_not_there(tmp_path: Path) -> None:
    work = tmp_path / "work"
    for number in range(300):
        file = work / f"d{number % 10}" / f"f{number}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n")
    names = sorted(str(path) for path in (*work.rglob("f*"), work / "number"))
    last = ""
    for kill in range(KILLS):
        child = subprocess.Popen(
            [sys.executable, TURN_SAVER, tmp_path, str(kill)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        lines = [child.stdout.readline().strip() for _ in range(1 + kill)]  # removes old ones, too
        for _ in range(random.Random(kill).randrange(40_000)):  # some moment of the next one
            pass
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.read().split()
        child.wait()
        child.stdout.close()
        last = lines[-1]
    kept = CheckpointStore(tmp_path / "checkpoints", CheckpointLimits())
    found = {one.id: one for one in kept.newest()}
    assert last in found
    assert {tuple(sorted(kept.files(one))) for one in found.values()} == {tuple(names)}
    for one in found.values():
        about = msgspec.structs.replace(one, id=f"back-{one.id}", at=11_100_000.0, message="")
        roll_back(kept, one, about, force=True, paths=(".",))
        assert (work / "number").read_text() == f"{one.command}\n" * 2_000


def test_a_rollback_that_was_killed_is_finished_by_the_next_one(tmp_path: Path) -> None:
    work = tmp_path / "work"
    for number in range(400):
        file = work / f"d{number % 10}" / f"f{number}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n")
    before = {path: path.read_text() for path in work.rglob("f*")}
    kept = CheckpointStore(tmp_path / "checkpoints", CheckpointLimits())
    about = Checkpoint(
        id="c0", at=0.0, command="a turn", cwd=str(work), session="s", workspace=str(work), paths=(str(work),)
    )
    begun = kept.save_tree(about)
    for number, path in enumerate(before):
        path.write_text("ruined\n") if number % 3 else path.unlink()
    (work / "new").mkdir()
    kept.end_tree(begun, 0.0)
    ruined = sorted(path for path in before if path.exists())
    for kill in range(KILLS):
        child = subprocess.Popen(
            [sys.executable, RETURNER, tmp_path, str(kill)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        child.stdout.readline()
        watched = ruined[kill * len(ruined) // KILLS]
        while child.poll() is None and watched.read_text() == "ruined\n":
            pass
        child.send_signal(signal.SIGKILL)
        child.stdout.read()
        child.wait()
        child.stdout.close()
    subprocess.run([sys.executable, RETURNER, tmp_path, "99"], check=True, capture_output=True)
    assert {path: path.read_text() for path in work.rglob("*") if path.is_file()} == before
    assert not (work / "new").exists()
