"""Plain functions and guest loops in daemon threads."""

import os
import signal

import anyio
import pytest

from hermes.lib.guest_loops import GuestLoops
from hermes.lib.threads import in_thread


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_forked_process_has_threads_and_loops_of_its_own(backend: str) -> None:
    loops = GuestLoops()

    async def guest() -> str:
        return "guest"

    async def work() -> tuple[str, str]:
        return await in_thread(lambda: "thread"), await loops.run(guest, seconds=20)

    assert anyio.run(work, backend=backend) == ("thread", "guest")  # each has an idle one from now on
    if (pid := os.fork()) == 0:
        signal.alarm(20)
        os._exit(0 if anyio.run(work, backend=backend) == ("thread", "guest") else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    loops.close()
