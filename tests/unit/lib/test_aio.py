import anyio
import pytest

from hermes.lib.aio import collect

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
