"""Going back to a snapshot gives what was there, keeps what somebody else did since, and can be taken back."""

import mmap
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.store.checkpoints import Checkpoint, CheckpointLimits, CheckpointStore
from hermes.store.guarded import Guarded
from hermes.store.rollback import RolledBack, roll_back
from hermes.store.rollback_plan import steps

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
PIPE = "pipe"
ODD_NAMES = st.sampled_from(["a", "b", "c", "node_modules", ".gitignore"])
ODD = st.sampled_from([(b"one\n", 0o644), (b"a/\nb/\n", 0o644), (b"x" * 2_000, 0o644), PIPE])
ODD_FOLDERS = st.recursive(
    st.dictionaries(ODD_NAMES, ODD, max_size=3),
    lambda inner: st.dictionaries(ODD_NAMES, ODD | inner, max_size=4),
    max_leaves=8,
)


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
                else PIPE
                if path.is_fifo()
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
            elif new[path] == PIPE:
                os.mkfifo(root / path)
            elif isinstance(new[path], str):
                (root / path).symlink_to(new[path])
            else:
                (root / path).write_bytes(new[path][0])
                (root / path).chmod(new[path][1])


def set_unchanging(path: Path, how: str) -> None:
    """Have a file that not even its owner can change, or end that."""
    if subprocess.run(["chattr", how, path], capture_output=True, check=False).returncode:
        pytest.skip("chattr needs rights and a file system that are not here")


def check_gone_back(now: Contents, first: Contents, left: Contents, edited: Contents) -> None:
    """What a turn changed is as it was first, and all else as it was edited, but for what is in its way."""
    ours = {path for path in first.keys() | left.keys() if first.get(path) != left.get(path)}
    needed = {above for path in ours & first.keys() for above in map(str, Path(path).parents)}
    for path in ours:
        shared = any(one.startswith(f"{path}/") and one not in ours for one in now)
        assert now.get(path) == first.get(path) or (path not in first and shared)
    for path in edited.keys() - ours - needed:
        in_the_way = any(str(above) in ours and str(above) in first for above in Path(path).parents)
        assert now.get(path) == edited[path] or in_the_way


def unsaved(contents: Contents) -> Counter[Any]:
    """What of a folder's contents no snapshot takes, whatever its place."""
    return Counter(
        one
        for path, one in contents.items()
        if one == PIPE or one[0] == b"x" * 2_000 or re.search("node_modules[^/]*/", path)
    )


def saved_paths(desk: "Desk", start: Checkpoint) -> list[str]:
    """The paths that a checkpoint has."""
    tree = desk.store.snapshots.tree(bytes.fromhex(start.tree))
    return [path for path, entry in tree.items() if entry.kind != "out"]


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
            id=f"{self.clock:08x}0000",
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
@example({"a": {}}, {"a": {"a": "a"}}, {"a": "a"})  # a file by hand where a file of the turn had its folder
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
        check_gone_back(there(desk.work), flat(first), left, new)
        desk.back(forced.undo, force=True)
        assert there(desk.work) == now


@settings(max_examples=300)
@given(ODD_FOLDERS, ODD_FOLDERS, ODD_FOLDERS, st.booleans())
def test_all_that_was_saved_comes_back_and_nothing_that_cannot_be_saved_is_lost(
    first: Contents, second: Contents, third: Contents, force: bool
) -> None:
    with tempfile.TemporaryDirectory() as top:
        desk = Desk(Path(top))
        become(desk.work, first)
        start = desk.turn(second)
        become(desk.work, third if force else second)
        was = there(desk.work)
        held = unsaved(was)
        done = desk.back(start, force=force)
        now = there(desk.work)
        kept = {path for path in flat(first) if force and flat(first)[path] == flat(second).get(path)}
        saved = {path: flat(first)[path] for path in saved_paths(desk, start) if path not in kept}
        assert ({path: now.get(path) for path in saved}, done.failed) == (saved, ())
        assert unsaved(now) == held
        again = desk.back(done.undo)
        assert ([path for path, _ in again.back], again.failed) == (sorted(dict(done.aside)), ())
        assert there(desk.work) == was


