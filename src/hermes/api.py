"""Layer 10. The library in one call: open a session, use it, and everything is closed after it."""

import inspect
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack

import httpx2

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.composition import SYSTEM_PORTS
from hermes.models.settings import Effort
from hermes.runtime import open_runtime
from hermes.tools.function import FunctionTool
from hermes.types.actor import Actor
from hermes.types.capabilities import Capabilities
from hermes.types.ports import Ports


class OpenOptions(TypedDict, total=False):
    """What `hermes.open` and `hermes.sync.open` take; what is left out takes what is configured.

    `model` is a name at `base_url`, or `provider/name`; `api_key` stands for the keys that are configured.
    `tools` are functions made with `@hermes.tool`; `toolsets` adds built-in ones (`terminal`, `file`, …),
    none by default; `deps` is what functions get as `ctx.deps`. With `attended`, questions come as `Asked`
    events and wait for `session.answer`; without it their answer is no. `resume` names a stored session (id,
    start of an id, title, `latest`), which keeps its model unless one is given; `system` replaces the prompt,
    `ephemeral` follows it and is never stored. `max_steps` are the model calls of one turn before one or two
    that sum it up, `max_cost` the US dollars that may be spent while it is open, `effort` how hard the model
    thinks. `actor` is who uses the session, `source` the app's name in lists, `capabilities` what it may do
    at most. `environ`, `http` and `ports` stand for the process environment, the network and the clock.
    """

    model: str
    base_url: str
    api_key: str
    tools: Sequence[FunctionTool]
    toolsets: str | Sequence[str]
    deps: Any
    cwd: str | Path
    attended: bool
    resume: str
    system: str
    ephemeral: str
    source: str
    yolo: bool
    max_steps: int
    max_cost: float
    effort: Effort
    actor: Actor
    parent: str
    capabilities: Capabilities
    profile: str
    environ: Mapping[str, str]
    http: httpx2.AsyncClient
    ports: Ports


_LIBRARY: Final = {"source": "library", "attended": False}


@asynccontextmanager
async def open_session(**given: Unpack[OpenOptions]) -> AsyncIterator[Session]:
    """A session on any endpoint, closed at the end of the `async with`; keywords as in `OpenOptions`.

    TypeError for another keyword; ConfigError and StoreError say what cannot be.
    """
    unknown = given.keys() - OpenOptions.__annotations__.keys()
    if unknown:
        known = ", ".join(OpenOptions.__annotations__)
        raise TypeError(f"hermes.open takes no {', '.join(sorted(unknown))}; it takes {known}.")
    async with open_runtime(
        environ=given.get("environ"),
        profile=given.get("profile", ""),
        http=given.get("http"),
        ports=given.get("ports", SYSTEM_PORTS),
    ) as runtime:
        session = await runtime.session(_options(given))
        try:
            yield session
        finally:
            await session.close()


def _options(given: OpenOptions) -> SessionOptions:
    toolsets, known = given.get("toolsets", ()), SessionOptions.__struct_fields__
    chosen = {name: value for name, value in given.items() if name in known}
    chosen |= {
        "functions": tuple(given.get("tools", ())),
        "toolsets": (toolsets,) if isinstance(toolsets, str) else tuple(toolsets),
        "cwd": Path(given.get("cwd", ".")),
    }
    return SessionOptions(**{**_LIBRARY, **chosen})  # type: ignore[arg-type]  # each as OpenOptions says


def _signature() -> inspect.Signature:
    """The keywords one by one, for `help`, notebooks and editors that run the code; type checkers read them
    from `OpenOptions`.
    """
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=..., annotation=hint)
        for name, hint in OpenOptions.__annotations__.items()
    ]
    return inspect.Signature(keywords, return_annotation=Session)


open_session.__signature__ = _signature()  # type: ignore[attr-defined]
