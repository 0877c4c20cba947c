"""Watches over a turn: says what goes on for long, and stops the turn when its time is over."""

import math
from typing import TYPE_CHECKING, Final

import anyio

from hermes.agent.activity import progress
from hermes.types.error import BudgetSpent
from hermes.types.event import Notice

if TYPE_CHECKING:
    from hermes.agent.session import Session

STILL: Final = "Still at it: {}."
TIME_OVER: Final = (
    "The time budget of this turn is spent: {:.0f} s; it was {}. hermes config set budget.turn_seconds raises"
    " it."
)


class TurnWatch:
    """Beside one turn of a session, which `scope` stops, until it is closed.

    Once something has gone on for `long` seconds it is told, then when it has for twice as long, and so on;
    0 tells nothing. What the session does when its time is over is kept in `stopped`.
    """

    def __init__(self, session: "Session", scope: anyio.CancelScope, long: float) -> None:
        self._session, self._turn, self._long = session, scope, long or math.inf
        self._ends = session.limits.ends
        self._scope = anyio.CancelScope()
        self._since, self._due = 0.0, self._long
        self.stopped = ""

    def start(self) -> None:
        """Begin, if there is anything to watch for."""
        if min(self._long, self._ends) < math.inf:
            self._session.services.routes.spawn(self._run)

    def raise_if_over(self) -> None:
        """BudgetSpent where it has stopped the turn."""
        if self.stopped:
            raise BudgetSpent(self.stopped)

    def close(self) -> None:
        """The turn is over."""
        self._scope.cancel()

    async def _run(self) -> None:
        ports = self._session.services.ports
        with self._scope:
            while not self.stopped:
                await ports.sleep(max(0.0, min(self._look(), self._ends) - ports.monotonic()))
                if ports.monotonic() >= self._ends:
                    self._stop(ports.monotonic())

    def _look(self) -> float:
        """Tell of what is due; when to look again."""
        activity, now = self._session.activity.now, self._session.services.ports.monotonic()
        if activity.since != self._since:
            self._since, self._due = activity.since, self._long
        if activity.asked:  # a person knows what is waited for
            return now + self._long
        if now >= self._since + self._due:
            self._session.emit(Notice(level="info", text=STILL.format(progress(activity, now))))
            while self._since + self._due <= now:
                self._due *= 2
        return self._since + self._due

    def _stop(self, now: float) -> None:
        limit = self._session.services.ledger.budget.turn_seconds
        self.stopped = TIME_OVER.format(limit, progress(self._session.activity.now, now))
        self._turn.cancel()
