"""What calls have started is ended with them, also where many end at once and share a look at the processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import psutil
import pytest

from hermes.environments.process_tree import MARKER, end

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
LEAVES = "import subprocess, time; subprocess.Popen(['sleep', '500'], start_new_session=True); open({!r}, 'w'); time.sleep(500)"
TELLS = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); open({!r}, 'w'); time.sleep(500)"


def started(words: str, marker: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", words], env={**os.environ, MARKER: marker}, start_new_session=True
    )


async def there(*files: Path) -> None:
    with anyio.fail_after(30):
        while not all(file.exists() for file in files):  # noqa: ASYNC110  # a process makes them
            await anyio.sleep(0.02)


def carrying(*markers: str) -> list[int]:
    found = []
    for one in psutil.process_iter():
        try:
            if one.environ().get(MARKER) in markers and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one.pid)
        except psutil.Error:
            continue
    return found


async def test_of_calls_that_are_ended_at_once_nothing_is_left(tmp_path: Path) -> None:
    files = [tmp_path / str(number) for number in range(6)]
    markers = [f"{tmp_path}-{number}" for number in range(6)]
    calls = [started(LEAVES.format(str(file)), mark) for file, mark in zip(files, markers, strict=True)]
    await there(*files)
    assert len(carrying(*markers)) == 12
    async with anyio.create_task_group() as group:
        for one, mark in zip(calls, markers, strict=True):
            group.start_soon(end, one.pid, mark, one.poll, 5.0)
    assert carrying(*markers) == []


async def test_one_that_began_after_the_last_look_is_told_to_end_first(tmp_path: Path) -> None:
    marker, file = str(tmp_path), tmp_path / "ready"
    first = started("import time; time.sleep(500)", marker + "first")
    second = started(TELLS.format(str(file)), marker)
    await there(file)
    looked = anyio.Event()

    def poll() -> int | None:
        looked.set()
        return first.poll()

    async with anyio.create_task_group() as group:
        group.start_soon(end, first.pid, marker + "first", poll, 5.0)
        await looked.wait()
        late = started(TELLS.format(str(tmp_path / "late")), marker + "late")
        await there(tmp_path / "late")
        group.start_soon(end, late.pid, marker + "late", late.poll, 30.0)
        group.start_soon(end, second.pid, marker, second.poll, 30.0)
    assert (first.poll(), second.poll(), late.poll()) == (-signal.SIGTERM, 7, 7)
