import anyio
import pytest

from hermes.lib.aio import beside, collect

pytestmark = pytest.mark.anyio


async def test_results_keep_the_order_of_their_jobs() -> None:
    async def job(number: int) -> int:
        await anyio.sleep(0.01 * (3 - number))
        return number

    assert await collect([lambda number=number: job(number) for number in range(4)], limit=8) == [0, 1, 2, 3]  # type: ignore[misc]


async def test_no_more_than_the_limit_run_at_once() -> None:
    running = most = 0

    async def job() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(0.01)
        running -= 1

    await collect([job] * 10, limit=3)
    assert most == 3


async def test_the_first_exception_cancels_the_rest() -> None:
    ended = []

    async def fails() -> None:
        raise ValueError("no")

    async def lasts() -> None:
        await anyio.sleep(10)
        ended.append(1)

    with anyio.fail_after(2), pytest.raises(ExceptionGroup):
        await collect([fails, lasts], limit=2)
    assert ended == []


async def test_a_job_that_fails_ends_the_work_beside_it_with_its_own_error() -> None:
    async def fails() -> None:
        raise ValueError("no")

    with anyio.fail_after(2), pytest.raises(ValueError, match="no"):
        async with beside(fails):
            await anyio.sleep(10)


async def test_what_the_work_raises_leaves_as_it_is_once_the_job_has_ended() -> None:
    ended, go = [], anyio.Event()

    async def lasts() -> None:
        await go.wait()
        ended.append(1)
        raise KeyError("also")

    async def work() -> None:
        async with beside(lasts):
            go.set()
            raise ValueError("no")

    with anyio.fail_after(2), pytest.raises(ValueError, match="no"):
        await work()
    assert ended == [1]


async def test_a_time_limit_around_both_is_heard() -> None:
    with anyio.move_on_after(0.05) as limit:
        async with beside(anyio.sleep_forever):
            await anyio.sleep_forever()
    assert limit.cancelled_caught
