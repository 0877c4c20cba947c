"""Going back to a snapshot gives what was there, keeps what somebody else did since, and can be taken back."""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.store.checkpoints import Checkpoint, CheckpointLimits, CheckpointStore
from hermes.store.guarded import Guarded
from hermes.store.rollback import RolledBack, roll_back, steps
from hermes.types.error import StoreError

NAMES = st.sampled_from(["a", "b", "new\nline", os.fsdecode(b"\xff\xfe"), "-rf", "n" * 255])
FILES = st.tuples(
    st.sampled_from([b"", b"one\n", b"two\n", b"\0\xff", b"three"]), st.sampled_from([0o644, 0o755, 0o400])
)
LINKS = st.sampled_from(["a", "/etc/passwd", "../..", "gone"])
FOLDERS = st.recursive(
    st.dictionaries(NAMES, FILES | LINKS, max_size=3),
    lambda inner: st.dictionaries(NAMES, FILES | LINKS | inner, max_size=3),
    max_leaves=8,
)
Contents = dict[str, Any]


def flat(folder: Contents, above: str = "") -> Contents:
    """The files, links and folders of a tree by their path."""
    found: Contents = {}
    for name, what in folder.items():
        found[above + name] = "folder" if isinstance(what, dict) else what
        if isinstance(what, dict):
            found |= flat(what, f"{above}{name}/")
    return found


def there(root: Path) -> Contents:
    """What a folder holds."""
    found: Contents = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            found[os.path.relpath(path, root)] = (
                str(path.readlink())
                if path.is_symlink()
                else "folder"
                if path.is_dir()
                else (path.read_bytes(), path.stat().st_mode & 0o777)
            )
    return found


def become(root: Path, wanted: Contents) -> None:
    """Change a folder into another one; what is the same is not touched."""
    now, new = there(root), flat(wanted)
    for path in sorted(now, reverse=True):
        if now[path] != new.get(path):
            if now[path] == "folder":
                (root / path).rmdir()
            else:
                (root / path).unlink()
    for path in sorted(new):
        if now.get(path) != new[path]:
            if new[path] == "folder":
                (root / path).mkdir()
            elif isinstance(new[path], str):
                (root / path).symlink_to(new[path])
            else:
                (root / path).write_bytes(new[path][0])
                (root / path).chmod(new[path][1])


class Desk:
    """A workspace and its checkpoints; each step is a second later."""

    def __init__(self, top: Path, guarded: Guarded = Guarded()) -> None:  # noqa: B008  # a value
        self.work = top / "work"
        self.work.mkdir()
        self.store = CheckpointStore(top / "home" / "checkpoints", CheckpointLimits(file=1_000), guarded)
        self.clock = 0

    def about(self, command: str, session: str = "s") -> Checkpoint:
        self.clock += 1
        work = str(self.work)
        return Checkpoint(
            id=f"c{self.clock}",
            at=float(self.clock),
            command=command,
            cwd=work,
            session=session,
            workspace=work,
            paths=(work,),
            message=f"m{self.clock}",
        )

    def turn(self, after: Contents, session: str = "s") -> Checkpoint:
        begun = self.store.save_tree(self.about("a turn", session))
        become(self.work, after)
        return self.store.end_tree(begun, float(self.clock))

    def back(self, to: Checkpoint, *, force: bool = False, paths: tuple[str, ...] = ()) -> RolledBack:
        return roll_back(self.store, to, self.about("/rollback"), force=force, paths=paths)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@settings(max_examples=150)
@given(FOLDERS, FOLDERS, FOLDERS)
def test_turns_are_taken_back_to_the_byte_and_that_is_taken_back_again(
    first: Contents, second: Contents, third: Contents
) -> None:
    with tempfile.TemporaryDirectory() as top:
        desk = Desk(Path(top))
        become(desk.work, first)
        start = desk.turn(second)
        desk.turn(third)
        done = desk.back(start)
        assert there(desk.work) == flat(first)
        assert (done.plan.changed, done.plan.unsaved) == ((), ())
        desk.back(done.undo)
        assert there(desk.work) == flat(third)


