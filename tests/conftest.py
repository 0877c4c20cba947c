"""What every test shares: both async backends, a home of its own, no network but loopback, the --long switch."""

import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings, strategies

from hermes.environments.sandbox.prewarm import Spawn
from hermes.lib.aio import background

# A busy machine is slow at making examples, too, and fails nothing by that.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# A shell's background job ignores it, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the long sweeps too")
    parser.addoption("--fast", action="store_true", help="leave out what needs a daemon or the real model")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Binary examples go by the argument's name: what is packed holds the time, and all processes of a run have to name tests alike."""
    return argname if isinstance(val, bytes) and not val.isascii() else None


DAEMONS = (
    "docker_daemon",
    "podman_storage",
    "ssh_server",
    "modal_server",
    "daytona_server",
    "vercel_server",
    "aimock",
)


def shared_by(item: pytest.Item) -> str:
    """The daemon that a test talks to, started once for all of its tests, which one process runs: a place of `tests/contracts` that a
    parameter names, a server that a fixture starts, the real model. "" if it needs none.
    """
    if item.get_closest_marker("real_model"):
        return "model"
    chosen = item.callspec.params if hasattr(item, "callspec") else {}
    place = next((chosen[name] for name in ("place", "engine", "cloud") if name in chosen), "")
    if place and place not in {"open", "confined"}:
        return str(place)
    return next((name.partition("_")[0] for name in DAEMONS if name in getattr(item, "fixturenames", ())), "")


def pytest_itemcollected(item: pytest.Item) -> None:
    if shared := shared_by(item):
        item.add_marker(pytest.mark.xdist_group(shared))


ONE_LOOP = frozenset({"contracts", "crash", "escapes", "mcp_servers"})
"""What tries kernels, machines elsewhere and other programs, not our loop: on one of the two in the short form, on both in the long."""


def on_second_loop(item: pytest.Item) -> bool:
    """Whether a test of such a folder is the one on the other loop."""
    second = hasattr(item, "callspec") and item.callspec.params.get("anyio_backend") == "trio"
    return second and not ONE_LOOP.isdisjoint(item.path.parts)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = set()
    if not config.getoption("--long"):
        left_out |= {item for item in items if item.get_closest_marker("slow") or on_second_loop(item)}
    if config.getoption("--fast"):
        left_out |= {item for item in items if shared_by(item)}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session", autouse=True)
def unicode_table() -> None:
    """Built once, before any test: in a fresh clone it takes two seconds, which the first test that draws text would be blamed for."""
    strategies.text().validate()


@pytest.fixture(scope="module", autouse=True)
def one_core(request: pytest.FixtureRequest) -> Iterator[None]:
    """The real model and the programs that serve it get one core: its threads wait for each other without rest, so that beside other work
    two cores take longer than one.
    """
    if not request.node.get_closest_marker("real_model") or not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    yield
    os.sched_setaffinity(0, allowed)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def spawn() -> AsyncIterator[Spawn]:
    """Runs jobs beside the test, which end with it."""
    async with background() as start:
        yield start


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else "127.0.0.1"
        if not str(host).startswith(LOOPBACK):
            raise AssertionError(f"a test tried to reach {host}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The environment of a user on their first day: a home of their own and nothing configured."""
    home = tmp_path / "home"
    home.mkdir()
    return {
        "HOME": str(home),
        "HERMES_HOME": str(home / ".hermes"),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
    }


@pytest.fixture
def nothing_saved(environ: dict[str, str]) -> None:
    """A user who has switched off that deletions are saved, so that they ask."""
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text("checkpoints: {max_megabytes: 0}\n")
