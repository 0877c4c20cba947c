"""What the commands of a turn change in its workspace, told from one look at it to the next."""

from collections.abc import Callable
from contextlib import suppress

from hermes.lib.trees import TooLarge
from hermes.store.change_text import change_text
from hermes.store.snapshots import SnapshotStore
from hermes.store.tree_watch import TreeWatch
from hermes.types.action import Action, Command, FileAccess

Redact = Callable[[str, str], str]


class CallChanges:
    """Belongs to one saved beginning of a turn, whose snapshot is the store's last one of the workspace when
    this is made. Its methods are called one after the other, and may take a walk through the workspace.
    """

    def __init__(self, snapshots: SnapshotStore, workspace: str) -> None:
        self._snapshots, self._top = snapshots, workspace.rstrip("/") + "/"
        self._watch: TreeWatch | None = snapshots.watch(workspace)
        self._written: set[str] = set()
        self._since: dict[str, int] = {}

    def expect(self, call: str, action: Action) -> None:
        """A call is about to do something that may change files."""
        match action:
            case FileAccess(path=path) if path.startswith(self._top):
                self._written.add(path[len(self._top) :])
            case Command() if self._watch is not None and call not in self._since:
                self._take_in_written(self._watch)
                self._since[call] = self._snapshots.now()
            case _:
                pass

    def diff(self, call: str, redact: Redact) -> str:
        """What has changed since the commands of a call began, as a diff; "" where none did, or it is not
        known. What has been told for one call is not told for another.
        """
        since = self._since.pop(call, None)
        if since is None or self._watch is None:
            return ""
        with suppress(TooLarge, OSError):
            before, after = self._watch.changes(self._snapshots.now(), since)
            return change_text(before, after, self._watch.bytes_of, redact)
        self._watch = None
        return ""

    def _take_in_written(self, watch: TreeWatch) -> None:
        """What file tools have written is theirs, not the next command's."""
        for path in self._written:
            watch.take_in(path)
        self._written.clear()
