"""Async helpers on anyio: results in order from bounded fan-out, and the bridge for callers without a loop."""

import atexit
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any, TypeVar

import anyio
import anyio.from_thread
from anyio.from_thread import BlockingPortal

T = TypeVar("T")
Async = Callable[[], Coroutine[Any, Any, T]]


async def collect(jobs: Sequence[Callable[[], Awaitable[T]]], *, limit: int) -> list[T]:
    """Run the jobs, at most `limit` at once; their results in the jobs' order. The first exception cancels the rest."""
    results: dict[int, T] = {}
    slots = anyio.Semaphore(limit)

    async def run(number: int, job: Callable[[], Awaitable[T]]) -> None:
        async with slots:
            results[number] = await job()

    async with anyio.create_task_group() as group:
        for number, job in enumerate(jobs):
            group.start_soon(run, number, job)
    return [results[number] for number in range(len(jobs))]


@asynccontextmanager
async def background() -> AsyncIterator[Callable[[Async[Any]], object]]:
    """A function that starts jobs beside the caller's work; what still runs at the end is cancelled. Jobs see to their own errors.

    An error of the caller's body leaves as it is, not wrapped in a group.
    """
    error: Exception | None = None
    async with anyio.create_task_group() as group:
        try:
            yield group.start_soon
        except Exception as found:  # noqa: BLE001  # raised again below, outside the group
            error = found
        group.cancel_scope.cancel()
    if error is not None:
        raise error


class GuestLoop:
    """One persistent event loop in a thread of its own, for async code that must not hold up ours; started on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # invariant: at most one loop is ever started
        self._portal: BlockingPortal | None = None
        self._running: AbstractContextManager[BlockingPortal] | None = None

    def run(self, function: Async[T]) -> T:
        """What the coroutine gives; blocks the calling thread, which may be any but the guest loop's own."""
        return self._started().call(function)

    def close(self) -> None:
        """Stop the loop; a later `run` starts a new one."""
        with self._lock:
            if self._running is not None:
                self._running.__exit__(None, None, None)
            self._portal = self._running = None

    def _started(self) -> BlockingPortal:
        with self._lock:
            if self._portal is None:
                self._running = anyio.from_thread.start_blocking_portal()
                self._portal = self._running.__enter__()
                atexit.register(self.close)
            return self._portal


def in_worker() -> bool:
    """Whether this thread is a worker that our loop started."""
    try:
        anyio.from_thread.check_cancelled()
    except RuntimeError:
        return False
    return True


def run_blocking(function: Async[T], guest: GuestLoop) -> T:
    """A coroutine's result for a caller that cannot await: back on our loop from a worker of ours, else on the guest loop."""
    if in_worker():
        return anyio.from_thread.run(function)
    return guest.run(function)
