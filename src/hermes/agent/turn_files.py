"""The files of a session's workspace as its turns found and left them."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
import anyio.to_thread
from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.call_changes import CallChanges, Redact
from hermes.agent.questions import current_call
from hermes.lib.trees import TooLarge
from hermes.lib.visible import visible
from hermes.store.checkpoints import Checkpoint, CheckpointStore
from hermes.store.rollback import RolledBack, changed_since, roll_back
from hermes.store.rollback_plan import RollbackPlan, plan
from hermes.types.action import Action, Command
from hermes.types.error import HermesError, StoreError
from hermes.types.event import Notice
from hermes.types.message import User
from hermes.types.ports import Ports

if TYPE_CHECKING:
    from hermes.agent.session import Session

TOO_LARGE: Final = "it has more than checkpoints.max_megabytes, or more than 50,000 files"
NOT_SAVED: Final = (
    "The workspace is not saved before turns: {}. What they do to files cannot be taken back here."
)
BUSY: Final = "A turn is running; stop it first (Esc, or /stop)."
ELSEWHERE: Final = (
    "Turn {turn} was taken in the session {session}: `/rollback {turn}` there (`/resume {session}`) brings"
    " its files back, or `hermes checkpoints restore {checkpoint}`."
)
GONE: Final = (
    "What was there before turn {} is no longer saved: room was made for newer turns (checkpoints.keep_days,"
    " keep_megabytes, max_turns)."
)
_TITLE: Final = 60
T = TypeVar("T")


class NothingChanged(HermesError):
    """No file is known to have changed since before a turn."""


Expect = Callable[[CallChanges | None], object]


def _nothing(_changes: CallChanges | None) -> None:
    return None


class SavedTurn(Struct, frozen=True):
    """A turn that may have changed files: its number, the beginning of what was said, and the id of the
    session in which it was taken, which is another one for what a branch began with.
    """

    number: int
    words: str
    session: str


class TurnFiles:
    """Saves the workspace of one session before a turn first changes it and after that turn, and brings it
    back. What its children change, at whatever depth, is saved with the turn of this session.

    Commands have `temp` as their `/tmp`. A child in the background may go on after its turn: what it changes
    then belongs to the turn that runs, or else to the last one, whose end is noted once more when the child
    has ended.
    """

    def __init__(self, store: CheckpointStore, ports: Ports, workspace: Path, temp: Path) -> None:
        self._store, self._ports, self._workspace, self._temp = store, ports, str(workspace), temp
        self._session: Session | None = None
        self._lock = anyio.Lock()
        self._begun: Checkpoint | None = None
        self._changing: set[str] = set()  # children that have changed files, and may go on
        self._given_up = False
        self._calls: set[str] = set()  # that may have changed files
        self._watched: tuple[str, CallChanges] | None = None

    def attach(self, session: "Session") -> None:
        """Belong to a session."""
        self._session = session

    async def save_before(self, action: Action) -> None:
        """Save the workspace, once in a turn of the session at the top of the family. Where that cannot be,
        the user is told, once in a session. What the action changes belongs to the call that it is part of.
        """
        if self._session is not None:
            top, child = _family(self._session)
            call = current_call()
            if isinstance(action, Command):
                self._calls.add(call)
            await top.home.run(partial(_save_family, top, child, partial(_expect, call, action)))

    async def changed_by(self, call: str, redact: Redact) -> str:
        """What the commands of a call have changed in the workspace, as a diff of redacted texts; "" where
        that is not known.
        """
        if self._session is None or call not in self._calls:
            return ""
        self._calls.discard(call)
        top, _ = _family(self._session)
        return await top.home.run(partial(_changed_by, top, call, redact))

    async def begin(self, child: str, expect: Expect = _nothing) -> None:
        """Save the workspace, once in the turn that runs, or for a child that goes on after the last one;
        `expect` tells what is about to change it.
        """
        session, users = self._session, self._users()
        if session is None or self._given_up or not users or not (session.busy or child):
            return
        async with self._lock:
            if child:
                self._changing.add(child)
            if self._begun is None or self._begun.message != users[-1].id:
                await self._note_end()
                about = self._about(users[-1].id, " ".join(users[-1].text.split())[:_TITLE])
                about = replace(about, between=not session.busy)
                self._begun = await self._tried(partial(self._store.save_tree, about))
            await anyio.to_thread.run_sync(expect, self._changes(), abandon_on_cancel=True)

    async def diff_of(self, call: str, redact: Redact) -> str:
        """As `changed_by`, for calls of all of the family."""
        async with self._lock:
            changes = self._changes()
            return await anyio.to_thread.run_sync(changes.diff, call, redact) if changes else ""

    async def begin_turn(self) -> None:
        """Save the workspace where children of earlier turns go on changing it."""
        if self._is_changing():
            await self.begin("")

    async def save_after(self) -> None:
        """Save what a turn has left, where it was saved before; nothing cuts this short. What children change
        that go on is saved from here on.
        """
        with anyio.CancelScope(shield=True):
            async with self._between():
                pass

    async def save_after_child(self, child: str) -> None:
        """Save what a child has left that went on after its turn; a turn that runs does so at its own end."""
        with anyio.CancelScope(shield=True):
            async with self._lock:
                self._changing.discard(child)
                if self._session is not None and not self._session.busy and not self._changing:
                    await self._note_end()

    async def diff(self, turn: int, *, first: int = 0, most: int) -> list[str]:
        """What has changed since before a turn, as lines of a diff: at most so many from the `first` on."""
        return await self._run(partial(self._diff, turn, first, first + most))

    async def plan(self, turn: int) -> RollbackPlan:
        """What going back to before a turn would do; HermesError where that cannot be."""
        return await self._run(partial(self._plan, turn))

    async def roll_back(self, turn: int, *, force: bool, typed: str = "") -> RolledBack:
        """Bring the files back to before a turn, with what is there now in a checkpoint that is named after
        what was `typed`; HermesError where that cannot be. What others have changed since stays as it is
        without `force`.
        """
        typed = typed or f"/rollback {turn}"
        return await self._run(partial(self._roll_back, turn, typed, force=force))

    async def saved_turns(self) -> list[SavedTurn]:
        """The turns that may have changed files, in order."""
        return await self._run(self._saved_turns)

    async def are_as_before(self, turn: int) -> bool:
        """Whether nothing is left of what a turn and those after it may have written: the files are as they
        were before it, all of them are saved, and the `/tmp` of commands is empty. False where that is not
        known.
        """
        with suppress(HermesError):
            return not self._given_up and await self._run(partial(self._are_as_before, turn))
        return False

    def _are_as_before(self, turn: int) -> bool:
        later = self._users()[turn - 1 :]
        said = {user.id for user in later}
        made = [one for one in self._store.newest() if one.message in said]
        with self._store.snapshots.used():
            if not made:  # then they changed nothing, unless it could not be saved
                self._store.snapshots.take(self._workspace)
                return later[0].at > self._store.removed_until()
            now = self._store.now(made[-1]).tree
            is_back = self._store.snapshots.tree(bytes.fromhex(made[-1].tree)) == now
        is_saved = all(entry.kind != "out" for entry in now.values())
        return is_back and is_saved and not any(path.is_file() for path in self._temp.rglob("*"))

    def _saved_turns(self) -> list[SavedTurn]:
        taken = self._taken()
        return [
            SavedTurn(number, taken[user.id][0].command, taken[user.id][0].session)
            for number, user in enumerate(self._users(), 1)
            if any(one.tree != one.after for one in taken.get(user.id, ()))
        ]

    @asynccontextmanager
    async def _between(self) -> AsyncIterator[None]:
        """Between what was saved last, whose end is noted, and what children change that go on."""
        async with self._lock:
            begun = self._begun
            await self._note_end()
            try:
                yield
            finally:
                if begun is not None and self._is_changing():
                    self._begun = await self._tried(partial(self._store.save_tree, self._again(begun)))

    async def _note_end(self) -> None:
        """Note what is there now as the end of what was saved last."""
        begun, self._begun = self._begun, None
        if begun is not None:
            await self._tried(partial(self._store.end_tree, begun, self._ports.now()))

    def _changes(self) -> CallChanges | None:
        """What tells the changes of calls apart, from what was saved last on."""
        if self._begun is None:
            self._watched = None
        elif self._watched is None or self._watched[0] != self._begun.id:
            self._watched = self._begun.id, CallChanges(self._store.snapshots, self._workspace)
        return self._watched[1] if self._watched else None

    def _is_changing(self) -> bool:
        """Whether children that have changed files go on."""
        living = self._session.children.living if self._session else ()
        self._changing &= {one.session.id for one in living if one.session is not None}
        return bool(self._changing)

    def _again(self, begun: Checkpoint) -> Checkpoint:
        return replace(self._about(begun.message, ""), command=begun.command, between=True)

    async def _tried(self, work: Callable[[], Checkpoint]) -> Checkpoint | None:
        """What was saved. A turn that is stopped meanwhile does not wait for it."""
        try:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except TooLarge:
            why = TOO_LARGE
        except OSError as error:
            why = f"{visible(str(error.filename or self._workspace))}: {error.strerror}"
        except StoreError as error:
            why = str(error).rstrip(".")
        self._given_up = True
        if self._session is not None:
            self._session.emit(Notice(level="warning", text=NOT_SAVED.format(why)))
        return None

    async def _run(self, work: Callable[[], T]) -> T:
        if self._session is not None and self._session.busy:
            raise HermesError(BUSY)
        async with self._between():
            try:
                return await anyio.to_thread.run_sync(work)
            except TooLarge as error:
                raise HermesError(f"The workspace cannot be saved now: {TOO_LARGE}.") from error
            except OSError as error:
                raise HermesError(f"The workspace cannot be read: {error.strerror}.") from error

    def _diff(self, turn: int, first: int, end: int) -> list[str]:
        session = self._session
        redact = session.services.redactor.redact_file if session else _as_it_is
        return list(islice(changed_since(self._store, self._start(turn), redact), first, end))

    def _roll_back(self, turn: int, typed: str, *, force: bool) -> RolledBack:
        return roll_back(self._store, self._own_start(turn), self._about("", typed), force=force)

    def _plan(self, turn: int) -> RollbackPlan:
        start = self._own_start(turn)
        with self._store.snapshots.used():
            return plan(self._store, start, self._store.now(start).tree)

    def _own_start(self, turn: int) -> Checkpoint:
        """As `_start`; HermesError where that is of another session, whose turns are not this one's to tell
        from what others have changed.
        """
        start = self._start(turn)
        if start.session != self._id:
            raise HermesError(ELSEWHERE.format(turn=turn, session=start.session, checkpoint=start.id))
        return start

    def _start(self, turn: int) -> Checkpoint:
        """The checkpoint that has the files as they were before a turn: its own, or that of the first later
        turn that changed any.
        """
        users = self._users()
        if not 1 <= turn <= len(users):
            raise HermesError(f"There is no turn {turn}; this session has {len(users)}.")
        taken, asked = self._taken(), users[turn - 1]
        if asked.id not in taken and asked.at <= self._store.removed_until():
            raise HermesError(GONE.format(turn))
        found = next((taken[user.id] for user in users[turn - 1 :] if user.id in taken), None)
        if found is None:
            raise NothingChanged(f"No file is known to have changed since before turn {turn}.")
        return found[0]

    def _taken(self) -> dict[str, list[Checkpoint]]:
        """The checkpoints of turns by the id of what was said, the oldest first: one that was cut off and
        went on has several, and one that a branch began with has those of the session that it was taken in.
        """
        found: dict[str, list[Checkpoint]] = {}
        for one in reversed(self._store.newest()):
            inherited = one.workspace == self._workspace and one.tree != one.after
            if one.message and (one.session == self._id or inherited):
                found.setdefault(one.message, []).append(one)
        return found

    @property
    def _id(self) -> str:
        return self._session.id if self._session else ""

    def _users(self) -> list[User]:
        log = self._session.log if self._session else ()
        return [one for one in log if isinstance(one, User) and one.begins_turn]

    def _about(self, message: str, words: str) -> Checkpoint:
        return Checkpoint(
            id=self._ports.token(),
            at=self._ports.now(),
            command=visible(words),
            cwd=self._workspace,
            session=self._id,
            workspace=self._workspace,
            paths=(self._workspace,),
            message=message,
        )


def _family(session: "Session") -> tuple["Session", str]:
    """The session at the top, and the id of its child that this one is or belongs to; "" for the top."""
    child = ""
    while session.above is not None:
        child, session = session.id, session.above
    return session, child


async def _save_family(top: "Session", child: str, expect: Expect) -> None:
    files = top.environment.turn_files
    if files is not None:
        await files.begin(child, expect)


def _as_it_is(_path: str, text: str) -> str:
    return text


async def _changed_by(top: "Session", call: str, redact: Redact) -> str:
    files = top.environment.turn_files
    return "" if files is None else await files.diff_of(call, redact)


def _expect(call: str, action: Action, changes: CallChanges | None) -> None:
    if changes is not None:
        changes.expect(call, action)
