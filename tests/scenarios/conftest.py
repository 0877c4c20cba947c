from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.composition import SYSTEM_PORTS
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel
from hermes.types.event import Event
from hermes.types.message import Message
from hermes.types.ports import Ports

Talk = Callable[..., AbstractAsyncContextManager[Session]]
HASTY = replace(SYSTEM_PORTS, sleep=lambda seconds: anyio.sleep(min(seconds, 0.01)))
"""Nobody sleeps longer than a hundredth of a second: for turns that pause before they try again."""


@pytest.fixture
def talk(environ: dict[str, str], tmp_path: Path) -> Talk:
    """Open a session with a scripted model: `async with talk(model, functions=(tool,)) as session`.

    `ports` may be others, as `HASTY`.
    """
    workspace = tmp_path / "work"
    workspace.mkdir(exist_ok=True)

    @asynccontextmanager
    async def opened(
        model: ScriptedModel, *, ports: Ports = SYSTEM_PORTS, **options: Any
    ) -> AsyncIterator[Session]:
        given = {
            "toolsets": (),
            "cwd": workspace,
            "base_url": "http://127.0.0.1:1/v1",
            "model": "scripted",
            **options,
        }
        async with open_runtime(environ=environ, http=model.http(), ports=ports) as runtime:
            session = await runtime.session(SessionOptions(**given))
            try:
                yield session
            finally:
                await session.close()

    return opened


def kinds(messages: tuple[Message, ...]) -> list[str]:
    return [message.kind for message in messages]


async def events_of(session: Session, text: str) -> list[Event]:
    async with session.stream(text) as stream:
        return [event async for event in stream]
