"""What a program that carries a job's streams promises: all of the output comes, and nobody is waited for in vain."""

import time

import pytest

from hermes.environments.remote.cli_child import start_client
from hermes.environments.supervise import follow

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
