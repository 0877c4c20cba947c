"""A model whose digest only its hub tells, against a server that speaks as one: redirects to where the file is
stored, ranges, headers with digest and size.
"""

import hashlib
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

from hermes.models.local.catalogue import Download, LocalModel, is_whole
from hermes.models.local.pull import pull
from hermes.types.error import ConfigError

pytestmark = pytest.mark.anyio

CONTENT = bytes(range(256)) * 4000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Hub(Struct):
    """What the server gives: `breaks` are the numbers of bytes after which its connections end, one each."""

    content: bytes = CONTENT
    digest: str = DIGEST
    breaks: list[int] = []
    ranges: bool = True
    status: int = 302
    asked: list[str] = []

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        self.asked.append(f"{request.command} {request.path} {request.headers.get('range', '')}".strip())
        if request.path == "/tiny.gguf":
            self._redirect(request)
        else:
            self._file(request)

    def _redirect(self, request: http.server.BaseHTTPRequestHandler) -> None:
        request.send_response(self.status)
        request.send_header("location", "/stored")
        if self.digest:
            request.send_header("x-linked-etag", f'"{self.digest}"')
            request.send_header("x-linked-size", str(len(self.content)))
        request.send_header("content-length", "0")
        request.end_headers()

    def _file(self, request: http.server.BaseHTTPRequestHandler) -> None:
        begin = int(request.headers.get("range", "bytes=0-")[6:-1]) if self.ranges else 0
        data = self.content[begin:]
        request.send_response(206 if begin else 200)
        request.send_header("content-length", str(len(data)))
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(data[: self.breaks.pop(0)] if self.breaks else data)
            request.close_connection = True


@contextmanager
def serving(hub: Hub) -> Iterator[LocalModel]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            hub.answer(self)

        def do_HEAD(self) -> None:
            hub.answer(self)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield model(f"http://127.0.0.1:{server.server_port}/tiny.gguf")
        finally:
            server.shutdown()
            thread.join()


def model(url: str) -> LocalModel:
    source = Download(url=url)
    return LocalModel(
        alias="tiny", name="Tiny", size=9, licence="MIT", token_bytes=1, family="", sources=(source,)
    )


async def fetched(hub: Hub, cache: Path) -> tuple[Path, list[tuple[int, int]]]:
    told: list[tuple[int, int]] = []
    with serving(hub) as tiny:
        return await pull(tiny, cache, progress=lambda done, total: told.append((done, total))), told


async def test_the_digest_and_size_that_the_hub_tells_are_what_counts(tmp_path: Path) -> None:
    hub = Hub()
    path, told = await fetched(hub, tmp_path)
    assert (path.read_bytes(), told[-1]) == (CONTENT, (len(CONTENT), len(CONTENT)))
    assert hub.asked == ["HEAD /tiny.gguf", "GET /tiny.gguf", "GET /stored"]
    assert sorted(one.name for one in tmp_path.iterdir()) == [".tiny.lock", "tiny.checked", "tiny.gguf"]


async def test_what_was_fetched_so_is_whole_until_it_is_changed(tmp_path: Path) -> None:
    path, _ = await fetched(Hub(), tmp_path)
    tiny = model("http://127.0.0.1:1/tiny.gguf")
    assert is_whole(path, tiny)
    assert await pull(tiny, tmp_path, progress=lambda *_: None) == path  # nothing is asked for
    path.write_bytes(CONTENT[:-1] + b"?")
    assert not is_whole(path, tiny)


async def test_a_file_that_nobody_checked_is_not_whole(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(CONTENT)
    assert not is_whole(tmp_path / "tiny.gguf", model("http://127.0.0.1:1/tiny.gguf"))


async def test_a_connection_that_breaks_is_gone_on_with_where_it_broke(tmp_path: Path) -> None:
    hub = Hub(breaks=[100_000, 300_000])
    path, told = await fetched(hub, tmp_path)
    assert path.read_bytes() == CONTENT
    assert [one.partition("stored ")[2] for one in hub.asked if "stored" in one] == [
        "",
        "bytes=100000-",
        "bytes=400000-",
    ]
    assert told[-1] == (len(CONTENT), len(CONTENT))


async def test_a_server_without_ranges_sends_the_whole_again(tmp_path: Path) -> None:
    path, _ = await fetched(Hub(breaks=[100_000], ranges=False), tmp_path)
    assert path.read_bytes() == CONTENT


async def test_a_download_that_brings_nothing_more_ends_in_a_sentence_and_goes_on_later(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError, match=r"tiny could not be fetched: .*/tiny.gguf: "):
        await fetched(Hub(breaks=[100_000, 0]), tmp_path)
    hub = Hub()
    assert (await fetched(hub, tmp_path))[0].read_bytes() == CONTENT
    assert hub.asked[-1] == "GET /stored bytes=100000-"


async def test_what_is_not_the_told_file_is_thrown_away(tmp_path: Path) -> None:
    forged = Hub(content=CONTENT[:-1] + b"?")
    with pytest.raises(ConfigError, match="what came is not Tiny"):
        await fetched(forged, tmp_path)
    assert not (tmp_path / "tiny.gguf").exists()
    assert (await fetched(Hub(), tmp_path))[0].read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("hub", "words"),
    [
        (Hub(digest=""), "tells no SHA-256 and size"),
        (Hub(digest="W/abc"), "tells no SHA-256 and size"),
        (Hub(status=404), "404 Not Found"),
        (Hub(status=401), "401 Unauthorized"),
    ],
)
async def test_what_cannot_be_checked_is_not_fetched(hub: Hub, words: str, tmp_path: Path) -> None:
    mine = replace(hub, asked=[])
    with pytest.raises(ConfigError, match=words):
        await fetched(mine, tmp_path)
    assert mine.asked == ["HEAD /tiny.gguf"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio tells of the HTTP library's own open generators
async def test_a_file_that_is_longer_than_was_told_is_not_taken_to_its_end(tmp_path: Path) -> None:
    class Longer(Hub):
        """Tells less than it sends."""

        def _redirect(self, request: http.server.BaseHTTPRequestHandler) -> None:
            whole, self.content = self.content, self.content[:1000]
            super()._redirect(request)
            self.content = whole

    with pytest.raises(ConfigError, match="it sends more than the 1,000 bytes"):
        await fetched(Longer(), tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.piece")) <= 1000


async def test_a_size_that_is_no_number_is_a_sentence(tmp_path: Path) -> None:
    class Odd(Hub):
        """Tells a size of thousands of digits."""

        def _redirect(self, request: http.server.BaseHTTPRequestHandler) -> None:
            request.send_response(302)
            request.send_header("x-linked-etag", self.digest)
            request.send_header("x-linked-size", "9" * 5000)
            request.send_header("content-length", "0")
            request.end_headers()

    with pytest.raises(ConfigError, match="tells no SHA-256 and size"):
        await fetched(Odd(), tmp_path)