@settings(max_examples=150)
@given(FOLDERS, FOLDERS, FOLDERS)
def test_what_somebody_did_by_hand_stays_unless_it_is_forced_and_then_it_is_saved(
    first: Contents, second: Contents, edited: Contents
) -> None:
    with tempfile.TemporaryDirectory() as top:
        desk = Desk(Path(top))
        become(desk.work, first)
        start = desk.turn(second)
        become(desk.work, edited)
        desk.back(start)
        now, left, new = there(desk.work), flat(second), flat(edited)
        by_hand = {path for path in left.keys() | new.keys() if left.get(path) != new.get(path)}
        lost = [
            path for path in by_hand if new.get(path, "folder") != "folder" and now.get(path) != new[path]
        ]
        assert lost == []
        forced = desk.back(start, force=True)
        assert there(desk.work) == flat(first)
        desk.back(forced.undo, force=True)
        assert there(desk.work) == now


def test_each_file_is_told_by_name_with_what_became_of_it(desk: Desk) -> None:
    become(desk.work, {"mine": (b"1", 0o644), "turns": (b"1", 0o644), "gone": (b"1", 0o644)})
    start = desk.turn({"mine": (b"2", 0o644), "turns": (b"2", 0o644), "new": (b"n", 0o644)})
    (desk.work / "mine").write_bytes(b"by hand")
    (desk.work / "own").write_bytes(b"by hand")
    plan = desk.back(start).plan
    assert (plan.write, plan.remove, plan.changed) == (("gone", "turns"), ("new",), ("mine", "own"))
    assert there(desk.work) == {
        name: (text, 0o644)
        for name, text in {"mine": b"by hand", "own": b"by hand", "turns": b"1", "gone": b"1"}.items()
    }


def test_only_what_is_chosen_goes_back(desk: Desk) -> None:
    become(desk.work, {"a": {"x": (b"1", 0o644)}, "b": (b"1", 0o644)})
    start = desk.turn({"a": {"x": (b"2", 0o644)}, "b": (b"2", 0o644)})
    desk.back(start, paths=("a",))
    assert there(desk.work) == {"a": "folder", "a/x": (b"1", 0o644), "b": (b"2", 0o644)}


def test_what_another_session_changed_is_somebody_elses(desk: Desk) -> None:
    start = desk.turn({"a": (b"1", 0o644)})
    desk.turn({"a": (b"2", 0o644)}, session="other")
    assert desk.back(start).plan.changed == ("a",)
    assert [one.session for one in steps(desk.store, start)] == ["s", "s"]


def test_a_turn_that_was_cut_off_may_have_changed_nothing_of_what_is_there(desk: Desk) -> None:
    start = desk.store.save_tree(desk.about("a turn"))
    become(desk.work, {"a": (b"1", 0o644)})
    assert desk.back(start).plan.changed == ("a",)
    assert desk.back(start, force=True).plan.remove == ("a",)


def test_what_is_left_out_is_said_and_never_touched(desk: Desk) -> None:
    (desk.work / ".gitignore").write_text("data/\n*.log\n")
    for name in ("node_modules/m.js", "data/d", "src/__pycache__/c", "big", "a.log", ".git/HEAD"):
        (desk.work / name).parent.mkdir(parents=True, exist_ok=True)
        (desk.work / name).write_text("x" * (2_000 if name == "big" else 1))
    os.mkfifo(desk.work / "pipe")
    start = desk.store.save_tree(desk.about("a turn"))
    assert dict(desk.store.left_out(start)) == {
        ".git": "git's own",
        "big": "too large",
        "data": "ignored by git",
        "node_modules": "rebuilt",
        "pipe": "no file",
        "src/__pycache__": "rebuilt",
    }
    assert [Path(path).name for path in desk.store.files(start)] == [".gitignore", "a.log"]
    (desk.work / ".gitignore").unlink()
    (desk.work / "big").write_text("small now")
    desk.store.end_tree(start, 1.0)
    done = desk.back(start)
    assert done.plan.unsaved == ("big", "data")
    assert ((desk.work / "data" / "d").read_text(), (desk.work / "big").read_text()) == ("x", "small now")


