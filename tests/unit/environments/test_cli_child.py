"""What a program that carries a job's streams promises: all of the output comes, and nobody is waited for in vain."""

import os
import threading
import time
from functools import partial
from pathlib import Path
from typing import cast

import anyio
import anyio.to_thread
import pytest

from hermes.environments.base import Limits
from hermes.environments.remote.cli_child import start_client
from hermes.environments.supervise import Capture, Followed, follow

pytestmark = pytest.mark.anyio
RECORDS = "printf 'hermes-begin 1\\0hermes-exit 3\\0' >&2"


class Kept:
    """What came."""

    def __init__(self) -> None:
        self.data = b""

    @property
    def total(self) -> int:
        return len(self.data)

    async def take(self, data: bytes) -> None:
        self.data += data

    async def show(self) -> None: ...


async def never(_seconds: float) -> None:
    raise AssertionError("nothing had to be ended")


async def followed(script: str) -> tuple[bytes, int | None, float]:
    child = start_client(("bash", "-c", script), {"PATH": "/usr/bin:/bin"}, stdin=b"", end=never)
    kept, begun = Kept(), time.monotonic()
    try:
        assert not await follow(child, kept, 20, None)
        return kept.data, child.poll(), time.monotonic() - begun
    finally:
        child.release()


async def test_output_that_is_slower_than_the_records_comes_whole() -> None:
    slow = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done"
    data, code, _ = await followed(f"{RECORDS}; {slow}")
    assert (data, code) == (b"1\n2\n3\n4\n5\n6\n", 3)


@pytest.mark.parametrize("keeper", ["sleep 20", "yes"])
async def test_children_that_keep_the_streams_are_not_waited_for(keeper: str) -> None:
    data, code, seconds = await followed(f"echo out; {RECORDS}; exec {keeper}")
    assert (data[:4], code) == (b"out\n", 3)
    assert seconds < 5


class Job:
    """A job that ends while its last output is on its way from the pipe to whoever keeps it."""

    def __init__(self, data: bytes, piece: int = 65_536) -> None:
        self.output, self._writes = os.pipe()
        self._piece = piece
        os.write(self._writes, data)
        os.set_blocking(self.output, False)
        self._read = anyio.Event()

    def read(self) -> bytes | None:
        try:
            data = os.read(self.output, self._piece)
        except BlockingIOError:
            return None
        self._read.set()
        return data

    async def ended(self) -> None:
        await self._read.wait()
        os.close(self._writes)

    async def takes_input(self) -> None: ...

    def close_input(self) -> None: ...


class Slow(Kept):
    """Takes with a pause, as one does that writes to a disk."""

    def __init__(self, pause: float = 0) -> None:
        super().__init__()
        self._pause = pause

    async def take(self, data: bytes) -> None:
        await anyio.sleep(self._pause)
        await super().take(data)


async def test_output_that_was_read_as_the_job_ended_is_not_lost() -> None:
    job, kept = Job(b"last\n"), Slow()
    assert not await follow(cast(Followed, job), kept, 20, None)
    os.close(job.output)
    assert kept.data == b"last\n"


async def test_output_that_waits_in_the_pipe_is_read_however_long_taking_it_lasts() -> None:
    job, kept = Job(b"x" * 40_000, piece=20_000), Slow(0.4)
    assert not await follow(cast(Followed, job), kept, 20, None)
    os.close(job.output)
    assert len(kept.data) == 40_000


async def test_the_time_of_a_flood_runs_out_though_all_threads_are_busy(tmp_path: Path) -> None:
    let_go, limiter = threading.Event(), anyio.to_thread.current_default_thread_limiter()
    capture = Capture(Limits(), tmp_path / "spilled")
    async with anyio.create_task_group() as tasks:
        for _ in range(int(limiter.total_tokens)):
            tasks.start_soon(partial(anyio.to_thread.run_sync, let_go.wait, 60))
        await anyio.wait_all_tasks_blocked()
        assert limiter.available_tokens == 0
        child = start_client(
            ("bash", "-c", f"{RECORDS}; exec yes"), {"PATH": "/usr/bin:/bin"}, stdin=b"", end=never
        )
        await follow(child, capture, 20, None)
        child.release()
        let_go.set()
    assert capture.finish().clipped
