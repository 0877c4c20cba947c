"""The reference servers that come from PyPI: programs of Python, each in its sandbox."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.page import served
from tests.repositories import begin

from .conftest import Opened, call

pytestmark = pytest.mark.anyio


def program(name: str, *arguments: str, **sandbox: Any) -> dict[str, Any]:
    """The settings of a reference server, which may do what `sandbox` says."""
    command = str(Path(sys.prefix) / "bin" / f"mcp-server-{name}")
    return {"command": command, "args": [*arguments], "trust": "full", "sandbox": sandbox}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = tmp_path / "repository"
    made.mkdir()
    (made / "a.txt").write_text("one\n")
    begin(made)
    return made


async def test_the_clock_tells_the_time_elsewhere(opened: Opened) -> None:
    async with opened({"time": program("time", "--local-timezone", "UTC")}) as runtime:
        offer = await runtime.mcp.connect("time")
        assert [one.name for one in offer.tools] == ["convert_time", "get_current_time"]
        places = {"source_timezone": "Asia/Tokyo", "target_timezone": "Asia/Kolkata"}
        found = (await call(runtime, "mcp__time__convert_time", **places, time="16:30"))["structured"]
        refused = await call(runtime, "mcp__time__convert_time", **places, time="half past four")
    assert (found["target"]["datetime"][10:], found["time_difference"]) == ("T13:00:00+05:30", "-3.5h")
    assert "Invalid time format" in refused["error"]


async def test_a_repository_is_changed_where_that_was_granted_and_only_read_elsewhere(
    opened: Opened, repository: Path
) -> None:
    where = {"repo_path": str(repository)}
    servers = {
        "shut": program("git", "--repository", str(repository)),
        "open": program("git", "--repository", str(repository), paths=[str(repository)]),
    }
    async with opened(servers) as runtime:
        for name in servers:
            await runtime.mcp.connect(name)
        status = await call(runtime, "mcp__shut__git_status", **where)
        (repository / "b.txt").write_text("two\n")
        refused = await call(runtime, "mcp__shut__git_add", **where, files=["b.txt"])
        added = await call(runtime, "mcp__open__git_add", **where, files=["b.txt"])
        committed = await call(runtime, "mcp__open__git_commit", **where, message="Add the second file")
    head = ["git", "-C", str(repository), "log", "-1", "--format=%H %s", "--name-only"]
    done = subprocess.run(head, capture_output=True, text=True, check=True).stdout.split("\n")
    hash_ = done[0].partition(" ")[0]
    assert status == {"result": "Repository status:\nOn branch main\nnothing to commit, working tree clean"}
    assert "Read-only file system" in refused["error"]
    assert refused["error"].endswith("hermes mcp allow shut --write FOLDER changes that.)")
    assert added == {"result": "Files staged successfully"}
    assert committed == {"result": f"Changes committed successfully with hash {hash_}"}
    assert done == [f"{hash_} Add the second file", "", "b.txt", ""]


async def test_a_page_is_fetched_from_a_host_that_was_granted_and_from_no_other(opened: Opened) -> None:
    words = ("--ignore-robots-txt", "--allow-private-ips")
    with served() as port:
        address = f"127.0.0.1:{port}"
        servers = {"open": program("fetch", *words, network=[address]), "shut": program("fetch", *words)}
        async with opened(servers) as runtime:
            for name in servers:
                await runtime.mcp.connect(name)
            found = await call(runtime, "mcp__open__fetch", url=f"http://{address}/moon", raw=True)
            refused = await call(runtime, "mcp__shut__fetch", url=f"http://{address}/moon")
    assert f"/moon {address}" in found["result"]
    assert refused["error"].startswith("Error executing tool fetch: Failed to fetch")
