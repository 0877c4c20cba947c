"""Async helpers on anyio: results in order from bounded fan-out, and the way from other threads and loops to
the loop that an object lives on.
"""

# Only to tell what is asyncio's own: that a task was cancelled without a scope
import asyncio  # noqa: TID251
import inspect
import threading
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from functools import partial
from types import FrameType
from typing import Any, TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel

from hermes.lib.threads import in_thread, waker

T = TypeVar("T")
Async = Callable[[], Coroutine[Any, Any, T]]


async def collect(jobs: Sequence[Callable[[], Awaitable[T]]], *, limit: int) -> list[T]:
    """Run the jobs, at most `limit` at once; their results in the jobs' order.

    The first exception cancels the rest.
    """
    results: dict[int, T] = {}
    slots = anyio.Semaphore(limit)

    async def run(number: int, job: Callable[[], Awaitable[T]]) -> None:
        async with slots:
            results[number] = await job()

    async with anyio.create_task_group() as group:
        for number, job in enumerate(jobs):
            group.start_soon(run, number, job)
    return [results[number] for number in range(len(jobs))]


async def first_of(*waits: Callable[[], Awaitable[object]]) -> None:
    """Wait until one of them has ended; the others are cancelled."""
    async with anyio.create_task_group() as group:

        async def run(wait: Callable[[], Awaitable[object]]) -> None:
            await wait()
            group.cancel_scope.cancel()

        for wait in waits:
            group.start_soon(run, wait)


@asynccontextmanager
async def background() -> AsyncIterator[Callable[[Async[Any]], object]]:
    """A function that starts jobs beside the caller's work; what still runs at the end is cancelled. Jobs see
    to their own errors.

    What the caller's body raises leaves as it is, not wrapped in a group: an exit of the program, too.
    """
    error: BaseException | None = None
    async with anyio.create_task_group() as group:
        try:
            yield group.start_soon
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as found:  # noqa: BLE001  # raised again below, outside the group
            error = found
        group.cancel_scope.cancel()
    if error is not None:
        raise error


@asynccontextmanager
async def beside(job: Async[Any]) -> AsyncIterator[None]:
    """A job beside the caller's work, waited for in the end; where it fails the work is cancelled.

    What the work raises, or else the job, leaves as it is, not wrapped in a group.
    """
    error: BaseException | None = None
    cancelled = anyio.get_cancelled_exc_class()

    async def run() -> None:
        nonlocal error
        try:
            await job()
        except cancelled:
            raise
        except BaseException as found:  # noqa: BLE001  # raised again below, outside the group
            error = error or found
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        try:
            yield
        except cancelled:
            raise
        except BaseException as found:  # noqa: BLE001  # raised again below, outside the group
            error = found
    if error is not None:
        raise error


def has_kind(error: BaseException, kind: type[BaseException]) -> bool:
    """Whether an exception is of this kind, or a group with one that is."""
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(kind) is not None
    return isinstance(error, kind)


