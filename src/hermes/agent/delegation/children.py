"""The children of one session: opened for a call, run side by side as far as the settings let them, cancelled
and listed.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from hermes.agent.ledger import TurnLimits
from hermes.lib.aio import collect
from hermes.lib.lazy import import_object
from hermes.types.delegation import ChildTask
from hermes.types.error import HermesError

if TYPE_CHECKING:
    from hermes.agent.delegation.child_run import ChildRun
    from hermes.agent.session import Session
    from hermes.safety.sources import Source

PAUSED: Final = "The user has paused new children: do the work here, or tell them what waits."
CLOSED: Final = "The session that started it was closed."
CLOSING: Final = 5.0
"""Seconds that the last words of children may take when their session is closed."""


class Children:
    """The children of a session that have not reported yet; while it is `paused` there are no new ones.

    Those that have reported `changed` these files. `read_beside` is what those have read from outside that
    work beside the session, its own scripts too: one list for a session, its children and theirs.
    """

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._places = anyio.Semaphore(session.services.delegation.max_concurrent_children)
        self.living: tuple[ChildRun, ...] = ()
        self.changed: tuple[str, ...] = ()
        self.refused: tuple[str, ...] = ()
        self._may_begin = anyio.Event()
        self._may_begin.set()
        self.read_beside: list[Source] = []

    def take(self, tasks: Sequence[ChildTask], call_id: str) -> tuple["ChildRun", ...]:
        """Children for the tasks of a call, none of which runs yet; HermesError where there may be none."""
        if self.are_paused:
            raise HermesError(PAUSED)
        child_run = import_object("hermes.agent.delegation.child_run:ChildRun")
        runs: tuple[ChildRun, ...] = tuple(child_run(self._session, task, call_id) for task in tasks)
        self.living = (*self.living, *runs)
        return runs

    async def finish(self, runs: Sequence["ChildRun"]) -> None:
        """Let children work within what is left of the turn, until each has reported; cancellation stops all
        of them.
        """
        try:
            await self._open(runs, self._session.limits)
            await collect([partial(one.run, self._places) for one in runs], limit=len(runs))
        finally:
            await self._end(runs)

    async def start(self, runs: Sequence["ChildRun"]) -> None:
        """Let children work on after the turn; each reports with the next message after its end."""
        try:
            await self._open(runs, TurnLimits(budget=self._session.budget))
        except BaseException:
            await self._end(runs)
            raise
        for one in runs:
            one.background = True
            self._session.services.routes.spawn(partial(self._run_beside, one))

    async def close(self) -> None:
        """Cancel those that go on, and wait for their last words."""
        for one in self.living:
            one.cancel(CLOSED)
        with anyio.move_on_after(CLOSING, shield=True):
            for one in self.living:
                await one.wait()

    @property
    def paused(self) -> bool:
        """Whether a person wants no new ones here."""
        return not self._may_begin.is_set()

    def take_refused(self) -> tuple[str, ...]:
        """What those that have reported were refused since the last time, as it was shown."""
        taken, self.refused = self.refused, ()
        return taken

    def pause(self) -> None:
        """Let no new ones begin, here or below, those that wait for a place neither."""
        if not self.paused:
            self._may_begin = anyio.Event()

    def resume(self) -> None:
        """Let them begin again."""
        self._may_begin.set()

    async def may_begin(self) -> None:
        """Return once new ones may begin, here and further up."""
        while self.are_paused:
            await self._may_begin.wait()
            if self._session.above is not None:
                await self._session.above.children.may_begin()

    @property
    def are_paused(self) -> bool:
        """Whether a person wants no new ones, here or further up."""
        above = self._session.above
        return self.paused or (above is not None and above.children.are_paused)

    def tree(self, number: str = "") -> Iterator[tuple[str, "ChildRun"]]:
        """All living children, each before its own, with numbers such as 2.1."""
        for place, one in enumerate(self.living, 1):
            if one.report is not None:  # its siblings are still at work
                continue
            here = f"{number}{place}"
            yield here, one
            if one.session is not None:
                yield from one.session.children.tree(f"{here}.")

    async def _open(self, runs: Sequence["ChildRun"], limits: TurnLimits) -> None:
        for one in runs:
            await one.open(limits)

    async def _end(self, runs: Sequence["ChildRun"]) -> None:
        """Have those report that were stopped before they began."""
        with anyio.CancelScope(shield=True):
            for one in runs:
                await one.close()
        self.living = tuple(one for one in self.living if one not in runs)

    async def _run_beside(self, run: "ChildRun") -> None:
        try:
            await run.run(self._places)
        finally:
            await self._save_files(run)
            await self._end([run])
            if run.report is not None:
                news_of = import_object("hermes.agent.delegation.news:news_of")
                self._session.mailbox.add_news(news_of(run.report, self._session.services.redactor))

    async def _save_files(self, run: "ChildRun") -> None:
        """Note what files it has left."""
        opened = self._session.opened
        if run.session is not None and opened is not None and opened.turn_files is not None:
            await opened.turn_files.save_after_child(run.session.id)