def test_each_file_is_told_by_name_with_what_became_of_it(desk: Desk) -> None:
    become(desk.work, {"mine": (b"1", 0o644), "turns": (b"1", 0o644), "gone": (b"1", 0o644)})
    start = desk.turn({"mine": (b"2", 0o644), "turns": (b"2", 0o644), "new": (b"n", 0o644)})
    (desk.work / "mine").write_bytes(b"by hand")
    (desk.work / "own").write_bytes(b"by hand")
    plan = desk.back(start).plan
    assert (plan.write, plan.remove, plan.changed) == (("gone", "turns"), ("new",), ("mine",))
    assert there(desk.work) == {
        name: (text, 0o644)
        for name, text in {"mine": b"by hand", "own": b"by hand", "turns": b"1", "gone": b"1"}.items()
    }


def test_what_no_turn_changed_is_neither_told_of_nor_taken_back_by_force(desk: Desk) -> None:
    become(desk.work, {"turns": (b"1", 0o644), "mine": (b"1", 0o644), "gone": (b"1", 0o644)})
    start = desk.turn({"turns": (b"2", 0o644), "mine": (b"1", 0o644), "gone": (b"1", 0o644), "d": {}})
    become(desk.work, {"turns": (b"2", 0o644), "mine": (b"by hand", 0o644), "d": {"own": (b"1", 0o644)}})
    done = desk.back(start, force=True)
    assert (done.written, done.removed, done.plan.changed, done.failed) == (("turns",), (), (), ())
    assert there(desk.work) == {
        "turns": (b"1", 0o644),
        "mine": (b"by hand", 0o644),
        "d": "folder",
        "d/own": (b"1", 0o644),
    }
    assert desk.back(start, force=True, paths=("mine",)).written == ("mine",)


def test_only_what_is_chosen_goes_back(desk: Desk) -> None:
    become(desk.work, {"a": {"x": (b"1", 0o644)}, "b": (b"1", 0o644)})
    start = desk.turn({"a": {"x": (b"2", 0o644)}, "b": (b"2", 0o644)})
    desk.back(start, paths=("a",))
    assert there(desk.work) == {"a": "folder", "a/x": (b"1", 0o644), "b": (b"2", 0o644)}


def test_what_another_session_changed_is_somebody_elses(desk: Desk) -> None:
    start = desk.turn({"a": (b"1", 0o644)})
    desk.turn({"a": (b"2", 0o644), "b": (b"2", 0o644)}, session="other")
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
    assert done.plan.unsaved == ("big",)
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


def test_a_damaged_content_is_named_and_the_others_come_back(desk: Desk) -> None:
    become(desk.work, {name: (name.encode() * 500, 0o644) for name in "abc"})
    start = desk.turn(dict.fromkeys("abc", (b"ruined", 420)))
    for pack in (desk.store.beside("x").parent / "snapshots" / "packs").iterdir():
        pack.write_bytes(pack.read_bytes().replace(b"b" * 100, b"x" * 100))
    done = desk.back(start)
    assert (done.written, [path for path, why in done.failed if "damaged" in why]) == (("a", "c"), ["b"])
    assert [(desk.work / name).read_bytes()[:6] for name in "abc"] == [b"aaaaaa", b"ruined", b"cccccc"]


def test_one_path_that_cannot_be_written_stops_no_other_and_a_second_time_brings_it_back(desk: Desk) -> None:
    become(desk.work, dict.fromkeys("abc", (b"1", 420)))
    start = desk.turn(dict.fromkeys("abc", (b"2", 420)))
    set_unchanging(desk.work / "b", "+i")
    try:
        done = desk.back(start)
    finally:
        set_unchanging(desk.work / "b", "-i")
    assert (done.written, done.failed) == (("a", "c"), (("b", "Operation not permitted"),))
    assert desk.back(start).written == ("b",)
    assert there(desk.work) == dict.fromkeys("abc", (b"1", 420))


def ruined(work: Path, ruin: str) -> None:
    """Put something that no snapshot takes in the place of a file, or beside all."""
    place = work / "a" / "x"
    place.unlink()
    match ruin:
        case "too large":
            place.write_bytes(b"x" * 2_000)
        case "a pipe":
            os.mkfifo(place)
        case "a folder":
            (place / "node_modules").mkdir(parents=True)
            (place / "new").write_bytes(b"n")
        case "ignored":
            (work / ".gitignore").write_text("a/\n")
            place.write_bytes(b"ruined")
        case "a folder of a pipe":
            shutil.rmtree(place.parent)
            os.mkfifo(place.parent)
        case _:
            for number in range(300):
                (work / f"many{number}").write_bytes(b"x" * 1_000)


