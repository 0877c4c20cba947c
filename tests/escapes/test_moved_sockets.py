"""A socket is covered where it is, and not where it was bound: a file system knows it by its inode alone."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.environments.sandbox.sockets import listening
from hermes.types.action import Action, Permit
from tests.escapes.ground import bubblewrap, outside_tmp

pytestmark = pytest.mark.anyio

SERVE = """
import os, socket, sys
name, final = sys.argv[1:]
os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
server = socket.socket(socket.AF_UNIX)
server.bind(name)
if final:
    os.rename(name, final)
server.listen()
print(flush=True)
while True:
    server.accept()
"""
CONNECT = """
import socket, sys
for path in sys.argv[1:]:
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        print(path, "reached")
    except OSError:
        pass
"""
BOUND = {
    "by its whole name": ("{folder}/s", "", "s"),
    "by a relative name": ("s", "", "s"),
    "and renamed": ("{folder}/first", "{folder}/s", "s"),
    "by a relative name and renamed": ("first", "s", "s"),
    "in a folder whose name has a new line": ("{folder}/a\nb/s", "", "a\nb/s"),
    "with a space at its end": ("{folder}/s ", "", "s "),
}
ELSEWHERE = {"mount namespace": (), "mount and network namespace": ("--unshare-net",)}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that commands see; not in /tmp, which the sandbox has for itself."""
    with TemporaryDirectory(prefix="hermes-sockets-", dir=outside_tmp()) as name:
        yield Path(name).resolve()


def serving(*argv: str, cwd: Path) -> subprocess.Popen[bytes]:
    """A server that listens."""
    process = subprocess.Popen(argv, cwd=cwd, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


async def reached(folder: Path, path: Path, environ: dict[str, str]) -> str:
    """What a confined command says of a socket that it connects to."""
    (folder / "work").mkdir()
    sandbox = open_sandbox(
        workspace=folder / "work",
        home=Path(environ["HOME"]),
        hermes_home=folder / ".hermes",
        scratch=folder / "scratch",
        environ=environ,
    )

    async def confined(action: Action) -> Permit:
        return Permit.of(action, confined=True)

    space = LocalWorkspace(
        folder / "work", authorize=confined, environ=environ, scratch=folder / "scratch", sandbox=sandbox
    )
    (folder / "work" / "connect.py").write_text(CONNECT)
    (folder / "work" / "path").write_text(str(path))
    done = await space.run('python3 connect.py "$(cat path)"', timeout=20)
    await space.close()
    return done.text


def can_connect(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


@pytest.mark.parametrize("way", BOUND)
async def test_a_socket_is_not_reached_however_it_was_bound(
    folder: Path, environ: dict[str, str], way: str
) -> None:
    bound, final, path = (one.format(folder=folder) for one in BOUND[way])
    with serving(sys.executable, "-c", SERVE, bound, final, cwd=folder) as server:
        there = can_connect(folder / path)
        said = await reached(folder, folder / path, environ)
        server.kill()
    assert (there, said) == (True, "")


@pytest.mark.parametrize("way", ELSEWHERE)
async def test_a_socket_that_was_bound_in_another_mount_namespace_is_not_reached(
    folder: Path, environ: dict[str, str], way: str
) -> None:
    (folder / "data").mkdir()
    around = (bubblewrap(), "--die-with-parent", "--dev-bind", "/", "/", *ELSEWHERE[way])
    inner = ("--bind", str(folder / "data"), "/mnt", "--chdir", "/", sys.executable, "-c", SERVE)
    with serving(*around, *inner, "/mnt/s", "", cwd=folder) as server:
        there = can_connect(folder / "data" / "s")
        said = await reached(folder, folder / "data" / "s", environ)
        server.kill()
    assert (there, said) == (True, "")


@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel tells root alone where the file of a socket is")
async def test_a_socket_that_was_moved_to_another_folder_is_not_reached(
    folder: Path, environ: dict[str, str]
) -> None:
    (folder / "there").mkdir()
    place = folder / "there" / "s"
    with serving(sys.executable, "-c", SERVE, f"{folder}/s", str(place), cwd=folder) as server:
        there = can_connect(place)
        said = await reached(folder, place, environ)
        server.kill()
    assert (there, said) == (True, "")


def test_a_socket_that_moves_between_two_looks_is_found_again(folder: Path) -> None:
    def found() -> list[str]:
        return [path for path in listening(outside=("/run",)) if path.startswith(f"{folder}/")]

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{folder}/a")
        names = []
        for name in ("b", "c"):
            names += found()
            next(folder.iterdir()).rename(folder / name)
        names += found()
        (folder / "c").unlink()
        names += found()
    assert names == [f"{folder}/{name}" for name in "abc"]


LINK = SERVE.replace(
    "server.listen()", "server.listen(); os.makedirs(os.path.dirname(OTHER), exist_ok=True)\nAFTER"
)
LINKED = {
    "beside it": ("{folder}/s", "{folder}/hard", ""),
    "in another folder": ("{folder}/one/s", "{folder}/two/deep/hard", ""),
    "whose first name is gone": ("{folder}/s", "{folder}/two/hard", "os.unlink(name)"),
}


@pytest.mark.parametrize("way", LINKED)
async def test_a_socket_is_not_reached_by_a_hard_link(
    folder: Path, environ: dict[str, str], way: str
) -> None:
    if way.startswith("whose") and os.geteuid() != 0:
        pytest.skip("the kernel tells root alone what the file of a socket is")
    bound, other, after = (one.format(folder=folder) for one in LINKED[way])
    words = LINK.replace("OTHER", repr(other)).replace("AFTER", f"os.link(name, {other!r}); {after}")
    with serving(sys.executable, "-c", words, bound, "", cwd=folder) as server:
        there = can_connect(Path(other))
        said = await reached(folder, Path(other), environ)
        server.kill()
    assert (there, said) == (True, "")


def test_a_socket_is_found_at_every_place_where_its_folder_is_mounted(folder: Path) -> None:
    for name in ("covered", "inner", "mnt", "deep"):
        (folder / name).mkdir()
    words = (
        "import socket, subprocess, sys; from hermes.environments.sandbox.sockets import listening\n"
        "top = sys.argv[1]; bound = [socket.socket(socket.AF_UNIX) for _ in range(2)]\n"
        "[one.bind(f'{top}/{name}/s') for one, name in zip(bound, ('inner', 'covered'))]\n"
        "for what, where in (('inner', 'mnt'), ('covered', 'deep')):\n"
        "    subprocess.run(['mount', '--bind', f'{top}/{what}', f'{top}/{where}'], check=True)\n"
        "found = listening(outside=('/run', f'{top}/covered'))\n"
        "print(*sorted({one.removeprefix(top) for one in found if one.startswith(top)}))\n"
    )
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, "-c", words, folder], check=False, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("/deep/s /inner/s /mnt/s\n", "")


def test_a_socket_of_a_covered_folder_is_found_by_its_hard_link(folder: Path) -> None:
    (folder / "covered").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{folder}/covered/s")
        (folder / "hard").hardlink_to(folder / "covered" / "s")
        found = listening(outside=("/run", f"{folder}/covered"))
        assert [one for one in found if one.startswith(f"{folder}/")] == [f"{folder}/hard"]
