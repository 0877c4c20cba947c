"""Bring a workspace back to a snapshot, and leave alone what others have changed since."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from hermes.lib.trees import TooLarge
from hermes.store.checkpoints import Checkpoint, CheckpointStore
from hermes.store.restoration import Restoration
from hermes.store.rollback_plan import RollbackPlan, plan
from hermes.store.tree_diff import tree_diff
from hermes.types.error import StoreError


class RolledBack(Struct, frozen=True, kw_only=True):
    """What was done of a plan. `undo` is the checkpoint of what was there before, `kept_back` are files that
    would run something and were not written, `aside` the paths that made way with their new names, `back`
    those that had made way and have their names again, with the ones that they had, `failed` those that are
    not as they were, with why; `written` and `removed` are as they were.
    """

    plan: RollbackPlan
    undo: Checkpoint
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept_back: tuple[str, ...] = ()
    aside: tuple[tuple[str, str], ...] = ()
    back: tuple[tuple[str, str], ...] = ()
    failed: tuple[tuple[str, str], ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether all stayed as it is."""
        return not (self.written or self.removed or self.aside or self.back)

    @property
    def is_whole(self) -> bool:
        """Whether all that was saved is as it was, and nothing stayed that came later."""
        return not (self.plan.changed or self.plan.unsaved or self.kept_back or self.failed)


def roll_back(
    store: CheckpointStore, start: Checkpoint, about: Checkpoint, *, force: bool, paths: Sequence[str] = ()
) -> RolledBack:
    """Bring the workspace back to a checkpoint of a turn, or what is at or below these paths of it.

    What is there now is saved first, as `about` says. With `force` that is enough for what others have
    changed to go as well. What cannot be brought back does not stop the rest, and a second time tries it
    again. StoreError where nothing can be saved or the checkpoint's own tree cannot be read.
    """
    try:
        undo = store.save_since(replace(about, restores=start.id), start)
    except TooLarge as error:
        raise StoreError("What is there now is too large to be saved first; move some of it away.") from error
    except OSError as error:
        raise StoreError(f"What is there now cannot be saved first: {error.strerror}.") from error
    before, now = (store.snapshots.tree(bytes.fromhex(one.tree)) for one in (start, undo))
    found = plan(store, start, now, force=force, paths=paths, besides=undo.id)
    done = Restoration(store, start.workspace, before, now)
    done.carry_out(found, undo.id)
    with suppress(TooLarge, OSError, StoreError):
        undo = store.end_tree(undo, about.at)
    return RolledBack(
        plan=found,
        undo=undo,
        written=tuple(
            path for path in found.write if path not in done.failed and not done.is_kept_back(path)
        ),
        removed=tuple(sorted(done.removed)),
        kept_back=tuple(done.kept_back),
        aside=tuple(done.aside.items()),
        back=tuple(done.back.items()),
        failed=tuple(sorted(done.failed.items())),
    )


def changed_since(
    store: CheckpointStore, start: Checkpoint, redact: Callable[[str, str], str]
) -> Iterator[str]:
    """The lines of a diff from a checkpoint of a turn to what is there now, of texts as `redact` leaves them
    by their path; OSError and StoreError where that
    cannot be had.
    """
    with store.snapshots.used():
        now = store.now(start).tree
        before = store.snapshots.tree(bytes.fromhex(start.tree))
        yield from tree_diff(before, now, store.snapshots.bytes_of, redact)
