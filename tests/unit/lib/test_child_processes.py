"""Children of an event loop end with their block, say what they printed, and make nobody warn."""

import logging
import os
import random
import signal
import sys

import anyio
import pytest

from hermes.lib.child_processes import open_process, run_process

pytestmark = pytest.mark.anyio


async def test_a_child_that_ends_while_it_is_left_makes_nobody_warn(caplog: pytest.LogCaptureFixture) -> None:
    chosen = random.Random(7)
    with caplog.at_level(logging.WARNING):
        for _ in range(200):
            with anyio.move_on_after(chosen.uniform(0, 0.004)):
                await run_process(["cat"], given=b"x")
    assert caplog.messages == []


async def test_what_is_given_comes_back_with_errors_and_exit_code() -> None:
    done = await run_process(["sh", "-c", "cat; echo no >&2; exit 3"], given=b"x" * 300_000)
    assert (done.stdout, done.stderr, done.returncode) == (b"x" * 300_000, b"no\n", 3)


async def test_a_child_that_reads_nothing_is_no_error() -> None:
    done = await run_process([sys.executable, "-c", "print(1)"], given=b"x" * 3_000_000)
    assert (done.stdout, done.stderr, done.returncode) == (b"1\n", b"", 0)


@pytest.mark.parametrize("given", [b"", b"x" * 3_000_000])
async def test_a_child_of_the_child_that_keeps_its_pipes_holds_nobody_up(given: bytes) -> None:
    with anyio.fail_after(60):
        done = await run_process(["sh", "-c", "sleep 120 <&0 & echo $!"], given=given)
    os.kill(int(done.stdout), signal.SIGKILL)
    assert (done.stderr, done.returncode) == (b"", 0)


async def test_what_still_runs_after_the_block_is_killed() -> None:
    async with open_process(["sleep", "60"]) as process:
        pass
    assert process.returncode == -9
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


async def test_what_cannot_be_started_is_an_oserror() -> None:
    with pytest.raises(FileNotFoundError):
        await run_process(["/nowhere/at/all"])
