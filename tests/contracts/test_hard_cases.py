"""What every environment promises in hard cases: odd bytes and names, many calls at once, children of every shape."""

import os
from pathlib import Path

import anyio
import pytest

from tests.contracts.conftest import Bench

pytestmark = pytest.mark.anyio

NAMES = [
    " lead and trail ",
    "-rf",
    "--help",
    'it\'s "q" $(touch x) `id` *',
    "new\nline",
    "tab\there",
    "é̈😀",
    "a\\b%s",
    ".hidden",
]


async def text(bench: Bench, command: str, seconds: float = 30) -> str:
    return (await bench.space.run(command, timeout=seconds)).text


@pytest.mark.one_transport
async def test_files_with_any_name_are_written_listed_read_and_deleted(bench: Bench) -> None:
    data = os.urandom(300) + b"\0\r\n\xff"
    for name in NAMES:
        written = await bench.space.write(str(bench.root / name), data)
        assert (written.path, written.size) == (str(bench.root / name), len(data))
    assert sorted(one.path for one in await bench.space.list(str(bench.root))) == sorted(
        str(bench.root / name) for name in NAMES
    )
    for name in NAMES[:5]:
        assert await bench.space.read(str(bench.root / name)) == data
        await bench.space.delete(str(bench.root / name))
    assert sorted(one.name for one in bench.root.iterdir()) == sorted(NAMES[5:])


async def test_a_large_file_goes_there_and_comes_back_whole(bench: Bench) -> None:
    data = os.urandom(3_000_000)
    await bench.space.write("large.bin", data)
    assert (bench.root / "large.bin").read_bytes() == data
    assert await bench.space.read("large.bin") == data


@pytest.mark.one_transport
async def test_a_line_without_end_is_clipped_and_kept_in_a_file(bench: Bench) -> None:
    done = await bench.space.run("head -c 5000000 /dev/zero | tr '\\0' y; echo; echo last", timeout=60)
    assert (done.code, done.clipped) == (0, True)
    assert done.text.startswith("yyyy")
    assert done.text.endswith("last\n")
    assert Path(done.full).stat().st_size == 5_000_006


async def test_bytes_that_are_no_text_harm_nothing(bench: Bench) -> None:
    done = await bench.space.run(r"printf '\xff\xfe\x00\x80ok\n'; printf 'caf\xe9\n' >&2", timeout=30)
    assert done.code == 0
    assert "ok\n" in done.text
    assert done.text.endswith("caf\ufffd\n")


@pytest.mark.one_transport
async def test_exports_of_any_bytes_come_back(bench: Bench) -> None:
    await text(bench, r"export ODD=$'\xff\x01\t\n\\\'\"$'")
    assert await text(bench, 'printf %s "$ODD" | od -An -tx1 | tr -d " \\n"') == "ff01090a5c272224"


async def test_calls_at_once_in_shells_of_their_own_do_not_meet(bench: Bench) -> None:
    results: dict[int, str] = {}

    async def one(number: int) -> None:
        space = bench.another()
        await space.run(f"export WHO={number}; mkdir -p d{number}; cd d{number}", timeout=60)
        results[number] = (await space.run('echo "$WHO ${PWD##*/}"', timeout=60)).text

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(one, number)
    assert results == {number: f"{number} d{number}\n" for number in range(6)}


@pytest.mark.one_transport
async def test_two_calls_on_one_shell_run_one_after_the_other(bench: Bench) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(text, bench, "echo a >>log; sleep 0.4; echo b >>log")
        await anyio.sleep(0.1)
        tasks.start_soon(text, bench, "echo c >>log")
    assert (bench.root / "log").read_text() == "a\nb\nc\n"


@pytest.mark.one_transport
async def test_files_are_read_while_a_command_runs(bench: Bench) -> None:
    (bench.root / "here").write_text("now")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(text, bench, "sleep 1.5; touch done")
        await anyio.sleep(0.2)
        assert await bench.space.read("here") == b"now"
        assert not (bench.root / "done").exists()


async def test_a_background_process_on_a_terminal_has_one(bench: Bench) -> None:
    state = await bench.space.start("test -t 1 && echo terminal; read line; echo got:$line", pty=True)
    with anyio.fail_after(20):
        # A process sets no event
        while "terminal" not in bench.space.processes.poll(state.id).text:  # noqa: ASYNC110
            await anyio.sleep(0.05)
    await bench.space.processes.write(state.id, "typed\n")
    ended = await bench.space.processes.wait(state.id, 20)
    assert ended.code == 0
    assert "got:typed" in ended.text


@pytest.mark.one_transport
async def test_a_regular_expression_that_is_none_is_said(bench: Bench) -> None:
    (bench.root / "a").write_text("x")
    with pytest.raises(ValueError, match="regular expression"):
        await bench.space.search("(")
    with pytest.raises(FileNotFoundError):
        await bench.space.search("x", path="nowhere")
    with pytest.raises(FileNotFoundError):
        await bench.space.find("*", path="nowhere")


@pytest.mark.one_transport
async def test_search_leaves_out_what_is_ignored_hidden_or_binary(bench: Bench) -> None:
    for path, data in {
        "src/a.py": b"needle\n",
        "src/deep/b.txt": b"no\nneedle\n",
        "build/out.py": b"needle\n",
        "src/skip.log": b"needle\n",
        ".secret/x": b"needle\n",
        "bin.dat": b"\0needle\n",
        ".gitignore": b"build/\n*.log\n",
        "src/deep/.gitignore": b"!keep.log\n",
        "src/deep/keep.log": b"needle\n",
    }.items():
        target = bench.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    (bench.root / ".git").mkdir()
    found = await bench.space.search("needle")
    assert [(os.path.relpath(one.path, bench.root), one.line) for one in found] == [
        ("src/a.py", 1),
        ("src/deep/b.txt", 2),
        ("src/deep/keep.log", 1),
    ]
    assert [os.path.relpath(one.path, bench.root) for one in await bench.space.find("src/**/*.txt")] == [
        "src/deep/b.txt"
    ]
    assert [one.line for one in await bench.space.search("needle", file_glob="*.py")] == [1]
    assert len(await bench.space.search("needle", limit=2)) == 2
