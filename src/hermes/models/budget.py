"""Money and tokens: what a request costs, and budgets that are asked before each call and told after it
(invariant 12).
"""

from collections.abc import Awaitable, Callable, Iterator

import anyio
from msgspec import Struct, field

from hermes.types.error import BudgetSpent
from hermes.types.profile import Price
from hermes.types.usage import Usage

MILLION = 1_000_000
NOTHING = 1e-9
"""Less than this is what is left of sums of fractions, not money."""


class SpendingLimits(Struct, frozen=True, kw_only=True):
    """What a budget may hold: tokens and US dollars; 0 means no limit."""

    tokens: int = 0
    cost: float = 0.0


class Reservation(Struct, frozen=True, kw_only=True):
    """What one call may use at most, as far as that can be said before it."""

    tokens: int
    cost: float


def cost_of(usage: Usage, price: Price) -> float:
    """US dollars by the price list; cache reads and writes are parts of the input."""
    read_price = price.input if price.cache_read is None else price.cache_read
    write_price = price.input if price.cache_write is None else price.cache_write
    fresh = max(0, usage.input_tokens - usage.cache_read - usage.cache_write)
    spent = (
        fresh * price.input
        + usage.cache_read * read_price
        + usage.cache_write * write_price
        + usage.output_tokens * price.output
    )
    return spent / MILLION


def priced(usage: Usage, price: Price | None) -> Usage:
    """The usage with its cost; without a price all its tokens are counted as unpriced."""
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        reasoning=usage.reasoning,
        requests=usage.requests,
        cost=cost_of(usage, price) if price else usage.cost,
        unpriced=usage.unpriced if price else usage.input_tokens + usage.output_tokens,
    )


class Budget(Struct, kw_only=True):
    """What one turn, session or day may spend; a call is reserved in it and in every budget above before it
    starts.

    `elsewhere` asks for the tokens and money that all processes together have written down for the same
    budget. `held_tokens` and `held_cost` are what calls under way may still use, so that calls side by side
    cannot overspend together by more than one call. `raised_by` is what raises it, where that is no setting.
    """

    name: str
    limits: SpendingLimits = field(default_factory=SpendingLimits)
    above: "Budget | None" = None
    elsewhere: Callable[[], Awaitable[tuple[int, float]]] | None = None
    raised_by: str = ""
    tokens: int = 0
    cost: float = 0.0
    held_tokens: int = 0
    held_cost: float = 0.0
    theirs: tuple[int, float] = (0, 0.0)
    _waiting: list[anyio.Event] = field(default_factory=list)

    async def reserve(self, wanted: Reservation, *, seconds: float) -> None:
        """Hold what a call may use; BudgetSpent, and nothing held, when a budget on the way up is spent.

        Where calls under way leave no room it waits for them, for so many seconds: they seldom use all that
        they hold.
        """
        chain = list(self.chain())
        for budget in chain:
            await budget.look()
        while crowded := next((budget for budget in chain if budget.crowded(wanted)), None):
            await crowded.change(seconds)
            for budget in chain:
                await budget.look()
        for budget in chain:
            budget.held_tokens += wanted.tokens
            budget.held_cost += wanted.cost

    async def look(self) -> None:
        """Learn what other processes have spent of the same budget."""
        if self.elsewhere is not None and (self.limits.tokens or self.limits.cost):
            self.theirs = await self.elsewhere()

    async def change(self, seconds: float) -> None:
        """Wait until a call under way is over; BudgetSpent when none ends in time."""
        settled = anyio.Event()
        self._waiting.append(settled)
        with anyio.move_on_after(seconds):
            await settled.wait()
            return
        raise BudgetSpent(
            f"Other calls hold what is left of the budget of this {self.name}; try again when they are"
            " through."
        )

    def settle(self, wanted: Reservation, tokens: int, cost: float) -> None:
        """The call is over: let go of what was held and count what was used."""
        for budget in self.chain():
            budget.held_tokens -= wanted.tokens
            budget.held_cost -= wanted.cost
            budget.tokens += tokens
            budget.cost += cost
            budget.notify()

    def notify(self) -> None:
        """Let the calls that wait look again."""
        for waiting in self._waiting:
            waiting.set()
        self._waiting.clear()

    def chain(self) -> "Iterator[Budget]":
        """This budget and those above it."""
        budget: Budget | None = self
        while budget is not None:
            yield budget
            budget = budget.above

    def crowded(self, wanted: Reservation) -> bool:
        """Whether calls under way must end before this one may start; BudgetSpent when this budget is
        spent.
        """
        limits = self.limits
        if not (limits.tokens or limits.cost):
            return False
        tokens, money = max(self.tokens, self.theirs[0]), max(self.cost, self.theirs[1])
        if limits.tokens and tokens >= limits.tokens:
            raise self._spent(
                "tokens",
                f"The token budget of this {self.name} is spent: {tokens:,} of {limits.tokens:,} tokens.",
            )
        if limits.cost and money >= limits.cost:
            raise self._spent(
                "cost",
                f"The money budget of this {self.name} is spent: {_dollars(round(money, 6))} of"
                f" {_dollars(limits.cost)}.",
            )
        by_tokens = _no_room(tokens, self.held_tokens, wanted.tokens, limits.tokens)
        return by_tokens or _no_room(money, self.held_cost, wanted.cost, limits.cost)

    def _spent(self, what: str, sentence: str) -> BudgetSpent:
        raised_by = self.raised_by or f"hermes config set budget.{self.name}_{what}"
        return BudgetSpent(f"{sentence} {raised_by} raises it.")


def _dollars(amount: float) -> str:
    """US dollars to the last digit: a limit is told as it was given."""
    whole, _, part = f"{amount:,.9f}".partition(".")
    return f"${whole}.{part.rstrip('0'):0<2}"


def _no_room(spent: float, held: float, wanted: float, cap: float) -> bool:
    """A first call may start while anything is left; a second beside it only if both fit."""
    return bool(cap) and held > NOTHING and spent + held + wanted > cap


class PriceEstimator(Struct, frozen=True, kw_only=True):
    """How calls are counted against budgets: a ceiling price stands in where none is known, so that no model
    is free by ignorance.
    """

    ceiling: Price = field(default_factory=lambda: Price(input=15.0, output=75.0))
    typical_output: int = 4_000

    def wanted(self, price: Price | None, prompt: int, max_output: int | None) -> Reservation:
        """What a call with a prompt of so many tokens may use."""
        output, paid = max_output or self.typical_output, price or self.ceiling
        return Reservation(
            tokens=prompt + output, cost=(prompt * paid.input + output * paid.output) / MILLION
        )

    def counted(self, usage: Usage, price: Price | None) -> float:
        """What a call counts in money against a budget."""
        return cost_of(usage, price or self.ceiling)
