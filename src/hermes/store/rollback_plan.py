"""What going back to a snapshot takes, and what of it somebody else has changed since."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.lib.trees import HALF_WRITTEN, MOVED_ASIDE, aside_name
from hermes.store.checkpoints import Checkpoint, CheckpointStore
from hermes.store.rebuilt import IGNORED, OF_GIT
from hermes.store.snapshot import HIDDEN, Entry, Tree

_NOTHING: Final = Entry("folder", 0)
_STAYS: Final = frozenset({OF_GIT.encode(), HIDDEN.encode()})
_HALF_WRITTEN: Final = re.compile(HALF_WRITTEN)
_MOVED_ASIDE: Final = re.compile(MOVED_ASIDE, re.DOTALL)


class RollbackPlan(Struct, frozen=True, kw_only=True):
    """What going back takes, as paths in the workspace: to `write`, to `remove`, and to move `aside`, because
    what is there now cannot be saved and is in the place of something to write; `back` is what has made way
    after the checkpoint and gets its name again, each with the one that it has now. Only what the steps since
    then have changed is told of, unless paths were named. Left as they are: what of that
    was `changed` by others since, and what was not saved then or could not be now (`unsaved`). Of what was
    `changed` it is not known who did it where that is `unknown`: it changed in a turn that was cut off, or
    after that.
    Of what goes back it is `doubtful` who changed it where that was between turns, while children worked.
    """

    write: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    back: tuple[tuple[str, str], ...] = ()
    changed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unsaved: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()


class _TakenStep(Struct, frozen=True):
    """What a step has changed, or may have where that is not known; what is known to have been there at its
    end, and at the beginning of the next. It is `cut` where it has no known end, which its beginning stands
    for then, or where what came next cannot be read.
    """

    changed: frozenset[str]
    end: Tree
    next: Tree
    cut: bool

    def changed_after(self) -> set[str]:
        """What has changed since, before the next step."""
        return set(_differences(self.end, self.next))


def plan(
    store: CheckpointStore,
    start: Checkpoint,
    now: Tree,
    *,
    force: bool = False,
    paths: Sequence[str] = (),
    besides: str = "",
) -> RollbackPlan:
    """What going back to a checkpoint takes from what is there `now`: of what the steps since have changed,
    or of all that is at or below `paths`. The checkpoint with the id `besides`
    counts for no step on the way. StoreError where the checkpoint's own tree cannot be read.
    """
    made = [one for one in steps(store, start) if one.id != besides]
    before = store.snapshots.tree(bytes.fromhex(start.tree))
    taken = list(_taken(store, made, before, now))
    others = set[str]() if force else _by_others(taken, now)
    ours = before.keys() | now.keys() if paths else _concerned(taken, before, now)
    differ = {path for path in _differences(before, now) if path in ours and _is_chosen(path, paths)}
    back = [
        (path, name)
        for path, name in _moved(start.id, before, now)
        if _is_chosen(path, paths) and _can_go(path, now, others)
    ]
    differ -= {path for path in differ if any(is_within(path, one) for pair in back for one in pair)}
    differ -= {path for path in differ if _is_out(before, path) and _is_out(now, path)}
    unsaved = set(_unsaved(differ, before, now))
    inside = {path for path in differ if not unsaved.isdisjoint((path, *_above(path)))}
    changed = (differ & others) - inside
    free = differ - inside - changed
    remove = {path for path in free if path not in before} - _shared(now.keys() - ours)
    free = {path for path in free if path in before} | remove
    left = inside | changed
    aside = _in_the_way(free - remove, left, before, now)
    blocked = set(_blocked(free - remove, left - aside, before, now, remove, aside))
    write = free - remove - blocked
    return RollbackPlan(
        write=tuple(sorted(write)),
        remove=tuple(sorted(path for path in remove if aside.isdisjoint(_above(path)))),
        aside=tuple(sorted(path for path in aside - blocked if aside.isdisjoint(_above(path)))),
        back=tuple(back),
        changed=tuple(sorted(changed | blocked)),
        unknown=tuple(sorted(changed - _by_others([one for one in taken if not one.cut], now))),
        unsaved=tuple(sorted(path for path in unsaved if aside.isdisjoint(_above(path)))),
        doubtful=tuple(sorted((write | remove) & _between_turns(store, made))),
    )


def steps(store: CheckpointStore, start: Checkpoint) -> list[Checkpoint]:
    """The checkpoints of a session in a workspace from one on, in order."""
    later = (one for one in reversed(store.newest()) if one.tree and (one.at, one.id) > (start.at, start.id))
    mine = (one for one in later if (one.session, one.workspace) == (start.session, start.workspace))
    return [start, *mine]


def _by_others(taken: Iterable[_TakenStep], now: Tree) -> set[str]:
    """The paths that changed after these steps, or that an earlier going back has moved aside."""
    found = {path for one in taken for path in one.changed_after()}
    mine = {path for path in found if _HALF_WRITTEN.fullmatch(PurePosixPath(path).name)}
    return (found | _moved_aside(now)) - mine


def _between_turns(store: CheckpointStore, made: Sequence[Checkpoint]) -> set[str]:
    """The paths that changed after a turn, while children of it worked."""
    return {
        path
        for one in _sound(store, made)
        if one.between and one.after
        for path in _differences(
            *(store.snapshots.tree(bytes.fromhex(name)) for name in (one.tree, one.after))
        )
    }


def _concerned(taken: Iterable[_TakenStep], before: Tree, now: Tree) -> set[str]:
    """The paths that these steps have changed, the folders that were around those which come back and are
    gone, and what is now in a folder that has taken the place of such a file.
    """
    changed = {path for one in taken for path in one.changed}
    above = {one for path in changed & before.keys() for one in _above(path) if one in before}
    gone = {path for path in above if path not in now or now[path].kind != "folder"}
    filled = {path for path in changed if path in now and now[path].kind == "folder"}
    filled = {path for path in filled & before.keys() if before[path].kind != "folder"}
    return changed | gone | {path for path in now if filled and not filled.isdisjoint(_above(path))}


def _shared(others: Iterable[str]) -> set[str]:
    """The folders that hold something that no step has changed."""
    return {above for path in others for above in _above(path)}


def _taken(
    store: CheckpointStore, made: Sequence[Checkpoint], before: Tree, now: Tree
) -> Iterator[_TakenStep]:
    """The steps with what was there around them; in one that was cut off nobody knows who changed what."""
    known = before
    lost = {one.id for one, later in pairwise(made) if not store.snapshots.holds(later.tree)}
    made = list(_sound(store, made))
    for number, one in enumerate(made):
        begin = saved = store.snapshots.tree(bytes.fromhex(one.tree))
        if one.after:
            saved = store.snapshots.tree(bytes.fromhex(one.after))
            known = _known(known, saved)
        end, later = known, made[number + 1].tree if number + 1 < len(made) else ""
        if not later or later != one.after:
            known = _known(known, store.snapshots.tree(bytes.fromhex(later)) if later else now)
        cut = not one.after or one.id in lost
        yield _TakenStep(frozenset(_differences(begin, known if cut else saved)), end, known, cut)


def _moved_aside(now: Tree) -> set[str]:
    """What an earlier going back has moved aside, with what is in it."""
    return {path for path in now if any(map(_MOVED_ASIDE.fullmatch, PurePosixPath(path).parts))}


def _moved(token: str, before: Tree, now: Tree) -> Iterator[tuple[str, str]]:
    """What has made way for a going back with this token and is still there: its path, and the one it has
    now.
    """
    if not _moved_aside(now):
        return
    outs = {path for path in before if _is_out(before, path)}
    for path in sorted(outs | {above for one in outs for above in _above(one)}):
        place = PurePosixPath(path)
        name = str(place.with_name(aside_name(place.name, token)))
        if name in now:
            yield path, name


def _can_go(top: str, now: Tree, others: set[str]) -> bool:
    """Whether all that is at a path, or below, is saved and of nobody else."""
    return not any(is_within(path, top) and (path in others or _is_out(now, path)) for path in now)


def is_within(path: str, top: str) -> bool:
    """Whether one path is another one, or lies below it."""
    return path == top or path.startswith(f"{top}/")


def _sound(store: CheckpointStore, made: Sequence[Checkpoint]) -> Iterator[Checkpoint]:
    """The steps whose trees can be read; one without its end counts as cut off."""
    for number, one in enumerate(made):
        if number == 0 or store.snapshots.holds(one.tree):
            yield one if store.snapshots.holds(one.after) else replace(one, after="")


def _known(old: Tree, new: Tree) -> Tree:
    """A tree, with what an older one has of what it left out: nobody is known to have changed that."""
    hidden = {path for path, one in new.items() if one.kind == "out"}
    ignored = {path for path in hidden if new[path].content == IGNORED.encode() and path in old}
    below = {path for path in old.keys() - new.keys() if not hidden.isdisjoint(_above(path))}
    return {**new, **{path: old[path] for path in ignored | below}} if ignored or below else new


def _unsaved(differ: Iterable[str], before: Tree, now: Tree) -> Iterator[str]:
    """The outermost paths that one of two trees has not saved, but for those that can make way for what the
    other one has there.
    """
    outs = {path for path, one in before.items() if one.kind == "out"}
    outs |= {path for path, one in now.items() if one.kind == "out" and not _can_make_way(path, before, now)}
    for path in differ:
        yield from (one for one in (path, *_above(path)) if one in outs)


def _is_out(tree: Tree, path: str) -> bool:
    return tree.get(path, _NOTHING).kind == "out"


def _can_make_way(path: str, before: Tree, now: Tree) -> bool:
    """Whether something that cannot be saved is in the place of something that was."""
    return path in before and before[path].kind != "out" and now[path].content not in _STAYS


def _differences(some: Tree, others: Tree) -> Iterator[str]:
    return (path for path in some.keys() | others.keys() if some.get(path) != others.get(path))


def _in_the_way(write: set[str], left: set[str], before: Tree, now: Tree) -> set[str]:
    """What is to make way for something to write: what cannot be saved, alone or in a folder that has taken
    the place of a file.
    """
    outs = {path for path in write if _is_out(now, path)}
    filled = {above for path in left if _is_out(now, path) for above in _above(path)}
    kept = {above for path in left if not _can_move(path, now) for above in _above(path)}
    return outs | {path for path in write & filled - kept if before[path].kind != "folder"}


def _can_move(path: str, now: Tree) -> bool:
    """Whether something that cannot be saved may get another name: what is hidden is hidden by its name."""
    return _is_out(now, path) and now[path].content != HIDDEN.encode()


def _blocked(
    write: set[str], left: set[str], before: Tree, now: Tree, remove: set[str], aside: set[str]
) -> Iterator[str]:
    """What cannot be written because something that stays is in its place."""
    stays = (path for path in now.keys() - remove if aside.isdisjoint((path, *_above(path))))
    filled = {above for path in stays for above in _above(path)}
    in_the_way = {path for path in left if path in now and now[path].kind != "folder"}
    for path in write:
        is_filled = before[path].kind != "folder" and path in filled
        if is_filled or not in_the_way.isdisjoint(_above(path)):
            yield path


def _above(path: str) -> Iterator[str]:
    """The folders that a path lies in, but for the workspace."""
    return map(str, list(PurePosixPath(path).parents)[:-1])


def _is_chosen(path: str, paths: Sequence[str]) -> bool:
    return not paths or any(one == "." or is_within(path, one) for one in paths)
