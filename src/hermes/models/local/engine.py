"""The engine of one local model, a program of its own: it loads a file, serves it on loopback, and ends with
whoever started it.

It reads a line of JSON (path, context_window, key, states) and writes one (address and version, or error).
Nobody can stop the engine's threads while they read a prompt, so that only the end of their process does.
"""

import json
import os
import sys
from typing import Any, Final

import psutil

from hermes.lib.lazy import import_object

_SILENT: Final = -1


def main() -> None:
    """Load, tell where it serves, and stay until the input ends."""
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the engine prints is no answer
    print(json.dumps(_serve(json.loads(sys.stdin.readline()))), file=told, flush=True)
    sys.stdin.read()
    os._exit(0)  # its threads may be at work


def _serve(asked: dict[str, Any]) -> dict[str, str]:
    library = import_object("xllamacpp", extra="local")
    try:
        _kept.append(library.Server(_parameters(library, asked)))
    except RuntimeError as error:
        return {"error": str(error)}
    return {"address": f"{_kept[0].listening_address}/v1", "version": library.__version__}


_kept: list[Any] = []
"""The server, which serves as long as somebody has it."""


def _parameters(library: Any, asked: dict[str, Any]) -> Any:
    values = library.CommonParams()
    values.model.path = asked["path"]
    values.n_ctx = asked["context_window"]
    values.n_parallel = 1
    values.port = 0
    values.hostnames = ["127.0.0.1"]
    values.ui = False
    values.verbosity = _SILENT
    values.api_keys = [asked["key"]]
    if asked["states"]:
        values.slot_save_path = f"{asked['states']}/"
    values.cpuparams.n_threads = values.cpuparams_batch.n_threads = usable_cores()
    return values


def usable_cores() -> int:
    """The cores that this process may use, as `taskset` and the CPU sets of containers say."""
    cores = psutil.cpu_count(logical=False) or 1
    if not hasattr(psutil.Process, "cpu_affinity"):
        return cores
    return min(cores, len(psutil.Process().cpu_affinity()))


if __name__ == "__main__":
    main()
