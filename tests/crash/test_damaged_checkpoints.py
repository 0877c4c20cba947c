"""Whatever byte of the checkpoints a disk has changed, turns are saved as before, and a new one has all of its files."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.store.checkpoints import Checkpoint, CheckpointLimits, CheckpointStore
from hermes.store.rollback import roll_back

LIMITS = CheckpointLimits(turns=3)


def turn(top: Path, number: int) -> Checkpoint:
    """One turn, as a process of its own would save it."""
    work = str(top / "work")
    about = Checkpoint(
        id=f"c{number}",
        at=float(number),
        command="a turn",
        cwd=work,
        session="s",
        workspace=work,
        paths=(work,),
        message=f"m{number}",
    )
    kept = CheckpointStore(top / "checkpoints", LIMITS)
    begun = kept.save_tree(about)
    for name in ("changes", f"new{number}"):
        (top / "work" / name).write_text(f"{number}\n" * 400)
    return kept.end_tree(begun, about.at)


@settings(max_examples=200)
@given(st.integers(0), st.integers(0), st.integers(0, 255))
def test_one_damaged_byte_makes_no_later_turn_fail(file: int, place: int, byte: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        (top / "work").mkdir()
        (top / "work" / "stays").write_text("the same in each of them\n" * 40)
        for number in range(3):
            turn(top, number)
        files = sorted(path for path in (top / "checkpoints").rglob("*") if path.stat().st_size)
        files = [path for path in files if path.is_file()]
        damaged = files[file % len(files)]
        data = bytearray(damaged.read_bytes())
        data[place % len(data)] = byte
        damaged.write_bytes(data)
        for number in range(3, 8):
            start = turn(top, number)
        kept = CheckpointStore(top / "checkpoints", LIMITS)
        assert {one.id for one in kept.newest()} >= {"c5", "c6", "c7"}
        about = replace(start, id="back", at=8.0)
        roll_back(kept, start, about, force=True, paths=("changes",))
        assert (top / "work" / "changes").read_text() == "6\n" * 400
