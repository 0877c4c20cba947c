"""Money and tokens: what is counted, and when no call may start."""

import contextlib
from functools import partial

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.models.budget import Budget, PriceEstimator, Reservation, SpendingLimits, cost_of, priced
from hermes.types.error import BudgetSpent
from hermes.types.profile import Price
from hermes.types.usage import Usage

PRICE = Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)


def test_cached_tokens_are_paid_at_their_own_price() -> None:
    usage = Usage(input_tokens=1_000_000, cache_read=600_000, cache_write=100_000, output_tokens=100_000)
    assert cost_of(usage, PRICE) == pytest.approx(
        300_000 * 3e-6 + 600_000 * 0.3e-6 + 100_000 * 3.75e-6 + 100_000 * 15e-6
    )
    assert cost_of(usage, Price(input=3.0, output=15.0)) == pytest.approx(3.0 + 1.5)


def test_without_a_price_tokens_are_counted_as_unpriced_and_the_ceiling_counts_against_budgets() -> None:
    usage = Usage(input_tokens=10, output_tokens=5, requests=1)
    assert priced(usage, None) == Usage(input_tokens=10, output_tokens=5, requests=1, unpriced=15)
    assert PriceEstimator(ceiling=Price(input=1.0, output=2.0)).counted(usage, None) == pytest.approx(20e-6)


@pytest.mark.anyio
async def test_a_spent_budget_lets_no_call_start_and_says_which_and_how_to_raise_it() -> None:
    budget = Budget(name="session", limits=SpendingLimits(cost=0.5))
    wanted = Reservation(tokens=10, cost=0.4)
    await budget.reserve(wanted, seconds=1)
    budget.settle(wanted, 10, 0.6)
    with pytest.raises(BudgetSpent) as fault:
        await budget.reserve(wanted, seconds=1)
    assert (
        str(fault.value)
        == "The money budget of this session is spent: $0.60 of $0.50. hermes config set budget.session_cost raises it."
    )


@pytest.mark.anyio
async def test_a_call_that_has_no_room_beside_others_waits_for_them_and_nothing_stays_held() -> None:
    day = Budget(name="day", limits=SpendingLimits(cost=1.0))
    turns = [Budget(name="turn", above=Budget(name="session", above=day)) for _ in range(3)]
    wanted = Reservation(tokens=1, cost=0.4)
    for turn in turns[:2]:
        await turn.reserve(wanted, seconds=0)
    with pytest.raises(BudgetSpent, match="Other calls hold"):
        await turns[2].reserve(wanted, seconds=0.02)
    async with anyio.create_task_group() as group:
        group.start_soon(partial(turns[2].reserve, wanted, seconds=1))
        await anyio.sleep(0.02)
        assert turns[2].held_cost == 0.0
        turns[0].settle(wanted, 1, 0.1)
    turns[1].settle(wanted, 1, 0.4)
    turns[2].settle(wanted, 1, 0.4)
    assert (round(day.cost, 9), round(day.held_cost, 9), day.held_tokens) == (0.9, 0.0, 0)


@pytest.mark.anyio
async def test_what_others_spent_today_counts() -> None:
    async def others() -> tuple[int, float]:
        return 0, 1.2

    day = Budget(name="day", limits=SpendingLimits(cost=1.0), elsewhere=others)
    with pytest.raises(BudgetSpent, match=r"\$1.20 of \$1.00"):
        await day.reserve(Reservation(tokens=1, cost=0.0), seconds=1)


CALLS = st.lists(st.tuples(st.integers(0, 7), st.floats(0.0, 0.5)), max_size=60)


@given(CALLS, st.floats(0.1, 3.0))
def test_the_worst_overshoot_is_one_call(calls: list[tuple[int, float]], cap: float) -> None:
    """Eight children side by side: each call holds its most before it starts, and settles at most that."""
    day = Budget(name="day", limits=SpendingLimits(cost=cap))
    children = [Budget(name="turn", above=day) for _ in range(8)]
    running: dict[int, Reservation] = {}

    async def step(child: int, cost: float) -> None:
        if child in running:
            wanted = running.pop(child)
            children[child].settle(wanted, 0, wanted.cost)
            return
        wanted = Reservation(tokens=0, cost=cost)
        with contextlib.suppress(BudgetSpent):
            await children[child].reserve(wanted, seconds=0)
            running[child] = wanted

    async def run() -> None:
        for child, cost in calls:
            await step(child, cost)

    anyio.run(run)
    for child, wanted in running.items():
        children[child].settle(wanted, 0, wanted.cost)
    assert day.cost <= cap + 0.5 + 1e-9