async def raise_cancellation() -> None:
    """Be cancelled here, if `Task.cancel` has asked for it while something was done that nothing cuts short.

    What waits for that has gone on to its end; a time limit of asyncio that the caller has put around it must
    hear of it before that limit's block ends.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:  # trio: its cancellations are states, and come with the next wait
        return
    if task is not None and task.cancelling():
        await asyncio.sleep(0)


async def is_cancellation(error: BaseException) -> bool:
    """Whether an exception means that the running task is being cancelled, rather than that something in it
    was, or pretends it; raises the cancellation of a scope around the task anew. Call it where the
    exception was caught.
    """
    if isinstance(error, Exception):
        return False
    frame = inspect.currentframe()
    if isinstance(error, GeneratorExit) and frame is not None and _raised_in(error, frame.f_back):
        return True  # the coroutine is thrown away: nothing may be awaited any more
    await anyio.lowlevel.checkpoint_if_cancelled()
    with suppress(RuntimeError):  # on trio, where only scopes cancel
        task = asyncio.current_task()
        return has_kind(error, asyncio.CancelledError) and bool(task and task.cancelling())
    return False


def _raised_in(error: BaseException, frame: FrameType | None) -> bool:
    """Whether an exception began in this frame: that of a coroutine thrown away does so in each of its
    frames anew, one that code inside raised does not.
    """
    return [one for one, _ in traceback.walk_tb(error.__traceback__)][-1] is frame


class HomeLoop:
    """The event loop that an object lives on, so that other threads and loops can use it."""

    def __init__(self) -> None:
        self._thread: int | None = None
        self._token: Any = None
        self._wake: Callable[[Callable[[], object]], object] = lambda _: None

    def enter(self) -> None:
        """Take the running loop as the home; call it there."""
        self._thread, self._token = threading.get_ident(), anyio.lowlevel.current_token()
        self._wake = waker()

    @property
    def is_here(self) -> bool:
        """Whether this is its thread; so it is before it was entered."""
        return self._token is None or self._thread == threading.get_ident()

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Run a function on the loop: at once when this is its thread, else handed over and waited for."""
        if self.is_here:
            return function(*args)
        return anyio.from_thread.run_sync(function, *args, token=self._token)

    async def run(self, function: Async[T]) -> T:
        """Run a coroutine on the loop and wait for it here, on whichever loop that is.

        Cancelling the caller cancels it there.
        """
        if self.is_here:
            return await function()
        scopes: list[anyio.CancelScope] = []
        left = False

        async def scoped() -> T:
            with anyio.CancelScope() as scope:  # made here: a scope belongs to the kind of its loop
                scopes.append(scope)
                if not left:
                    return await function()
            raise anyio.ClosedResourceError  # cancelled from here: nobody waits for the answer

        def leave() -> None:
            nonlocal left
            left = True
            for scope in scopes:
                scope.cancel()

        try:
            return await in_thread(partial(self.run_blocking, scoped))
        except BaseException:
            with suppress(RuntimeError):  # the loop is gone, and what ran there with it
                self._wake(leave)
            raise

    def run_blocking(self, function: Async[T]) -> T:
        """Run a coroutine on the loop from a thread that has none; RuntimeError on the loop's own thread."""
        if self._thread == threading.get_ident():
            raise RuntimeError("this is the thread of the event loop: await the coroutine instead")
        return anyio.from_thread.run(function, token=self._token)


class HomeObject:
    """An object that lives on a home loop, for use from anywhere: its methods run there, async ones too.

    `find` gives the object; it is called on the home loop at every use, and may raise when there is none any
    more.
    """

    def __init__(self, home: HomeLoop, find: Callable[[], object]) -> None:
        self._home, self._find = home, find

    def __getattr__(self, name: str) -> Any:
        """The attribute, a function that runs the method on the home loop where it is one."""
        found = self._home.call(lambda: getattr(self._find(), name))
        if inspect.iscoroutinefunction(found):
            return partial(self._run, name)
        return partial(self._call, name) if callable(found) else found

    async def _run(self, name: str, *args: Any, **keywords: Any) -> Any:
        async def there() -> Any:
            return await getattr(self._find(), name)(*args, **keywords)

        return await self._home.run(there)

    def _call(self, name: str, *args: Any, **keywords: Any) -> Any:
        return self._home.call(lambda: getattr(self._find(), name)(*args, **keywords))


_behind: ContextVar[HomeLoop | None] = ContextVar("behind", default=None)
_running: anyio.lowlevel.RunVar[HomeLoop] = anyio.lowlevel.RunVar("running")


async def in_tool_thread(function: Callable[[], T]) -> T:
    """Run a function in a thread, where `loop_behind` finds this loop; left to itself when cancelled."""
    home = _running.get(None)
    if home is None:
        home = HomeLoop()
        home.enter()
        _running.set(home)

    def there() -> T:
        _behind.set(home)  # in the thread's own copy of the context
        return function()

    return await in_thread(there)


def loop_behind() -> HomeLoop | None:
    """The loop that started this thread and waits for it, or None."""
    home = _behind.get()
    if home is None:
        home = HomeLoop()
        try:
            anyio.from_thread.run_sync(home.enter)
        except RuntimeError:
            return None
    return None if home.is_here else home
