"""Local models of one runtime: find the file, fetch it if need be, serve it once, stop it in the end."""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import httpx2

from hermes.models.local.catalogue import LocalModel, default, find
from hermes.models.local.pull import pull
from hermes.models.local.server import LocalServer
from hermes.types.error import ConfigError
from hermes.types.profile import Profile
from hermes.types.request import Endpoint

Tell = Callable[[str], None]


@dataclass(slots=True)
class LocalModels:
    """Models that run in this process, each served on loopback once however many sessions use it."""

    cache: Path
    http: httpx2.AsyncClient
    _servers: dict[Path, LocalServer] = field(default_factory=dict)
    _lock: anyio.Lock = field(default_factory=anyio.Lock)  # invariant: one server per model file

    async def ready(self, endpoint: Endpoint, opening: Sequence[dict[str, Any]], tell: Tell) -> Endpoint:
        """The endpoint with the address of its running model, which has read `opening`, the messages every session begins with.

        `tell` hears what takes time: reading the opening does so once, its state is kept beside the models.
        """
        check_engine()
        async with self._lock:
            found = find(endpoint.model) if endpoint.model else default()
            path = await self._file(found, tell)
            if path not in self._servers:
                tell("Loading the model …")
                self._servers[path] = await LocalServer.start(path, context_window=_window(found), states=self.cache / "states")
                tell("Reading its instructions (this takes a while the first time) …")
                await self._servers[path].prime(opening, self.http)
            server = self._servers[path]
        name = found.alias if isinstance(found, LocalModel) else path.stem
        family = found.family if isinstance(found, LocalModel) else ""
        window = server.context_window
        return replace(
            endpoint, base_url=server.base_url, model=name, profile=Profile(family=family), credential=server.key, context_window=window
        )

    def close(self) -> None:
        """Stop every model."""
        while self._servers:
            self._servers.popitem()[1].close()

    async def _file(self, found: LocalModel | Path, tell: Tell) -> Path:
        if isinstance(found, Path):
            return found
        shown = _Shares(tell, found.alias)
        return await pull(found, self.cache, progress=shown)


def check_engine() -> None:
    """ConfigError with what to install when the engine for local models is not there; asked before anything is fetched."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise ConfigError(
            "The built-in model needs xllamacpp, which is not installed: pip install 'hermes-agent[local]'"
            " (in a clone: pip install '.[local]'). Or choose another model with --model or --base-url."
        )


class _Shares:
    """Progress in steps of ten per cent."""

    def __init__(self, tell: Tell, name: str) -> None:
        self._tell, self._name, self._last = tell, name, -1

    def __call__(self, done: int, total: int) -> None:
        tenth = done * 10 // max(total, 1)
        if tenth > self._last and done < total:
            self._last = tenth
            self._tell(f"Fetching {self._name}: {tenth * 10} % of {total / 1e6:.0f} MB")


def _window(found: LocalModel | Path) -> int:
    return found.context_window if isinstance(found, LocalModel) else 0
