"""How much a model takes in, where the catalogue does not know: as its server lists it, or as an overflow has
stated it; remembered.
"""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from hermes.config.sections import Settings
from hermes.lib.files import write_atomic
from hermes.models.settings import ModelSettings
from hermes.types.request import Endpoint

ASK_SECONDS = 8.0
_NAMES = (
    "loaded_context_length", "max_model_len", "n_ctx", "context_length", "context_window",
    "max_context_length", "inputTokenLimit",
    "max_input_tokens", "max_context_window_tokens", "n_ctx_train",
)  # fmt: skip
_SMALLEST, _LARGEST = 256, 100_000_000


class ContextLimits(Struct):
    """The windows that one home has learned, by address and model.

    A server is asked once in the life of a runtime.
    """

    path: Path
    http: httpx2.AsyncClient
    _known: dict[str, int] | None = None
    _asked: set[str] = field(default_factory=set)

    def of(self, endpoint: Endpoint) -> int:
        """The window that was learned, in tokens; 0 when none was."""
        return self._all().get(_key(endpoint.base_url, endpoint.model), 0)

    def learn(self, endpoint: Endpoint, window: int) -> None:
        """Remember what an overflow said; a smaller number wins over what was listed, for it is what the
        server does.
        """
        known = self.of(endpoint)
        if _SMALLEST <= window <= _LARGEST and (not known or window < known):
            self._all()[_key(endpoint.base_url, endpoint.model)] = window
            self._save()

    async def ask(self, endpoint: Endpoint) -> int:
        """The window as the server lists it, 0 where it does not say; never raises, and asks each server
        once.
        """
        if endpoint.base_url and endpoint.base_url not in self._asked:
            self._asked.add(endpoint.base_url)
            listed = await self._listed(endpoint)
            for name, window in listed.items():
                self._all().setdefault(_key(endpoint.base_url, name), window)
            if listed:
                self._save()
        return self.of(endpoint)

    async def names(self, endpoint: Endpoint) -> tuple[str, ...]:
        """The models that the server lists, by name; none where it does not say, and never raises."""
        return names_in(await self._tree(endpoint))

    async def _listed(self, endpoint: Endpoint) -> dict[str, int]:
        return windows_in(await self._tree(endpoint), asked=endpoint.model)

    async def _tree(self, endpoint: Endpoint) -> Any:
        """What the server answers to the question for its models, None where it does not."""
        headers = (
            {"authorization": f"Bearer {endpoint.credential}", **endpoint.headers}
            if endpoint.credential
            else dict(endpoint.headers)
        )
        with anyio.move_on_after(ASK_SECONDS):
            try:
                answer = await self.http.get(endpoint.base_url.rstrip("/") + "/models", headers=headers)
                return answer.json() if answer.status_code == 200 else None
            except (httpx2.HTTPError, httpx2.InvalidURL, ValueError):
                return None
        return None

    def _all(self) -> dict[str, int]:
        if self._known is None:
            self._known = _read(self.path)
        return self._known

    def _save(self) -> None:
        with contextlib.suppress(OSError):  # a cache: what cannot be kept is asked again
            write_atomic(self.path, json.dumps({**_read(self.path), **self._all()}, indent=1).encode())


def measured(endpoint: Endpoint, settings: Settings, learned: int) -> Endpoint:
    """The endpoint with the window that was learned of it, 0 where none was; what the user set stands."""
    fixed = endpoint.local or settings[ModelSettings].context_window
    if fixed or learned in {0, endpoint.context_window}:
        return endpoint
    return replace(endpoint, context_window=learned)


def learned_window(path: Path, endpoint: Endpoint) -> int:
    """What a home remembers of an endpoint's window, in tokens; 0 when it knows none."""
    return _read(path).get(_key(endpoint.base_url, endpoint.model), 0)


def windows_in(tree: Any, *, asked: str) -> dict[str, int]:
    """Model names with their windows out of a list of models; a server that serves one model answers for
    whatever name was asked.
    """
    found: dict[str, int] = {}
    for row in _rows(tree):
        window = _window(row)
        if window:
            found[_name(row) or asked] = window
    if len(found) == 1 and asked not in found:
        found[asked] = next(iter(found.values()))
    return found


def names_in(tree: Any) -> tuple[str, ...]:
    """Model names out of a list of models, in its order."""
    return tuple(dict.fromkeys(name for row in _rows(tree) if (name := _name(row))))


def _rows(tree: Any) -> list[Mapping[str, Any]]:
    rows = tree.get("data") or tree.get("models") if isinstance(tree, Mapping) else tree
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _name(row: Mapping[str, Any]) -> str:
    return str(row.get("id") or row.get("name") or "").removeprefix("models/")


def _window(row: Mapping[str, Any]) -> int:
    inner = (row.get("meta"), row.get("top_provider"), row.get("limits"))
    places: list[Mapping[str, Any]] = [row, *(value for value in inner if isinstance(value, Mapping))]
    values = (place.get(name) for name in _NAMES for place in places)
    return next((value for value in values if isinstance(value, int) and _SMALLEST <= value <= _LARGEST), 0)


def _read(path: Path) -> dict[str, int]:
    """What is remembered; a file that cannot be read is a cache and is made anew."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, int])
    except (OSError, msgspec.DecodeError):
        return {}


def _key(base_url: str, model: str) -> str:
    return f"{base_url.rstrip('/')} {model}"
