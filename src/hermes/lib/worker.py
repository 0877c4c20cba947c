"""One thread that runs functions in order, for callers on any event loop."""

import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import anyio

from hermes.lib.threads import waker

T = TypeVar("T")
Job = Callable[[], None]


class Worker:
    """A thread with a queue. `idle` is called in it when no job has come for `pause` seconds after one."""

    def __init__(self, name: str, *, idle: Job, pause: float) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._idle, self._pause = idle, pause
        self._worked = False
        self._thread = threading.Thread(  # noqa: TID251  # one thread for one file, whatever loop asks
            target=self._work, name=name, daemon=True
        )
        self._thread.start()

    async def run(self, function: Callable[..., T], *args: Any, **more: Any) -> T:
        """Wait for `function` to run in the thread; its result, or its exception.

        What was asked for is done, whatever is cancelled meanwhile: a cancellation arrives at the caller's
        next await, so that it always learns what has happened.
        """
        results: list[T] = []
        errors: list[BaseException] = []
        over = anyio.Event()
        wake = waker()

        def job() -> None:
            try:
                results.append(function(*args, **more))
            except BaseException as error:  # noqa: BLE001  # raised again in the caller
                errors.append(error)
            with contextlib.suppress(RuntimeError):  # the loop is gone, and so is the caller
                wake(over.set)

        self._jobs.put(job)
        await _wait(over)
        if errors:
            raise errors.pop()
        return results[0]

    def post(self, function: Job) -> None:
        """Have `function` run in its turn, without waiting for it; it sees to its own errors."""
        self._jobs.put(function)

    def idle_soon(self) -> None:
        """Have `idle` called before long; a thread that will do so anyway is not woken."""
        if not self._worked:
            self._jobs.put(lambda: None)

    async def close(self) -> None:
        """End the thread when all jobs are done."""
        await self.run(int)
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=self._pause if self._worked else None)
            except queue.Empty:
                self._worked = False  # first: who asks for it while it runs gets it once more
                self._idle()
                continue
            if job is None:
                return
            self._worked = True
            job()


async def _wait(event: anyio.Event) -> None:
    """Wait for the event, and keep a cancellation for afterwards."""
    cancelled = 0
    with anyio.CancelScope(shield=True):
        while not event.is_set():
            try:
                await event.wait()
            except anyio.get_cancelled_exc_class():  # `Task.cancel` of asyncio knows no shields
                cancelled += 1
    if cancelled:
        _cancel_again(cancelled)


def _cancel_again(times: int) -> None:
    import asyncio  # noqa: PLC0415, TID251  # only where asyncio runs, and its cancellation is its own

    if task := asyncio.current_task():
        for _ in range(times):
            task.uncancel()
            task.cancel()
