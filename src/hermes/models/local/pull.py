"""Fetch a model file once: in pieces, resumable, checked against its sum, put in place whole."""

import errno
import hashlib
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import filelock

from hermes.lib.http import new_client
from hermes.models.local.catalogue import Download, LocalModel, Source
from hermes.models.local.sources import Unfetched, fetch_url, fetch_wheels
from hermes.types.error import ConfigError

Progress = Callable[[int, int], None]

_LOCK_POLL = 0.2
_CHUNK = 1 << 20


async def pull(model: LocalModel, cache: Path, *, progress: Progress, python: str = sys.executable) -> Path:
    """The model's file in `cache`, fetched when it is not there; `progress` gets bytes done and in all.

    ConfigError in one sentence when no source can be reached, the disk is full, or what came is not the file.
    """
    target = cache / f"{model.alias}.gguf"
    if _complete(target, model):
        return target
    try:
        await anyio.Path(cache).mkdir(parents=True, exist_ok=True)
        async with _alone(cache / f".{model.alias}.lock"):
            if not _complete(target, model):
                await _fetch(model, target, progress, python)
    except OSError as error:
        raise _disk_fault(error, model, cache) from error
    return target


def _complete(target: Path, model: LocalModel) -> bool:
    return target.is_file() and target.stat().st_size == model.size


async def _fetch(model: LocalModel, target: Path, progress: Progress, python: str) -> None:
    folder = target.with_suffix(".partial")
    folder.mkdir(exist_ok=True)
    _check_room(model, folder)
    reasons = []
    for number, source in enumerate(model.sources):
        pieces = folder / str(number)
        pieces.mkdir(exist_ok=True)
        try:
            await _from_source(source, pieces, _Counter(model.size, progress), python)
            await anyio.to_thread.run_sync(_assemble, sorted(pieces.glob("*.piece")), folder / "whole", model)
        except Unfetched as error:
            reasons.append(str(error))
            continue
        (folder / "whole").replace(target)
        shutil.rmtree(folder)
        return
    hint = "Check the network, or name a GGUF file that you have: hermes --model local//path/to/model.gguf"
    raise ConfigError(f"The model {model.alias} could not be fetched: {'; '.join(reasons)}.", key="model.default", hint=hint)


async def _from_source(source: Source, folder: Path, arrived: Callable[[int], None], python: str) -> Sequence[Path]:
    if isinstance(source, Download):
        async with new_client() as client:
            return await fetch_url(source, folder, arrived, client)
    return await fetch_wheels(source, folder, arrived, python)


class _Counter:
    """Adds up what arrived and tells the caller."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._done, self._total, self._progress = 0, total, progress

    def __call__(self, size: int) -> None:
        self._done += size
        self._progress(self._done, self._total)


def _assemble(pieces: Sequence[Path], whole: Path, model: LocalModel) -> None:
    """Join the pieces; when the sum is wrong they are thrown away, so that the next try is a fresh one."""
    digest = hashlib.sha256()
    with whole.open("wb") as stream:
        for piece in pieces:
            with piece.open("rb") as part:
                while chunk := part.read(_CHUNK):
                    digest.update(chunk)
                    stream.write(chunk)
    if digest.hexdigest() == model.sha256:
        return
    for path in (whole, *pieces):
        path.unlink()
    raise Unfetched(f"what came is not {model.name}: its sha256 is {digest.hexdigest()}, not {model.sha256}")


def _check_room(model: LocalModel, folder: Path) -> None:
    """Pieces and the whole stand side by side for a moment; better to say so now than after a long download."""
    have = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if shutil.disk_usage(folder).free + have < 2 * model.size:
        raise OSError(errno.ENOSPC, "not enough room")


def _disk_fault(error: OSError, model: LocalModel, cache: Path) -> ConfigError:
    if error.errno == errno.ENOSPC:
        room = f"{2 * model.size / 1e9:.1f} GB"
        return ConfigError(
            f"Fetching the model {model.alias} needs {room} free in {cache}.", hint="Free some space or set another cache folder."
        )
    return ConfigError(f"The model {model.alias} cannot be written to {cache}: {error.strerror or error}.")


@asynccontextmanager
async def _alone(path: Path) -> AsyncIterator[None]:
    """Hold the lock file; waits for another process that is fetching the same model, and can be cancelled while it does."""
    lock = filelock.FileLock(path, thread_local=False)
    while True:
        try:
            lock.acquire(timeout=0)
            break
        except filelock.Timeout:
            await anyio.sleep(_LOCK_POLL)
    try:
        yield
    finally:
        lock.release()
