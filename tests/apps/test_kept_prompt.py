"""What the real local server says of its cache: over a long conversation it reads nearly nothing twice (invariant 10, decision 7)."""

from pathlib import Path

import pytest

import hermes
from hermes.models.local.serving import LocalServer
from hermes.types.event import Event, PrefixBroken
from hermes.types.message import Assistant
from tests.small_model import small_model

pytestmark = [pytest.mark.anyio, pytest.mark.real_model, pytest.mark.timeout(900)]

TURNS = 30
SYSTEM = " ".join(["You answer every question with one short word and nothing else."] * 12)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_over_thirty_turns_95_percent_of_the_prompt_are_cache_reads(
    environ: dict[str, str], tmp_path: Path
) -> None:
    path = await small_model()
    server = await LocalServer.start(path, context_window=4096)
    home = Path(environ["HERMES_HOME"])
    home.mkdir()
    (home / "config.yaml").write_text("model: {api_key_env: LOCAL_KEY, max_output: 2, temperature: 0}\n")
    events: list[Event] = []
    try:
        own = {**environ, "LOCAL_KEY": server.key}
        async with hermes.open(
            base_url=server.base_url, model="m", system=SYSTEM, environ=own, cwd=tmp_path
        ) as session:
            with session.watch() as listener:
                for number in range(TURNS):
                    await session.send(f"Is {number} even?")
                listener.close()
                events = [event async for event in listener]
            used = [message.usage for message in session.log if isinstance(message, Assistant)]
    finally:
        server.close()
    assert len(used) == TURNS
    read, prompt = sum(one.cache_read for one in used[1:]), sum(one.input_tokens for one in used[1:])
    assert read / prompt >= 0.95, f"{read} of {prompt} prompt tokens came from the cache"
    assert not [event for event in events if isinstance(event, PrefixBroken)]
