"""A home with MCP servers, and its runtime."""

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hermes.runtime import Runtime, open_runtime

HOSTILE = Path(__file__).with_name("hostile_server.py")
Opened = Callable[..., AbstractAsyncContextManager[Runtime]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the hostile server may write."""
    made = tmp_path / "kept"
    made.mkdir()
    return made


@pytest.fixture
def hostile(folder: Path) -> Callable[..., dict[str, Any]]:
    """The settings of a server that behaves like this."""

    def made(mode: str, **more: Any) -> dict[str, Any]:
        return {
            "command": sys.executable,
            "args": ["-I", str(HOSTILE), mode, str(folder)],
            "sandbox": {"paths": [str(folder)]},
            "trust": "full",
            **more,
        }

    return made


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """Opens a runtime on a home with these servers, and variables of the environment."""

    @asynccontextmanager
    async def open_with(
        servers: Mapping[str, Any], http: Any = None, flags: Any = None, **environ: str
    ) -> AsyncIterator[Runtime]:
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        (home / "config.yaml").write_text(json.dumps({"mcp_servers": servers}))
        known = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "user"), "HERMES_HOME": str(home)}
        (tmp_path / "user").mkdir(exist_ok=True)
        async with open_runtime(environ={**known, **environ}, http=http, flags=flags) as runtime:
            yield runtime

    return open_with


async def call(runtime: Runtime, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool gives, without a session."""
    entry = runtime.registry.get_entry(tool)
    assert entry is not None, f"there is no {tool}; there are {runtime.mcp.entries().keys()}"
    text = await entry.handler(arguments)  # type: ignore[misc]  # those of servers are async
    found: dict[str, Any] = json.loads(text)
    return found