def test_nothing_is_written_through_a_link_that_came_on_the_way(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    become(desk.work, {"a": {"x": (b"1", 0o644)}})
    start = desk.turn({"a": {"x": (b"2", 0o644)}})
    desk.turn({"a": str(outside)})
    desk.back(start)
    assert (there(outside), there(desk.work)) == ({}, {"a": "folder", "a/x": (b"1", 0o644)})


def test_what_would_run_something_is_not_put_back(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Guarded(starts=lambda path: path.endswith("/.bashrc")))
    become(desk.work, {".bashrc": (b"1", 0o644), "a": (b"1", 0o644)})
    start = desk.turn({".bashrc": (b"2", 0o644), "a": (b"2", 0o644)})
    assert desk.back(start).kept_back == (str(desk.work / ".bashrc"),)
    assert (desk.work / ".bashrc").read_bytes() == b"2"


def test_damage_is_told_and_nothing_is_written(desk: Desk) -> None:
    become(desk.work, {"a": (b"1" * 500, 0o644)})
    start = desk.turn({"a": (b"2" * 500, 0o644)})
    for pack in (desk.store.beside("x").parent / "snapshots" / "packs").iterdir():
        pack.write_bytes(pack.read_bytes().replace(b"1" * 100, b"3" * 100))
    with pytest.raises(StoreError, match="damaged"):
        desk.back(start)
    assert (desk.work / "a").read_bytes() == b"2" * 500


def test_a_changed_file_with_the_times_of_the_old_one_is_seen(desk: Desk) -> None:
    (desk.work / "a").write_bytes(b"one")
    first = desk.store.save_tree(desk.about("a turn"))
    times = (desk.work / "a").stat()
    (desk.work / "a").write_bytes(b"two")
    os.utime(desk.work / "a", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert desk.store.save_tree(desk.about("a turn")).tree != first.tree


def test_disk_is_bounded_and_what_is_shared_stays(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    limits = CheckpointLimits(one=1_000_000, all=1_060_000, turns=3)
    desk.store = CheckpointStore(tmp_path / "home" / "checkpoints", limits)
    shared = {"shared": (os.urandom(20_000), 0o644)}
    made = [desk.turn({**shared, "own": (os.urandom(20_000), 0o644)}) for _ in range(6)]
    kept = desk.store.newest()
    assert {one.id for one in kept} < {one.id for one in made}
    assert len(kept) <= 3
    packs = desk.store.beside("x").parent / "snapshots" / "packs"
    assert sum(path.stat().st_size for path in packs.iterdir()) < 100_000
    start = replace(kept[-1])
    desk.back(start)
    assert (desk.work / "shared").read_bytes() == shared["shared"][0]
    desk.store.prune(1e12)
    assert (desk.store.newest(), list(packs.iterdir())) == ([], [])


def test_a_checkpoint_that_cannot_be_read_is_named_and_goes_with_the_old_ones(desk: Desk) -> None:
    made = [desk.turn({"a": (text, 0o644)}) for text in (b"1", b"2")]
    folder = desk.store.beside("x").parent / made[0].id
    (folder / "checkpoint.json").write_bytes(b'{"id": "\xff"}')
    assert ([one.id for one in desk.store.newest()], desk.store.damaged()) == ([made[1].id], [made[0].id])
    desk.store.prune(folder.stat().st_mtime + 1)
    assert desk.store.damaged() == [made[0].id]
    desk.store.prune(folder.stat().st_mtime + 8 * 86_400)
    assert desk.store.damaged() == []
