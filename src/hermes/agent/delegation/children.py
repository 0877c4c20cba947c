"""The children of one session: opened for a call, run side by side as far as the settings let them, cancelled
and listed.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from hermes.agent.delegation.child_run import ChildRun
from hermes.agent.delegation.narrowing import child_options
from hermes.agent.delegation.news import news_of
from hermes.agent.ledger import TurnLimits
from hermes.lib.aio import collect
from hermes.types.delegation import ChildReport, ChildTask
from hermes.types.error import HermesError

if TYPE_CHECKING:
    from hermes.agent.session import Session

PAUSED: Final = "The user has paused new children: do the work here, or tell them what waits."
CLOSED: Final = "The session that started it was closed."
CLOSING: Final = 5.0
"""Seconds that the last words of children may take when their session is closed."""


class Children:
    """The children of a session that have not reported yet; while it is `paused` there are no new ones."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._places = anyio.Semaphore(session.services.delegation.max_concurrent_children)
        self.living: tuple[ChildRun, ...] = ()
        self.paused = False

    async def open(self, tasks: Sequence[ChildTask], call_id: str) -> tuple[ChildRun, ...]:
        """The children that a turn waits for, within what is left of it; HermesError where there may be
        none.
        """
        return await self._opened(tasks, call_id, self._session.limits)

    async def finish(self, runs: Sequence[ChildRun]) -> tuple[ChildReport, ...]:
        """Let children run, and give their reports in order; cancellation stops all of them."""
        try:
            await collect([partial(one.run, self._places) for one in runs], limit=len(runs))
        finally:
            self._forget(runs)
        return tuple(one.report for one in runs if one.report is not None)

    async def start(self, tasks: Sequence[ChildTask], call_id: str) -> tuple[ChildRun, ...]:
        """Children that go on after the turn; each reports with the next message after its end."""
        runs = await self._opened(tasks, call_id, TurnLimits(budget=self._session.budget))
        for one in runs:
            one.background = True
            self._session.services.routes.spawn(partial(self._run_beside, one))
        return runs

    async def close(self) -> None:
        """Cancel those that go on, and wait for their last words."""
        for one in self.living:
            one.cancel(CLOSED)
        with anyio.move_on_after(CLOSING, shield=True):
            for one in self.living:
                await one.wait()

    @property
    def are_paused(self) -> bool:
        """Whether a person wants no new ones, here or further up."""
        above = self._session.above
        return self.paused or (above is not None and above.children.are_paused)

    def tree(self, number: str = "") -> Iterator[tuple[str, ChildRun]]:
        """All living children, each before its own, with numbers such as 2.1."""
        for place, one in enumerate(self.living, 1):
            here = f"{number}{place}"
            yield here, one
            if one.session is not None:
                yield from one.session.children.tree(f"{here}.")

    async def _opened(
        self, tasks: Sequence[ChildTask], call_id: str, limits: TurnLimits
    ) -> tuple[ChildRun, ...]:
        if self.are_paused:
            raise HermesError(PAUSED)
        session = self._session
        runs = [ChildRun(session, task, child_options(session, task), call_id) for task in tasks]
        self.living = (*self.living, *runs)
        try:
            for one in runs:
                await one.open(limits)
        except BaseException:
            with anyio.CancelScope(shield=True):
                for one in runs:
                    await one.close()
            self._forget(runs)
            raise
        return tuple(runs)

    async def _run_beside(self, run: ChildRun) -> None:
        try:
            await run.run(self._places)
        finally:
            self._forget([run])
            if run.report is not None:
                self._session.mailbox.add_news(news_of(run.report, self._session.services.redactor))

    def _forget(self, runs: Sequence[ChildRun]) -> None:
        self.living = tuple(one for one in self.living if one not in runs)
