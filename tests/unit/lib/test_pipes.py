import os
import threading
from itertools import pairwise

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.lib.pipes import CHUNK, pipe_reader

pytestmark = pytest.mark.anyio


async def read_all(descriptor: int) -> tuple[bytes, int]:
    found, longest = bytearray(), 0
    async with pipe_reader(descriptor) as read:
        while chunk := await read():
            found += chunk
            longest = max(longest, len(chunk))
    return bytes(found), longest


@given(chunks=st.lists(st.binary(max_size=300), max_size=20), backend=st.sampled_from(["asyncio", "trio"]))
def test_all_that_is_written_is_read_in_order_until_the_end(chunks: list[bytes], backend: str) -> None:
    output, input_ = os.pipe()

    async def run() -> bytes:
        for chunk in chunks:
            os.write(input_, chunk)
        os.close(input_)
        return (await read_all(output))[0]

    assert anyio.run(run, backend=backend) == b"".join(chunks)
    os.close(output)


async def test_a_flood_comes_in_bounded_pieces_and_waits_for_who_reads() -> None:
    output, input_ = os.pipe()
    sizes: list[int] = []

    def flood() -> None:
        for _ in range(64):
            sizes.append(sum(sizes[-1:]) + os.write(input_, b"x" * CHUNK))
        os.close(input_)

    writer = threading.Thread(target=flood)
    async with pipe_reader(output) as read:
        writer.start()
        first = await read()
        with anyio.move_on_after(0.2):
            await anyio.sleep_forever()
        held = sizes[-1] if sizes else 0
        rest = bytearray(first)
        while chunk := await read():
            assert len(chunk) <= CHUNK
            rest += chunk
    writer.join()
    os.close(output)
    assert rest == b"x" * CHUNK * 64
    assert held < CHUNK * 16
    assert all(one < another for one, another in pairwise(sizes))


async def test_the_descriptor_stays_open_for_its_owner() -> None:
    output, input_ = os.pipe()
    async with pipe_reader(output) as read:
        os.write(input_, b"first")
        assert await read() == b"first"
    await anyio.lowlevel.checkpoint()
    os.write(input_, b"second")
    os.set_blocking(output, True)
    assert os.read(output, 10) == b"second"
    os.close(output)
    os.close(input_)


async def test_who_waits_can_be_cancelled_and_reads_later_what_came() -> None:
    output, input_ = os.pipe()
    async with pipe_reader(output) as read:
        with anyio.move_on_after(0.01):
            await read()
        os.write(input_, b"late")
        assert await read() == b"late"
    os.close(output)
    os.close(input_)
