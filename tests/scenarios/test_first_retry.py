"""How long the first attempt after a lost connection waits is a setting."""

from pathlib import Path

import anyio.lowlevel
import pytest
from msgspec.structs import replace

from hermes.agent.spec import SessionOptions
from hermes.composition import SYSTEM_PORTS
from hermes.runtime import open_runtime
from hermes.testing.script import network
from hermes.types.event import Attempted

pytestmark = pytest.mark.anyio


async def at_once(_seconds: float) -> None:
    await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize(
    ("given", "least"), [({}, [0.5, 10.0]), ({"model.first_retry": 5}, [5.0, 10.0])], ids=["default", "5 s"]
)
async def test_the_pause_after_a_lost_connection_begins_with_what_is_set(
    environ: dict[str, str], tmp_path: Path, given: dict[str, object], least: list[float]
) -> None:
    flags = {"model.max_retries": 2, **given}
    ports = replace(SYSTEM_PORTS, sleep=at_once)
    async with open_runtime(environ=environ, http=network({}), ports=ports, flags=flags) as runtime:
        options = SessionOptions(base_url="http://nowhere.test/v1", model="m", cwd=tmp_path)
        session = await runtime.session(options)
        with session.watch() as events:
            end = await session.send("go")
            events.close()
            pauses = [one.delay async for one in events if isinstance(one, Attempted) and one.goes_on]
        await session.close()
    assert end.outcome == "failed"
    assert [low <= pause <= 1.5 * low for low, pause in zip(least, pauses, strict=True)] == [True, True]
