"""Search on this machine: by ripgrep or by Python, with ignore files respected, in a process that ends in time."""

import json
import os
import shutil
from pathlib import Path

import anyio
import psutil
import pytest

from hermes.environments.search import find_files, search_lines
from hermes.environments.searched_files import Search
from hermes.types.workspace import Match

pytestmark = pytest.mark.anyio


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\n/build/\n!keep.log\n")
    for name, text in {
        "a.py": "import x\nneedle = 1\n",
        "src/b.py": "needle\nNeedle\n",
        "src/.gitignore": "secret.*\n",
        "src/secret.txt": "needle\n",
        "build/c.py": "needle\n",
        "d.log": "needle\n",
        "keep.log": "needle\n",
        ".hidden/e.py": "needle\n",
        "bin.dat": "needle\0\n",
        "src/deep/f.ts": "a needle b\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "loop").symlink_to(tmp_path)
    return tmp_path


RIPGREP = shutil.which("rg")
PROGRAMS = [None, *([RIPGREP] if RIPGREP else [])]


@pytest.mark.parametrize("program", PROGRAMS)
async def test_search_finds_lines_and_respects_what_is_ignored(tree: Path, program: str | None) -> None:
    async def found(
        pattern: str, file_glob: str = "", limit: int = 100, root: Path = tree
    ) -> list[tuple[str, int]]:
        hits = await search_lines(pattern, Search(root=root, file_glob=file_glob, limit=limit), program)
        return [(str(Path(hit.path).relative_to(tree)), hit.line) for hit in hits]

    assert await found("needle") == [("a.py", 2), ("keep.log", 1), ("src/b.py", 1), ("src/deep/f.ts", 1)]
    assert await found("needle", "*.py") == [("a.py", 2), ("src/b.py", 1)]
    assert await found("needle", "src/**/*.{ts,py}") == [("src/b.py", 1), ("src/deep/f.ts", 1)]
    assert await found("(?i)^NEEDLE$") == [("keep.log", 1), ("src/b.py", 1), ("src/b.py", 2)]
    assert await found("needle", limit=2) == [("a.py", 2), ("keep.log", 1)]
    assert await found("needle", root=tree / "src") == [("src/b.py", 1), ("src/deep/f.ts", 1)]
    assert await found("needle", root=tree / "a.py") == [("a.py", 2)]
    assert await found("nothing here") == []


async def test_search_does_not_look_where_it_may_not(tree: Path) -> None:
    hidden = Search(root=tree, concealed=lambda path: path.endswith("/src"))
    assert [Path(hit.path).name for hit in await search_lines("needle", hidden)] == ["a.py", "keep.log"]
    assert [Path(hit.path).name for hit in await find_files("*.py", hidden)] == ["a.py"]


@pytest.mark.parametrize("program", PROGRAMS)
async def test_a_file_is_read_in_the_text_that_its_mark_names(tree: Path, program: str | None) -> None:
    (tree / "a.py").write_bytes(b"\xef\xbb\xbfneedle\r\n\xffneedle\r\n")
    hits = await search_lines("needle", Search(root=tree / "a.py"), program)
    assert [(hit.line, hit.content.lstrip("\ufeff")) for hit in hits] == [(1, "needle"), (2, "\ufffdneedle")]


@pytest.mark.parametrize("program", PROGRAMS)
async def test_a_search_through_a_link_is_refused(tree: Path, program: str | None) -> None:
    (tree / "link").symlink_to("src")
    with pytest.raises(OSError, match="link has come in the way"):
        await search_lines("needle", Search(root=tree / "link"), program)
    with pytest.raises(OSError, match="link has come in the way"):
        await find_files("*", Search(root=tree / "link"))


def reporting(folder: Path, *hits: tuple[str, int, str]) -> str:
    """A ripgrep that says so of any search."""
    records = [
        {"type": "match", "data": {"path": {"text": path}, "lines": {"text": text}, "line_number": line}}
        for path, line, text in hits
    ]
    program = folder / "rg"
    said = "\n".join(map(json.dumps, records))
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{said}\nEND\n")
    program.chmod(0o755)
    return str(program)


async def test_what_ripgrep_read_through_a_link_is_left_out(
    tree: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = reporting(
        tmp_path_factory.mktemp("bin"),
        ("./a.py", 1, "a line of another file\n"),
        ("./a.py", 2, "needle = 1\n"),
        ("./a.py", 3, "needle = 1\n"),
        ("./loop/a.py", 2, "needle = 1\n"),
        ("./../x", 1, "needle\n"),
        ("./gone.py", 1, "needle\n"),
    )
    assert await search_lines("needle", Search(root=tree), program) == [
        Match(path=str(tree / "a.py"), line=2, content="needle = 1")
    ]


async def test_a_pattern_that_is_none_is_said(tree: Path) -> None:
    with pytest.raises(ValueError, match="not a regular expression"):
        await search_lines("(", Search(root=tree))


ENDLESS = ("(?=a)(a|a)*$", "(a+)+$", r"(\w+\s?){2,}$")


def matchers() -> list[str]:
    """The processes that look for lines still."""
    children = psutil.process_iter(["ppid", "cmdline"])
    commands = [" ".join(one.info["cmdline"] or ()) for one in children if one.info["ppid"] == os.getpid()]
    return [command for command in commands if "line_matcher" in command]


@pytest.mark.parametrize("pattern", ENDLESS)
async def test_an_expression_that_would_run_for_ever_is_stopped(tree: Path, pattern: str) -> None:
    (tree / "a.py").write_text("a" * 60 + "!\n")
    with pytest.raises(TimeoutError) as stopped:
        await search_lines(pattern, Search(root=tree, seconds=0.5))
    assert (str(stopped.value), matchers()) == (
        "the search was stopped after 0.5 seconds; a simpler expression or a smaller folder may do",
        [],
    )


async def test_a_search_that_nobody_waits_for_ends(tree: Path) -> None:
    (tree / "a.py").write_text("a" * 60 + "!\n")
    with anyio.move_on_after(0.5) as waiting:
        await search_lines(ENDLESS[0], Search(root=tree, seconds=1_000))
    assert (waiting.cancelled_caught, matchers()) == (True, [])


async def test_a_pipe_that_nobody_writes_to_holds_nothing_up(tree: Path) -> None:
    os.mkfifo(tree / "src/pipe")
    assert len(await search_lines("needle", Search(root=tree))) == 4


async def test_folders_without_end_do_not_end_a_search(tree: Path) -> None:
    (tree / "src" / "/".join("d" * 700)).mkdir(parents=True)
    assert len(await search_lines("needle", Search(root=tree))) == 4
    assert [Path(hit.path).name for hit in await find_files("*.ts", Search(root=tree))] == ["f.ts"]


async def test_files_come_newest_first(tree: Path) -> None:
    os.utime(tree / "a.py", (1, 1))
    assert [Path(hit.path).name for hit in await find_files("*.py", Search(root=tree))] == ["b.py", "a.py"]
    assert [Path(hit.path).name for hit in await find_files("src/*.py", Search(root=tree))] == ["b.py"]
    assert [Path(hit.path).name for hit in await find_files("**/f.*", Search(root=tree))] == ["f.ts"]
    assert len(await find_files("*", Search(root=tree, limit=2))) == 2
