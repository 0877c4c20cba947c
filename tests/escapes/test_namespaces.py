"""A socket with a name is covered whichever network namespace its server runs in: a file system knows none."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.environments.sandbox.sockets import listening
from hermes.types.action import Action, Permit
from tests.escapes.ground import bubblewrap, outside_tmp, python

pytestmark = pytest.mark.anyio

SERVE = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print(flush=True); s.accept(); s.accept()"
CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('reached')"


@pytest.fixture
def server() -> Iterator[Path]:
    """The socket of a server with a network of its own; not in /tmp, which the sandbox has for itself."""
    with TemporaryDirectory(prefix="hermes-namespace-", dir=outside_tmp()) as folder:
        socket = Path(folder).resolve() / "server.sock"
        with subprocess.Popen(
            [
                bubblewrap(),
                "--die-with-parent",
                "--dev-bind",
                "/",
                "/",
                "--unshare-net",
                sys.executable,
                "-c",
                SERVE,
                str(socket),
            ],
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            yield socket
            process.kill()


async def test_a_server_in_another_network_namespace_is_not_reached(
    server: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "work").mkdir()
    sandbox = open_sandbox(
        workspace=tmp_path / "work",
        home=Path(environ["HOME"]),
        hermes_home=tmp_path / ".hermes",
        scratch=tmp_path / "scratch",
        environ=environ,
    )

    async def by_word(action: Action) -> Permit:
        return Permit.of(action, confined="outside" not in getattr(action, "command", ""))

    space = LocalWorkspace(
        tmp_path / "work", authorize=by_word, environ=environ, scratch=tmp_path / "scratch", sandbox=sandbox
    )
    command = f'{python()} -c "{CONNECT}" {server}'
    outputs = [(await space.run(command, timeout=20)).text for _ in range(3)]
    free = await space.run(f"{command}; : outside", timeout=20)
    await space.close()
    assert (["reached" in one for one in outputs], free.text) == ([False] * 3, "reached\n")


def test_it_is_seen_at_the_first_look_and_at_every_later_one(server: Path) -> None:
    assert [str(server) in listening(outside=()) for _ in range(4)] == [True] * 4
