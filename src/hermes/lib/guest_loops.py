"""Event loops in threads of their own, for async code that must not hold up ours."""

# Guest code is asyncio by its documentation
import asyncio  # noqa: TID251
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, TypeVar

import anyio

from hermes.lib.aio import Async, first_of
from hermes.lib.threads import DaemonExecutor, thread_context, waker

T = TypeVar("T")

TIDY_SECONDS: Final = 1.0
"""How long what a call leaves running may take to end before the call's result is handed on."""


class GuestLoops:
    """Event loops for calls that must not hold up ours.

    Each call has a loop to itself while it runs, so that one that blocks holds nobody; loops are kept and
    used again, so that clients which a handler keeps stay usable. Started on first use; their threads never
    keep the program from ending. `sleep` measures the time of a call.
    """

    def __init__(self, sleep: Callable[[float], Awaitable[None]] = anyio.sleep) -> None:
        self._sleep = sleep
        self._lock = threading.Lock()  # invariant: a loop is idle, or it belongs to one call
        self._idle: list[_GuestLoop] = []

    async def run(self, function: Async[T], *, seconds: float) -> T:
        """What the coroutine gives; TimeoutError after `seconds`. Cancelling the caller cancels it there,
        without waiting for its end.
        """
        over, tell = anyio.Event(), waker()
        call = self._begin(function)

        def ended(_: object) -> None:
            with suppress(RuntimeError):  # the loop is gone, and so is the caller
                tell(over.set)

        call.future.add_done_callback(ended)
        try:
            await first_of(over.wait, partial(self._sleep, seconds))
            if not over.is_set():
                raise TimeoutError
        finally:
            call.cancel()
        return call.future.result()

    def run_blocking(self, function: Async[T], *, seconds: float) -> T:
        """The same for a thread without a loop, or one that must not go back to its own."""
        call = self._begin(function)
        try:
            return call.future.result(seconds)
        finally:
            call.cancel()

    def close(self) -> None:
        """Stop the loops, busy ones when their call ends; this waits for none. Later calls start new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
        for one in idle:
            one.stop()

    def _begin(self, function: Async[T]) -> "_GuestCall[T]":
        with self._lock:
            pool = self._idle
            guest = pool.pop() if pool else None
        if guest is None or not guest.is_alive:
            guest = _GuestLoop()
        call = _GuestCall(guest.loop, function, partial(self._put_back, guest, pool))
        guest.loop.call_soon_threadsafe(call.start, context=thread_context())
        return call

    def _put_back(self, guest: "_GuestLoop", pool: list["_GuestLoop"]) -> None:
        """Keep the loop for the next call, unless it belongs to what was closed meanwhile."""
        with self._lock:
            if pool is self._idle:
                pool.append(guest)
                return
        guest.stop()


class _GuestLoop:
    """One loop and its thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_default_executor(DaemonExecutor())
        self._stopped = False
        # A daemon: a handler that blocks for ever must not keep the program alive
        self._thread = threading.Thread(target=self._serve, name="hermes guest loop", daemon=True)  # noqa: TID251
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether its thread runs: that of a loop from before a fork does not."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Let the loop end when it comes to it; from any thread."""
        self.loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        self._stopped = True
        self.loop.stop()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        while not self._stopped:
            with suppress(SystemExit, KeyboardInterrupt):  # of a task that a handler started: asyncio
                self.loop.run_forever()  # gives it to the task, and ends the loop with it
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()


class _GuestCall(Generic[T]):
    """One call on a guest's loop. `give_back` is called there when the loop has nothing left of it."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, function: Async[T], give_back: Callable[[], None]
    ) -> None:
        self.future: Future[T] = Future()
        self._loop, self._function, self._give_back = loop, function, give_back
        self._task: asyncio.Task[None] | None = None
        self._scope: anyio.CancelScope | None = None
        self._cancelled = False

    def start(self) -> None:
        """Start it; on the guest's loop."""
        self._task = self._loop.create_task(self._run())

    def cancel(self) -> None:
        """Cancel it, if it has not ended; from any thread, without waiting."""
        if not self.future.done():
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        self._cancelled = True
        if self._scope is not None:
            self._scope.cancel()

    async def _run(self) -> None:
        before = asyncio.all_tasks()
        settle: Callable[[], None] = partial(self.future.set_exception, TimeoutError("cancelled"))
        try:
            with anyio.CancelScope() as self._scope:
                if self._cancelled:
                    self._scope.cancel()
                settle = partial(self.future.set_result, await self._function())
        except BaseException as error:  # noqa: BLE001  # raised again in whoever waits
            settle = partial(self.future.set_exception, error)
        left = asyncio.all_tasks() - before
        try:
            tidied = not left or await _ended(left, TIDY_SECONDS)
            if tidied:
                self._give_back()
        finally:
            settle()
        if not tidied:  # it stays out of use until its last task has ended
            await asyncio.wait(left)
            self._give_back()


async def _ended(tasks: set[asyncio.Task[Any]], seconds: float) -> bool:
    """Cancel tasks; whether all of them ended in time."""
    for task in tasks:
        task.cancel()
    _, running = await asyncio.wait(tasks, timeout=seconds)
    return not running
