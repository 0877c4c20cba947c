"""The thread that runs functions in order, alone or in batches."""

import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from anyio.abc import TaskGroup

from hermes.lib.worker import Worker, WorkerClosedError

pytestmark = pytest.mark.anyio


class Diary:
    """What happens in a worker's thread, in order; a batch whose number is in `refused` cannot begin."""

    def __init__(self, *, refused: tuple[int, ...] = ()) -> None:
        self.lines: list[str] = []
        self.free = threading.Event()
        self._batches, self._refused = 0, refused

    @contextmanager
    def batch(self) -> Iterator[None]:
        self._batches += 1
        if self._batches in self._refused:
            raise OSError(f"no batch {self._batches}")
        self.lines.append("begin")
        try:
            yield
        except ValueError:
            self.lines.append("undo")
            raise
        self.lines.append("commit")

    def note(self, line: str) -> str:
        self.lines.append(line)
        return line.upper()

    def fail(self, line: str) -> str:
        self.lines.append(line)
        raise ValueError(line)

    def wait(self) -> None:
        assert self.free.wait(20)
        self.lines.append("first")


@asynccontextmanager
async def worker(diary: Diary) -> AsyncIterator[Worker]:
    opened = Worker("test", batch=diary.batch, idle=lambda: None, pause=60)
    try:
        yield opened
    finally:
        diary.free.set()
        await opened.close()


async def started(group: TaskGroup, job: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> None:
    """Start a task, and let it come as far as it does."""
    group.start_soon(job, *args)
    await anyio.wait_all_tasks_blocked()


async def told(worker: Worker, into: dict[str, str], write: Callable[[str], str], line: str) -> None:
    """Have one line written, and note what the caller learns."""
    try:
        into[line] = await worker.run_batched(write, line)
    except (ValueError, OSError, WorkerClosedError) as error:
        into[line] = repr(error)


async def test_what_is_asked_for_while_a_batch_is_under_way_runs_in_the_next_one() -> None:
    diary, answers = Diary(), dict[str, str]()
    async with worker(diary) as opened, anyio.create_task_group() as group:
        await started(group, opened.run_batched, diary.wait)
        for line in ("a", "b", "c"):
            await started(group, told, opened, answers, diary.note, line)
        assert answers == {}
        diary.free.set()
    assert diary.lines == ["begin", "first", "commit", "begin", "a", "b", "c", "commit"]
    assert answers == {"a": "A", "b": "B", "c": "C"}


async def test_what_fails_in_a_batch_fails_alone() -> None:
    diary, answers = Diary(), dict[str, str]()
    async with worker(diary) as opened, anyio.create_task_group() as group:
        await started(group, opened.run_batched, diary.wait)
        for line, write in (("a", diary.note), ("b", diary.fail), ("c", diary.note)):
            await started(group, told, opened, answers, write, line)
        diary.free.set()
    assert diary.lines[3:] == [
        *("begin", "a", "b", "undo"),
        *("begin", "a", "commit"),
        *("begin", "b", "undo"),
        *("begin", "c", "commit"),
    ]
    assert answers == {"a": "A", "b": "ValueError('b')", "c": "C"}


async def test_a_batch_that_cannot_begin_fails_for_all_and_is_not_tried_for_each() -> None:
    diary, answers = Diary(refused=(2,)), dict[str, str]()
    async with worker(diary) as opened, anyio.create_task_group() as group:
        await started(group, opened.run_batched, diary.wait)
        for line in ("a", "b"):
            await started(group, told, opened, answers, diary.note, line)
        diary.free.set()
    assert diary.lines == ["begin", "first", "commit"]
    assert answers == {"a": "OSError('no batch 2')", "b": "OSError('no batch 2')"}


async def test_what_runs_alone_runs_after_all_that_was_asked_for_before() -> None:
    diary, answers = Diary(), dict[str, str]()
    async with worker(diary) as opened, anyio.create_task_group() as group:
        await started(group, opened.run_batched, diary.wait)
        await started(group, told, opened, answers, diary.note, "a")
        await started(group, opened.run, diary.note, "alone")
        await started(group, told, opened, answers, diary.note, "b")
        diary.free.set()
    assert diary.lines[3:] == ["begin", "a", "commit", "alone", "begin", "b", "commit"]


async def test_what_waits_for_its_batch_is_done_when_its_caller_is_cancelled() -> None:
    diary, learnt = Diary(), list[str]()

    async def write() -> None:
        learnt.append(await opened.run_batched(diary.note, "a"))
        await anyio.lowlevel.checkpoint()
        learnt.append("not reached")

    async with worker(diary) as opened, anyio.create_task_group() as group:
        await started(group, opened.run_batched, diary.wait)
        await started(group, write)
        group.cancel_scope.cancel()
        diary.free.set()
    assert (diary.lines[3:], learnt) == (["begin", "a", "commit"], ["A"])


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_loop_that_ended_in_the_middle_of_a_batch_holds_up_no_other() -> None:
    """One that is stopped runs nothing any more: neither its tasks nor what the thread tells it."""
    import asyncio  # its own way of stopping

    diary = Diary()

    def stopped_loop(opened: Worker) -> None:
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda *_: None)  # its tasks never end
        loop.create_task(opened.run_batched(diary.wait))  # noqa: RUF006
        loop.create_task(opened.run_batched(diary.note, "never handed over"))  # noqa: RUF006
        loop.call_soon(loop.stop)
        loop.run_forever()
        loop.close()

    async with worker(diary) as opened:
        await anyio.to_thread.run_sync(stopped_loop, opened)
        diary.free.set()
        assert await opened.run_batched(diary.note, "a") == "A"
    assert diary.lines == ["begin", "first", "commit", "begin", "a", "commit"]


async def test_what_one_loop_still_wants_when_another_has_closed_is_refused_and_does_not_hang() -> None:
    diary, answers = Diary(), dict[str, str]()
    opened = Worker("test", batch=diary.batch, idle=lambda: None, pause=60)
    async with anyio.create_task_group() as group:
        await started(group, opened.run_batched, diary.wait)
        await started(group, told, opened, answers, diary.note, "a")
        closing = threading.Thread(target=anyio.run, args=(opened.close,))
        closing.start()
        diary.free.set()
        closing.join(20)  # this loop stands still meanwhile: what it hands over comes too late
    assert (diary.lines, answers) == (["begin", "first", "commit"], {"a": "WorkerClosedError()"})
    for ask in (opened.run_batched, opened.run, opened.run_batched):
        with pytest.raises(WorkerClosedError), anyio.fail_after(20):
            await ask(diary.note, "b")


async def test_a_fault_in_a_quiet_moment_holds_up_nobody(caplog: pytest.LogCaptureFixture) -> None:
    diary, quiet = Diary(), threading.Event()

    def idle() -> None:
        quiet.set()
        raise OverflowError

    opened = Worker("test", batch=diary.batch, idle=idle, pause=0.01)
    await opened.run(diary.note, "a")
    assert await anyio.to_thread.run_sync(quiet.wait, 20)
    assert await opened.run(diary.note, "b") == "B"
    await opened.close()
    assert "OverflowError" in caplog.text
