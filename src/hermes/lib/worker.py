"""One thread that runs functions in order, for callers on any event loop."""

import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Generic, TypeVar

import anyio

from hermes.lib.threads import waker

logger = logging.getLogger(__name__)
T = TypeVar("T")
Job = Callable[[], None]
Wake = Callable[[Job], object]


class WorkerClosedError(Exception):
    """The thread has ended, and nothing more runs in it."""


class Worker:
    """A thread with a queue.

    `batch` is what stands around functions that run together. `idle` is called in the thread when no job has
    come for `pause` seconds after one.
    """

    def __init__(
        self, name: str, *, batch: Callable[[], AbstractContextManager[None]], idle: Job, pause: float
    ) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._waiting: dict[Wake, list[_Pending[Any]]] = {}  # of each loop that has a batch under way
        self._batch, self._idle, self._pause = batch, idle, pause
        self._worked = self._closed = False
        self._closing = threading.Lock()  # invariant: what is in the queue is before its end
        self._thread = threading.Thread(  # noqa: TID251  # one thread for one file, whatever loop asks
            target=self._work, name=name, daemon=True
        )
        self._thread.start()

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """Wait for `function` to run in the thread; its result, or its exception.

        What was asked for is done, whatever is cancelled meanwhile: a cancellation arrives at the caller's
        next await, so that it always learns what has happened. WorkerClosedError when the thread has ended.
        """
        call = _Pending(partial(function, *args))
        self._hand_over(call.wake)  # what was asked for before runs before
        self._put(partial(_run_alone, call))
        return await call.end()

    async def run_batched(self, function: Callable[..., T], *args: Any) -> T:
        """The same in one batch with all that this loop asks for while the batch before is under way, and
        told with them: a hand-over to the thread and back costs more than most functions.

        Where one fails, each runs anew in a batch of its own, so that it fails alone.
        """
        call = _Pending(partial(function, *args))
        if call.wake in self._waiting:
            self._waiting[call.wake].append(call)
        else:
            self._waiting[call.wake] = [call]
            self._hand_over(call.wake)
        return await call.end()

    def post(self, function: Job) -> None:
        """Have `function` run in its turn, without waiting for it; it sees to its own errors."""
        with contextlib.suppress(WorkerClosedError):
            self._put(function)

    def idle_soon(self) -> None:
        """Have `idle` called before long; a thread that will do so anyway is not woken."""
        if not self._worked:
            self.post(lambda: None)

    async def close(self) -> None:
        """End the thread when all is done that this loop has asked for."""
        await self.run(int)
        with self._closing:
            self._closed = True
            self._jobs.put(None)
        self._thread.join()

    def _put(self, job: Job) -> None:
        with self._closing:
            if self._closed:
                raise WorkerClosedError
            self._jobs.put(job)

    def _hand_over(self, wake: Wake) -> None:
        if calls := self._waiting.get(wake):
            self._waiting[wake] = []
            try:
                self._put(partial(self._run_batch, calls))
            except WorkerClosedError as error:  # another loop has closed it
                del self._waiting[wake]
                for call in calls:
                    call.errors.append(error)
                    call.over.set()

    def _end_batch(self, calls: "Sequence[_Pending[Any]]") -> None:
        for call in calls:
            call.over.set()
        if not self._waiting.get(call.wake):
            self._waiting.pop(call.wake, None)
        self._hand_over(call.wake)

    # ------------------------------------------------------------------ in the thread

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=self._pause if self._worked else None)
            except queue.Empty:
                self._worked = False  # first: who asks for it while it runs gets it once more
                self._tidy()
                continue
            if job is None:
                return
            self._worked = True
            job()

    def _tidy(self) -> None:
        try:
            self._idle()
        except Exception:
            logger.exception("What is left to be done in a quiet moment failed; who waits next still runs")

    def _run_batch(self, calls: "Sequence[_Pending[Any]]") -> None:
        self._run_within(calls)
        _tell(calls[0].wake, partial(self._end_batch, calls))

    def _run_within(self, calls: "Sequence[_Pending[Any]]") -> None:
        begun = False
        try:
            with self._batch():
                begun = True
                for call in calls:
                    call.run()
        except BaseException as error:  # noqa: BLE001  # raised again in the callers
            if begun and len(calls) > 1:
                for call in calls:
                    self._run_within([call])
            else:
                for call in calls:
                    call.errors.append(error)


class _Pending(Generic[T]):
    """A function, and the task that waits for its end."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._results: list[T] = []
        self.errors: list[BaseException] = []
        self.over, self.wake = anyio.Event(), waker()

    def run(self) -> None:
        self._results = [self._function()]

    async def end(self) -> T:
        """Its result, or its exception, once it has run."""
        await _wait(self.over)
        if self.errors:
            raise self.errors.pop()
        return self._results[0]


def _run_alone(call: _Pending[Any]) -> None:
    try:
        call.run()
    except BaseException as error:  # noqa: BLE001  # raised again in the caller
        call.errors.append(error)
    _tell(call.wake, call.over.set)


def _tell(wake: Wake, what: Job) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is gone, and so are those who wait there
        wake(what)


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
