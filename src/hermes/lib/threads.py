"""Plain functions in daemon threads: one that never returns neither holds up the caller, when that is
cancelled, nor keeps the program from ending.
"""

import contextvars
import os
import queue
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

import anyio
import anyio.lowlevel

P = ParamSpec("P")
T = TypeVar("T")
Job = Callable[[], None]

IDLE_SECONDS: Final = 10.0


class _Pool:
    """The idle threads of this process, each with the queue of its jobs."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget every thread: in a forked process none of them runs."""
        self._lock = threading.Lock()  # invariant: a thread is idle, or it has exactly one job
        self._idle: list[queue.SimpleQueue[Job]] = []

    def run(self, job: Job) -> None:
        """Give a job to a thread."""
        with self._lock:
            jobs = self._idle.pop() if self._idle else None
        if jobs is None:
            jobs = queue.SimpleQueue()
            threading.Thread(  # noqa: TID251  # those of anyio keep the program alive
                target=self._work, args=(jobs,), name="hermes", daemon=True
            ).start()
        jobs.put(job)

    def _work(self, jobs: queue.SimpleQueue[Job]) -> None:
        """Run jobs as they come, until none has come for a while."""
        while True:
            try:
                jobs.get(timeout=IDLE_SECONDS)()
            except queue.Empty:
                with self._lock:
                    if jobs in self._idle:
                        self._idle.remove(jobs)
                        return
            else:
                with self._lock:
                    self._idle.append(jobs)


_pool = _Pool()
os.register_at_fork(after_in_child=_pool.reset)


async def in_thread(function: Callable[[], T]) -> T:
    """Run a function in a thread and give its result, or its exception; context variables reach it.

    When the caller is cancelled the thread is left to itself, at once.
    """
    over, tell = anyio.Event(), waker()
    future = submit(function)

    def ended(_: object) -> None:
        with suppress(RuntimeError):  # the loop is gone, and so is the caller
            tell(over.set)

    future.add_done_callback(ended)
    await over.wait()
    return future.result()


def submit(function: Callable[[], T]) -> Future[T]:
    """Start a function in a thread; its result, or its exception."""
    future: Future[T] = Future()
    context = thread_context()

    def job() -> None:
        try:
            future.set_result(context.run(function))
        except BaseException as error:  # noqa: BLE001  # raised again in whoever waits
            future.set_exception(error)

    _pool.run(job)
    return future


class DaemonExecutor(ThreadPoolExecutor):
    """An executor over these threads, for a loop that asks for one; the program ends without waiting for
    them.
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **keywords: P.kwargs) -> Future[T]:
        """Start a function in a thread."""
        return submit(partial(fn, *args, **keywords))


def waker() -> Callable[[Callable[[], object]], object]:
    """The function by which another thread has something run on this loop, without waiting for it."""
    loop: Any = anyio.lowlevel.current_token().native_token
    wake: Callable[[Callable[[], object]], object] = (
        getattr(loop, "run_sync_soon", None) or loop.call_soon_threadsafe  # trio, asyncio
    )
    return wake


def clock() -> Callable[[], float]:
    """The clock of the running loop, that of `anyio.current_time`, which looks for the loop at each call."""
    loop: Any = anyio.lowlevel.current_token().native_token
    told: Callable[[], float] = getattr(loop, "time", anyio.current_time)  # asyncio, trio
    return told


def thread_context() -> contextvars.Context:
    """A copy of the context variables for another thread, in which no event loop runs yet."""
    context = contextvars.copy_context()
    if sniffio := sys.modules.get("sniffio"):  # where it is there, anyio asks it which loop runs
        context.run(sniffio.current_async_library_cvar.set, None)
    return context
