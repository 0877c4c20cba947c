"""Layer 10. The library in one call: open a session, use it, and everything is closed after it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hermes.agent.session import Session
from hermes.runtime import SessionOptions, open_runtime
from hermes.tools.function import FunctionTool


@asynccontextmanager
async def open_session(
    *,
    model: str = "",
    base_url: str = "",
    tools: Sequence[FunctionTool] = (),
    toolsets: Sequence[str] = (),
    cwd: str | Path = ".",
    attended: bool = False,
    **more: Any,
) -> AsyncIterator[Session]:
    """A session on any endpoint, closed at the end of the `async with`.

    `tools` are functions made with `@hermes.tool`; `toolsets` adds built-in ones (`terminal`, `file`, …), none by default.
    With `attended`, questions come as `Asked` events and wait for `session.answer`; without it their answer is no.
    Other keywords are fields of `SessionOptions`; `environ` and `http` stand for the environment and the network, as in `open_runtime`.
    """
    ports = {name: more.pop(name) for name in ("environ", "http", "ports", "profile") if name in more}
    options = SessionOptions(
        model=model,
        base_url=base_url,
        functions=tuple(tools),
        toolsets=tuple(toolsets),
        cwd=Path(cwd),
        attended=attended,
        source=more.pop("source", "library"),
        **more,
    )
    async with open_runtime(**ports) as runtime:
        session = await runtime.session(options)
        try:
            yield session
        finally:
            await session.close()
