"""Layer 10. The library in one call: open a session, use it, and everything is closed after it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypedDict, Unpack

import httpx2

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.composition import SYSTEM_PORTS
from hermes.runtime import open_runtime
from hermes.tools.function import FunctionTool
from hermes.types.actor import Actor
from hermes.types.capabilities import ALL, Capabilities
from hermes.types.ports import Ports


class OpenOptions(TypedDict, total=False):
    """What `hermes.open` and `hermes.sync.open` take; what is left out takes what is configured.

    `model` is a name at `base_url`, or `provider/name`; `api_key` stands for the keys that are configured.
    `tools` are functions made with `@hermes.tool`; `toolsets` adds built-in ones (`terminal`, `file`, …),
    none by default. With `attended`, questions come as `Asked` events and wait for `session.answer`; without
    it their answer is no. `resume` names a stored session (id, start of an id, title, `latest`), `system`
    replaces the prompt, `ephemeral` follows it and is never stored, `actor` is who uses the session, `source`
    the app's name in lists,
    `capabilities` what it may do at most. `environ`, `http`
    and `ports` stand for the process environment, the network and the clock.
    """

    model: str
    base_url: str
    api_key: str
    tools: Sequence[FunctionTool]
    toolsets: Sequence[str]
    cwd: str | Path
    attended: bool
    resume: str
    system: str
    ephemeral: str
    source: str
    yolo: bool
    max_steps: int
    actor: Actor
    parent: str
    capabilities: Capabilities
    profile: str
    environ: Mapping[str, str]
    http: httpx2.AsyncClient
    ports: Ports


@asynccontextmanager
async def open_session(**given: Unpack[OpenOptions]) -> AsyncIterator[Session]:
    """A session on any endpoint, closed at the end of the `async with`; keywords as in `OpenOptions`.

    TypeError for another keyword; ConfigError and StoreError say what cannot be.
    """
    unknown = given.keys() - OpenOptions.__annotations__.keys()
    if unknown:
        known = ", ".join(OpenOptions.__annotations__)
        raise TypeError(f"hermes.open takes no {', '.join(sorted(unknown))}; it takes {known}.")
    options = SessionOptions(
        resume=given.get("resume", ""),
        model=given.get("model", ""),
        base_url=given.get("base_url", ""),
        api_key=given.get("api_key", ""),
        toolsets=_names(given.get("toolsets", ())),
        functions=tuple(given.get("tools", ())),
        system=given.get("system", ""),
        ephemeral=given.get("ephemeral", ""),
        cwd=Path(given.get("cwd", ".")),
        source=given.get("source", "library"),
        yolo=given.get("yolo", False),
        attended=given.get("attended", False),
        max_steps=given.get("max_steps", 0),
        actor=given.get("actor"),
        parent=given.get("parent", ""),
        capabilities=given.get("capabilities", ALL),
    )
    async with open_runtime(
        environ=given.get("environ"),
        profile=given.get("profile", ""),
        http=given.get("http"),
        ports=given.get("ports", SYSTEM_PORTS),
    ) as runtime:
        session = await runtime.session(options)
        try:
            yield session
        finally:
            await session.close()


def _names(given: Sequence[str]) -> tuple[str, ...]:
    """Several names, or one that was given without a list."""
    return (given,) if isinstance(given, str) else tuple(given)
