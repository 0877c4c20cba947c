"""A GGUF model served inside this process, on a free port of 127.0.0.1, in the OpenAI form."""

import hashlib
import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import anyio.to_thread
import httpx2
import psutil

from hermes.lib import lazy
from hermes.models.local import gguf
from hermes.models.local.states import States
from hermes.types.error import ConfigError

MAX_CONTEXT = 16_384
_USUAL_CONTEXT = 8192
_SILENT = -1
_PRIME_SECONDS = 600.0


class LocalServer:
    """A loaded model: its address, the key that requests must carry, its window; it holds the memory until `close`."""

    def __init__(self, path: Path, *, context_window: int = 0, key: str = "", states: Path | None = None) -> None:
        """Load `path`; blocks for seconds. `context_window` is in tokens, 0 takes the model's own; ConfigError if it is no model.

        `states` is a folder for what `prime` keeps.
        """
        library = lazy.load("xllamacpp", extra="local")
        self.key = key or secrets.token_hex(16)
        self.context_window = min(context_window or gguf.context_length(path) or _USUAL_CONTEXT, MAX_CONTEXT)
        self._states = States(states, path.stem) if states else None
        self._fingerprint = [path.stat().st_size if path.is_file() else 0, self.context_window, library.__version__]
        parameters = _parameters(library, path, self.context_window, self.key)
        if states is not None:
            states.mkdir(parents=True, exist_ok=True)
            parameters.slot_save_path = f"{states}/"
        self._server = _serve(library, parameters, path)
        self.base_url = f"{self._server.listening_address}/v1"

    @classmethod
    async def start(cls, path: Path, *, context_window: int = 0, key: str = "", states: Path | None = None) -> Self:
        """The same, loading in a worker thread."""
        return await anyio.to_thread.run_sync(lambda: cls(path, context_window=context_window, key=key, states=states))

    async def prime(self, messages: Sequence[dict[str, Any]], http: httpx2.AsyncClient) -> bool:
        """Take in the messages that every session begins with, from the state kept in `states` if there is one; whether there was.

        Reading a long prompt takes this model seconds to a minute, reading its state from disk a few milliseconds.
        """
        states = self._states
        if states is None:
            return False
        digest = hashlib.sha256(json.dumps([self._fingerprint, list(messages)], sort_keys=True).encode()).hexdigest()[:16]
        name = await anyio.to_thread.run_sync(states.find, digest)
        if name and await self._slot(http, "restore", name):
            return True
        body = {"messages": list(messages), "max_tokens": 1, "temperature": 0}
        read = await http.post(f"{self.base_url}/chat/completions", json=body, headers=self._headers, timeout=_PRIME_SECONDS)
        half = f"{digest}.{secrets.token_hex(4)}"
        if read.is_success and (saved := await self._slot(http, "save", half)):
            await anyio.to_thread.run_sync(states.keep, half, digest, saved["n_written"])
        return False

    async def _slot(self, http: httpx2.AsyncClient, action: str, name: str) -> dict[str, Any]:
        """What the server says of the saved or restored state; empty when it could not."""
        address = f"{self.base_url.removesuffix('/v1')}/slots/0?action={action}"
        response = await http.post(address, json={"filename": name}, headers=self._headers, timeout=_PRIME_SECONDS)
        return dict(response.json()) if response.is_success else {}

    @property
    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}"}

    def close(self) -> None:
        """Stop serving and free the model; a second call does nothing."""
        self._server = None


def _parameters(library: Any, path: Path, context_window: int, key: str) -> Any:
    values = library.CommonParams()
    values.model.path = str(path)
    values.n_ctx = context_window
    values.n_parallel = 1
    values.port = 0
    values.hostnames = ["127.0.0.1"]
    values.ui = False
    values.verbosity = _SILENT
    values.api_keys = [key]
    cores = psutil.cpu_count(logical=False) or 1
    values.cpuparams.n_threads = values.cpuparams_batch.n_threads = cores
    return values


def _serve(library: Any, values: Any, path: Path) -> Any:
    try:
        return library.Server(values)
    except RuntimeError as error:
        raise ConfigError(f"{path} cannot be loaded as a GGUF model: {error}", hint="Name another model file.") from error
