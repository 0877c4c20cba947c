"""What a home may spend and has spent: budgets for days, sessions and turns, and the record of every
request.
"""

import datetime as dt
import math

from msgspec import Struct, field

from hermes.agent.settings import BudgetSettings
from hermes.models.budget import Budget, PriceEstimator, SpendingLimits
from hermes.store.protocol import SessionStore, UsageEntry
from hermes.types.error import BudgetSpent
from hermes.types.event import Attempted
from hermes.types.ports import Ports
from hermes.types.profile import Price
from hermes.types.usage import Usage

CHAT = "chat"


class TurnLimits(Struct, frozen=True, kw_only=True):
    """What is left for what a turn starts: its budget, and when its time is over, in monotonic seconds."""

    budget: Budget
    ends: float = math.inf


class Ledger(Struct):
    """The ledger of one runtime; its sessions and side calls write to it."""

    budget: BudgetSettings
    store: SessionStore
    ports: Ports
    _day: Budget = field(default_factory=lambda: Budget(name="day"))
    _date: str = ""
    _minute: tuple[int, str] = (-1, "")

    @property
    def estimator(self) -> PriceEstimator:
        """What calls without a known price count as."""
        return PriceEstimator(
            ceiling=Price(input=self.budget.unknown_price_input, output=self.budget.unknown_price_output)
        )

    def seconds_left(self, limits: TurnLimits) -> float | None:
        """What is left of a turn's time, None where it has no limit; BudgetSpent when it is over."""
        if not self.budget.turn_seconds:
            return None
        if (left := limits.ends - self.ports.monotonic()) <= 0:
            raise BudgetSpent(
                f"The time budget of this turn is spent: {self.budget.turn_seconds:.0f} s. hermes config set"
                " budget.turn_seconds raises it."
            )
        return left

    def today(self) -> Budget:
        """The budget of the day, one for all sessions; what other processes spent today counts in it."""
        date = self._today()
        if date != self._date:
            self._date = date
            limits = SpendingLimits(tokens=self.budget.day_tokens, cost=self.budget.day_cost)
            self._day = Budget(name="day", limits=limits, elsewhere=lambda: self.store.counted_on(date))
        return self._day

    def session(self, used: Usage, tokens: int = 0, max_cost: float = 0.0) -> Budget:
        """The budget of a session that has used so much; `tokens` is a limit of its own, `max_cost` what it
        may spend from now on, 0 for none.
        """
        stored = self._stored(used, tokens)
        if not max_cost:
            return stored
        limits = SpendingLimits(cost=max_cost)
        return Budget(name="run", limits=limits, above=stored, raised_by="--max-cost (max_cost)")

    def _stored(self, used: Usage, tokens: int) -> Budget:
        """What a session may spend in all its life."""
        least = min(filter(None, (tokens, self.budget.session_tokens)), default=0)
        limits = SpendingLimits(tokens=least, cost=self.budget.session_cost)
        return Budget(
            name="session",
            limits=limits,
            tokens=used.input_tokens + used.output_tokens,
            cost=used.cost + self._unpriced(used),
            above=self.today(),
        )

    def turn(self, session: Budget) -> Budget:
        """A budget for one turn; a session that outlives midnight spends of the new day, through the sessions
        above it where it is a child.
        """
        *_, top = (one for one in session.chain() if one.name != "day")
        top.above = self.today()
        return Budget(
            name="turn",
            limits=SpendingLimits(tokens=self.budget.turn_tokens, cost=self.budget.turn_cost),
            above=session,
        )

    def count(self, session_id: str, event: Attempted, *, task: str = CHAT) -> None:
        """Write down what a request has used."""
        used = event.usage
        if not used.requests:
            return
        self.store.count(
            UsageEntry(
                day=self._today(),
                session=session_id,
                task=task,
                provider=event.provider,
                model=event.model,
                usage=used,
                counted=used.cost + self._unpriced(used),
                failed=event.failure is not None,
            )
        )

    def _unpriced(self, used: Usage) -> float:
        """What tokens without a price count as: those of requests of which none had one."""
        if not used.unpriced:
            return 0.0
        share = used.unpriced / max(1, used.input_tokens + used.output_tokens)
        parts = Usage(
            input_tokens=round(used.input_tokens * share), output_tokens=round(used.output_tokens * share)
        )
        return self.estimator.counted(parts, None)

    def _today(self) -> str:
        """The local date; looked up once a minute, for it takes longer than the rest of the bookkeeping."""
        now = self.ports.now()
        if self._minute[0] != now // 60:
            self._minute = (
                int(now // 60),
                dt.datetime.fromtimestamp(now, tz=dt.UTC).astimezone().date().isoformat(),
            )
        return self._minute[1]