@pytest.mark.parametrize(
    "ruin", ["too large", "a pipe", "a folder", "ignored", "a folder of a pipe", "too much"]
)
def test_what_cannot_be_saved_makes_way_for_what_was_there(desk: Desk, ruin: str) -> None:
    first = {"a": {"x": (b"1", 0o644), "y": (b"2", 0o600)}, "b": (b"3", 0o644)}
    become(desk.work, first)
    start = desk.store.save_tree(desk.about("a turn"))
    ruined(desk.work, ruin)
    start = desk.store.end_tree(start, float(desk.clock))
    was = there(desk.work)
    done = desk.back(start)
    now = there(desk.work)
    moved = {name for _, name in done.aside}
    assert {path: what for path, what in now.items() if path in flat(first)} == flat(first)
    assert {path.split("/")[-1][:4] for path in now.keys() - flat(first).keys() - moved} <= {
        "many",
        "node",
        "new",
    }
    assert (len(moved), done.failed, done.plan.changed) == (ruin not in {"ignored", "too much"}, (), ())
    again = desk.back(done.undo)
    assert (again.back, again.failed, there(desk.work)) == (done.aside, (), was)
    assert {path: there(desk.work).get(path) for path in flat(first)} != flat(first)
    desk.back(again.undo)
    assert {path: what for path, what in there(desk.work).items() if path in flat(first)} == flat(first)


@pytest.fixture
def moved(desk: Desk) -> RolledBack:
    """A rollback for which a folder has made way, which cannot be saved whole."""
    become(desk.work, {"a": (b"1", 0o644)})
    begun = desk.store.save_tree(desk.about("a turn"))
    (desk.work / "a").unlink()
    (desk.work / "a" / "node_modules").mkdir(parents=True)
    (desk.work / "a" / "new").write_bytes(b"n")
    return desk.back(desk.store.end_tree(begun, float(desk.clock)))


def test_what_made_way_does_not_come_back_over_what_somebody_else_put_there(
    desk: Desk, moved: RolledBack
) -> None:
    (desk.work / "a").write_bytes(b"by hand")
    done = desk.back(moved.undo)
    assert (done.back, done.plan.changed[0], (desk.work / "a").read_bytes()) == ((), "a", b"by hand")
    done = desk.back(moved.undo, force=True)
    assert (done.back, (desk.work / "a" / "new").read_bytes()) == (moved.aside, b"n")
    assert desk.store.content(done.undo, str(desk.work / "a")) == b"by hand"


def test_only_what_is_chosen_gets_its_name_again(desk: Desk, moved: RolledBack) -> None:
    assert desk.back(moved.undo, paths=("b",)).back == ()
    (desk.work / "a").unlink()
    assert desk.back(moved.undo, paths=("a",)).back == moved.aside


def test_what_made_way_and_would_run_something_now_stays_where_it_is(desk: Desk, moved: RolledBack) -> None:
    aside = desk.work / moved.aside[0][1]
    guarded = Guarded(starts=lambda path: path == f"{desk.work}/a/.profile")
    desk.store = CheckpointStore(
        desk.work.parent / "home" / "checkpoints", CheckpointLimits(file=1_000), guarded
    )
    (aside / ".profile").write_text("planted")
    done = desk.back(moved.undo)
    assert (done.back, done.kept_back, (desk.work / "a").read_bytes()) == ((), (f"{desk.work}/a",), b"1")
    (aside / ".profile").unlink()
    assert desk.back(moved.undo).back == moved.aside


def test_what_somebody_else_made_unsaveable_stays_unless_it_is_forced(desk: Desk) -> None:
    become(desk.work, {"a": (b"1", 0o644)})
    start = desk.turn({"a": (b"2", 0o644)})
    (desk.work / "a").write_bytes(b"by hand" * 1_000)
    assert (desk.back(start).plan.changed, (desk.work / "a").stat().st_size) == (("a",), 7_000)
    done = desk.back(start, force=True)
    assert ((desk.work / "a").read_bytes(), (desk.work / done.aside[0][1]).stat().st_size) == (b"1", 7_000)


def test_what_a_turn_hid_by_an_ignore_file_is_still_its_own_turns_later(desk: Desk) -> None:
    become(desk.work, {"src": {"a": (b"1", 0o644)}})
    start = desk.turn({"src": {"a": (b"ruined", 0o644)}, ".gitignore": (b"src/\n", 0o644)})
    later = desk.store.save_tree(desk.about("a turn"))
    (desk.work / "b").write_bytes(b"new")
    desk.store.end_tree(later, float(desk.clock))
    done = desk.back(start)
    assert there(desk.work) == {"src": "folder", "src/a": (b"1", 0o644)}
    desk.back(done.undo)
    assert there(desk.work)["src/a"] == (b"ruined", 0o644)


