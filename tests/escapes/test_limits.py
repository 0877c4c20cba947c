"""What a confined command cannot use up, for a user whose processes the kernel counts; and what an ordinary one still can."""

from collections.abc import Iterator

import pytest

from tests.escapes.ground import Ground, make_ground

FORKS = (
    '$PY -c "\nimport os, time\nmade = 0\ntry:\n    while made < 100:\n        if os.fork() == 0:\n            time.sleep(1)\n'
    '            os._exit(0)\n        made += 1\nexcept OSError:\n    pass\nprint(made)"'
)


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    made = make_ground()
    yield made
    made.clear()


def test_processes_are_counted(ground: Ground) -> None:
    ground.lay()
    assert int(ground.confined("workspace", FORKS, processes=40)) < 40
    assert (int(ground.confined("workspace", FORKS)), int(ground.free(FORKS))) == (100, 100)


def test_a_limit_cannot_be_raised_again(ground: Ground) -> None:
    ground.lay()
    assert (
        ground.confined(
            "workspace",
            "ulimit -u 99 2>/dev/null; ulimit -u; ulimit -c unlimited 2>/dev/null; ulimit -c",
            processes=40,
        )
        == "40\n0\n"
    )


def test_a_file_has_a_size_at_most(ground: Ground) -> None:
    ground.lay()
    grow = "truncate -s 2G $WORK/big 2>/dev/null; stat -c %s $WORK/big"
    assert ground.confined("workspace", grow, file_gigabytes=1).endswith("\n0\n")
    assert ground.confined("workspace", grow) == f"{2 * 1024**3}\n"


def test_ordinary_work_goes_on(ground: Ground) -> None:
    """What builds and tests do: pipes between processes, servers on loopback, shared memory, links, devices."""
    ground.lay()
    script = """cd $WORK; $PY - <<'END'
import asyncio, multiprocessing, socket, subprocess, tempfile, threading
from multiprocessing import shared_memory

async def served():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    await asyncio.open_connection(*server.sockets[0].getsockname())
    server.close()

if __name__ == "__main__":
    asyncio.run(served())
    a, b = socket.socketpair()
    socket.if_nameindex()
    with multiprocessing.get_context("fork").Manager() as manager:
        manager.list([1]).append(2)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]
    memory = shared_memory.SharedMemory(create=True, size=10)
    memory.close()
    memory.unlink()
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
    thread = threading.Thread(target=print, args=("done",))
    thread.start()
    thread.join()
END
mkfifo p; (echo through > p &); cat p; ln -s tracked l; ln tracked h; mv h d; echo x > /dev/null; echo said >> /dev/stderr"""
    assert ground.confined("workspace", script) == "done\nthrough\nsaid\n"


def test_git_does_everyday_work(ground: Ground) -> None:
    ground.lay()
    script = """cd $WORK; exec 2>&1
git add tracked && git commit -qm one && git branch other && git switch -q other && echo y >> tracked && git commit -qam two
git switch -q -c third other && git stash list && git merge -q other && git tag t && git rebase -q other && git log --format=%s
git config core.fsmonitor /tmp/x || echo no; git gc -q && git fsck --no-progress && git clone -q . sub && echo cloned"""
    assert ground.confined("workspace", script).splitlines() == [
        "two",
        "one",
        "error: could not write config file .git/config: Device or resource busy",
        "no",
        "cloned",
    ]
