"""The reference servers of the protocol, as they come from npm."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MODULES = Path(__file__).parents[2] / ".venv" / "fakes" / "node_modules"
EVERYTHING = MODULES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
FILESYSTEM = MODULES / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
CONFORMANCE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NEW_NODE = next((path / "bin" / "node" for path in MODULES.glob("node-linux-*")), MODULES / "node")
BIND = Path(__file__).with_name("bind_loopback.cjs")


def node() -> str:
    found = shutil.which("node")
    assert found is not None, "node is needed; install it (Debian: apt install nodejs npm)"
    assert EVERYTHING.exists(), "the reference servers are not installed; run scripts/fakes"
    return found


@contextmanager
def everything(kind: str) -> Iterator[str]:
    """The address of the server with everything: `streamableHttp` or `sse`."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = {**os.environ, "PORT": str(port), "NODE_OPTIONS": f"--require {BIND}"}
    quiet = subprocess.DEVNULL
    with subprocess.Popen([node(), str(EVERYTHING), kind], env=env, stdout=quiet, stderr=quiet) as server:
        try:
            wait_for(port)
            yield f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"
        finally:
            server.terminate()


def wait_for(port: int) -> None:
    for _ in range(400):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server did not start")