@pytest.mark.parametrize("mode", [0o2775, 0o1777, 0o555, 0o300, 0o3070])
def test_modes_of_folders_come_back_to_the_bit(desk: Desk, mode: int) -> None:
    become(desk.work, {"d": {"x": (b"1", 0o644)}, "e": {"x": (b"1", 0o644)}})
    for name in "de":
        (desk.work / name).chmod(mode)
    start = desk.store.save_tree(desk.about("a turn"))
    shutil.rmtree(desk.work / "d")
    (desk.work / "e").chmod(0o755)
    start = desk.store.end_tree(start, float(desk.clock))
    assert desk.back(start).failed == ()
    assert [(desk.work / name).stat().st_mode & 0o7777 for name in "de"] == [mode, mode]


def test_rights_that_a_file_lends_are_not_given_back_and_that_is_said(desk: Desk) -> None:
    become(desk.work, {"a": (b"1", 0o755)})
    (desk.work / "a").chmod(0o4755)
    start = desk.turn({})
    assert desk.back(start).failed == (
        ("a", "it is written without the rights that it lends (its mode was 4755)"),
    )
    assert there(desk.work) == {"a": (b"1", 0o755)}


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


def test_a_file_that_was_written_through_a_mapping_lately_is_seen(desk: Desk) -> None:
    (desk.work / "a").write_bytes(b"1" * 500)
    with (desk.work / "a").open("r+b") as file, mmap.mmap(file.fileno(), 500) as mapped:
        mapped[:1] = b"2"  # its page is not written back yet, so that the next one changes no time
        while time.time_ns() - (desk.work / "a").stat().st_mtime_ns < 50_000_000:
            pass
        first = desk.store.save_tree(desk.about("a turn"))
        mapped[:1] = b"3"
        second = desk.store.save_tree(desk.about("a turn"))
    assert first.tree != second.tree


def test_what_was_moved_aside_stays_when_that_is_done_again(desk: Desk) -> None:
    become(desk.work, {"a": (b"1", 0o644)})
    begun = desk.store.save_tree(desk.about("a turn"))
    (desk.work / "a").unlink()
    (desk.work / "a" / "node_modules").mkdir(parents=True)
    (desk.work / "a" / "new").write_bytes(b"n")
    start = desk.store.end_tree(begun, float(desk.clock))
    about = replace(desk.about("/rollback"), id="0123456789ab")
    ((_, name),) = roll_back(desk.store, start, about, force=False).aside
    assert (name, desk.back(start).plan.changed) == ("a.aside-01234567", (name, f"{name}/new"))
    assert there(desk.work) == {
        "a": (b"1", 0o644),
        name: "folder",
        f"{name}/new": (b"n", 0o644),
        f"{name}/node_modules": "folder",
    }


def test_a_folder_that_nothing_may_be_written_in_is_opened_for_the_time_that_it_takes(desk: Desk) -> None:
    become(desk.work, {"ro": {"changed": (b"1", 0o444), "gone": (b"1", 0o444)}})
    (desk.work / "ro").chmod(0o555)
    begun = desk.store.save_tree(desk.about("a turn"))
    (desk.work / "ro").chmod(0o755)
    become(desk.work, {"ro": {"changed": (b"2", 0o444), "new": (b"2", 0o444)}})
    (desk.work / "ro").chmod(0o555)
    start = desk.store.end_tree(begun, float(desk.clock))
    done = desk.back(start)
    mode = (desk.work / "ro").stat().st_mode & 0o777
    assert (done.written, done.removed, done.failed, mode) == (
        ("ro/changed", "ro/gone"),
        ("ro/new",),
        (),
        0o555,
    )


def test_a_workspace_that_a_turn_removed_comes_back(desk: Desk) -> None:
    first = {"a": {"x": (b"1", 0o600)}, "b": "a"}
    become(desk.work, first)
    begun = desk.store.save_tree(desk.about("a turn"))
    shutil.rmtree(desk.work)
    done = desk.back(desk.store.end_tree(begun, float(desk.clock)))
    assert (there(desk.work), done.failed) == (flat(first), ())
