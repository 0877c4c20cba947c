"""Plugins in the home of a test, and a runtime that loads them."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hermes.agent.spec import SessionOptions
from hermes.runtime import Runtime, open_runtime
from hermes.testing import ScriptedModel

Plant = Callable[..., Path]


@pytest.fixture
def plant(environ: dict[str, str]) -> Plant:
    """`plant("weather", code)`: a plugin of the home."""

    def planted(key: str, code: str, manifest: str = "", top: Path | None = None) -> Path:
        folder = (top or Path(environ["HERMES_HOME"]) / "plugins") / key
        folder.mkdir(parents=True)
        (folder / "plugin.yaml").write_text(manifest or f"name: {folder.name}\nversion: 1.0\n")
        (folder / "__init__.py").write_text(code)
        return folder

    return planted


def configure(environ: dict[str, str], **plugins: Any) -> None:
    file = Path(environ["HERMES_HOME"]) / "config.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"plugins: {json.dumps(plugins)}")


@asynccontextmanager
async def opened(environ: dict[str, str], *replies: Any) -> AsyncIterator[Runtime]:
    async with open_runtime(environ=environ, http=ScriptedModel(*replies).http()) as runtime:
        yield runtime


def options(cwd: Path, **more: Any) -> SessionOptions:
    return SessionOptions(base_url="http://127.0.0.1:1/v1", model="m", cwd=cwd, **more)
