"""A GGUF model served inside this process, on a free port of 127.0.0.1, in the OpenAI form."""

import secrets
from pathlib import Path
from typing import Any, Self

import anyio.to_thread
import psutil

from hermes.lib import lazy
from hermes.models.local import gguf
from hermes.types.error import ConfigError

MAX_CONTEXT = 16_384
_USUAL_CONTEXT = 8192
_SILENT = -1


class LocalServer:
    """A loaded model: its address, the key that requests must carry, its window; it holds the memory until `close`."""

    def __init__(self, path: Path, *, context_window: int = 0, key: str = "") -> None:
        """Load `path`; blocks for seconds. `context_window` is in tokens, 0 takes the model's own; ConfigError if it is no model."""
        library = lazy.load("xllamacpp", extra="local")
        self.key = key or secrets.token_hex(16)
        self.context_window = min(context_window or gguf.context_length(path) or _USUAL_CONTEXT, MAX_CONTEXT)
        self._server = _serve(library, _parameters(library, path, self.context_window, self.key), path)
        self.base_url = f"{self._server.listening_address}/v1"

    @classmethod
    async def start(cls, path: Path, *, context_window: int = 0, key: str = "") -> Self:
        """The same, loading in a worker thread."""
        return await anyio.to_thread.run_sync(lambda: cls(path, context_window=context_window, key=key))

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
