"""Bring a workspace back to a snapshot, and leave alone what others have changed since."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.lib.trees import TooLarge, put_back, take_away
from hermes.lib.visible import visible
from hermes.store.checkpoints import Checkpoint, CheckpointStore
from hermes.store.snapshot import Entry, Tree
from hermes.store.tree_diff import tree_diff
from hermes.types.error import StoreError

_NOTHING: Final = Entry("folder", 0)


class RollbackPlan(Struct, frozen=True, kw_only=True):
    """What going back takes, as paths in the workspace: to `write` and to `remove`. Left as they are: what
    was `changed` by others since, and what was not `saved` then or could not be now.
    """

    write: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unsaved: tuple[str, ...] = ()


class RolledBack(Struct, frozen=True, kw_only=True):
    """What was done of a plan. `undo` is the checkpoint of what was there before, `kept_back` are files that
    would run something and were not written.
    """

    plan: RollbackPlan
    undo: Checkpoint
    kept_back: tuple[str, ...] = ()


def roll_back(
    store: CheckpointStore, start: Checkpoint, about: Checkpoint, *, force: bool, paths: Sequence[str] = ()
) -> RolledBack:
    """Bring the workspace back to a checkpoint of a turn, or what is at or below these paths of it.

    What is there now is saved first, as `about` says. With `force` that is enough for what others have
    changed to go as well. StoreError where it cannot be saved, or a place cannot be written.
    """
    try:
        undo = store.save_tree(replace(about, restores=start.id))
    except TooLarge as error:
        raise StoreError("What is there now is too large to be saved first; move some of it away.") from error
    except OSError as error:
        raise StoreError(f"What is there now cannot be saved first: {error.strerror}.") from error
    found = plan(store, start, bytes.fromhex(undo.tree), force=force, paths=paths, besides=undo.id)
    try:
        kept_back = _carried_out(store, start, found, undo.id)
    except OSError as error:
        name = visible(str(error.filename or ""))
        raise StoreError(
            f"Not all is as it was: {name}: {error.strerror}. What was there is in checkpoint {undo.id}."
        ) from error
    with suppress(TooLarge, OSError):
        undo = store.end_tree(undo, about.at)
    return RolledBack(plan=found, undo=undo, kept_back=kept_back)


def plan(
    store: CheckpointStore,
    start: Checkpoint,
    now: bytes,
    *,
    force: bool = False,
    paths: Sequence[str] = (),
    besides: str = "",
) -> RollbackPlan:
    """What going back to a checkpoint takes from what is there `now`, a digest of a tree. The checkpoint with
    the id `besides` counts for no step on the way.
    """
    made = [one for one in steps(store, start) if one.id != besides]
    before, current = store.snapshots.tree(bytes.fromhex(start.tree)), store.snapshots.tree(now)
    differ = {path for path in _differences(before, current) if _is_chosen(path, paths)}
    unsaved = set(_unsaved(differ, before, current))
    inside = {path for path in differ if not unsaved.isdisjoint((path, *_above(path)))}
    changed = set() if force else (differ & _by_others(store, made, now)) - inside
    free = differ - inside - changed
    remove = {path for path in free if path not in before}
    blocked = set(_blocked(free - remove, inside | changed, before, current, remove))
    return RollbackPlan(
        write=tuple(sorted(free - remove - blocked)),
        remove=tuple(sorted(remove)),
        changed=tuple(sorted(changed | blocked)),
        unsaved=tuple(sorted(unsaved)),
    )


def changed_since(store: CheckpointStore, start: Checkpoint) -> Iterator[str]:
    """The lines of a diff from a checkpoint of a turn to what is there now; TooLarge, OSError and StoreError
    where that cannot be had.
    """
    snapshots = store.snapshots
    with snapshots.used():
        now = snapshots.take(start.workspace).tree
        yield from tree_diff(snapshots.tree(bytes.fromhex(start.tree)), now, snapshots.bytes_of)


def steps(store: CheckpointStore, start: Checkpoint) -> list[Checkpoint]:
    """The checkpoints of a session in a workspace from one on, in order."""
    later = (one for one in reversed(store.newest()) if one.tree and (one.at, one.id) > (start.at, start.id))
    mine = (one for one in later if (one.session, one.workspace) == (start.session, start.workspace))
    return [start, *mine]


def _by_others(store: CheckpointStore, made: Sequence[Checkpoint], now: bytes) -> set[str]:
    """The paths that changed between the end of a turn and the beginning of the next, or now; in a turn that
    was cut off nobody knows who changed what.
    """
    begins = [*(one.tree for one in made[1:]), now.hex()]
    gaps = zip((one.after or one.tree for one in made), begins, strict=True)
    tree = store.snapshots.tree
    return {
        path
        for old, new in gaps
        if old != new
        for path in _differences(tree(bytes.fromhex(old)), tree(bytes.fromhex(new)))
    }


def _unsaved(differ: Iterable[str], before: Tree, current: Tree) -> Iterator[str]:
    """The outermost paths that one of two trees has not saved and the other one has, or does not know."""
    outs = {path for tree in (before, current) for path, one in tree.items() if one.kind == "out"}
    for path in differ:
        if not (_is_out(before, path) and _is_out(current, path)):
            yield from (one for one in (path, *_above(path)) if one in outs)


def _is_out(tree: Tree, path: str) -> bool:
    return tree.get(path, _NOTHING).kind == "out"


def _differences(some: Tree, others: Tree) -> Iterator[str]:
    return (path for path in some.keys() | others.keys() if some.get(path) != others.get(path))


def _blocked(write: set[str], left: set[str], before: Tree, current: Tree, remove: set[str]) -> Iterator[str]:
    """What cannot be written because something that stays is in its place."""
    filled = {above for path in current.keys() - remove for above in _above(path)}
    in_the_way = {path for path in left if path in current and current[path].kind != "folder"}
    for path in write:
        is_filled = before[path].kind != "folder" and path in filled
        if is_filled or not in_the_way.isdisjoint(_above(path)):
            yield path


def _above(path: str) -> Iterator[str]:
    """The folders that a path lies in, but for the workspace."""
    return map(str, list(PurePosixPath(path).parents)[:-1])


def _is_chosen(path: str, paths: Sequence[str]) -> bool:
    return not paths or any(one in {path, "."} or path.startswith(f"{one}/") for one in paths)


def _carried_out(
    store: CheckpointStore, start: Checkpoint, found: RollbackPlan, token: str
) -> tuple[str, ...]:
    """Do what a plan says; the paths that were kept back."""
    root, beside = Path(start.workspace), store.beside(f"{token}.back")
    kept_back: list[str] = []
    try:
        store.snapshots.unpack(store.snapshots.tree(bytes.fromhex(start.tree)), found.write, beside)
        refuses = store.guarded.refuses(root, beside)
        for path in sorted(found.remove, reverse=True):
            if store.guarded.starts(str(root / path)):
                kept_back.append(str(root / path))
            else:
                take_away(root / path)
        chosen = set(found.write)
        for path in found.write:
            if chosen.isdisjoint(_above(path)):
                kept_back += put_back(beside / path, root / path, refuses)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return tuple(kept_back)
