"""Named hosts, from a command in the sandbox to a server on this machine and back; and what the command is told."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.environments.sandbox.prewarm import Spawn
from hermes.environments.workspace import WorkspaceOptions
from hermes.types.action import Action, Permit
from tests.page import served

pytestmark = pytest.mark.anyio

CURL = "curl -s --max-time 5 -o /dev/null -w '%{http_code}\\n'"


@pytest.fixture
def port() -> Iterator[int]:
    with served() as port:
        yield port


@dataclass
class Place:
    """A workspace, and what its next command may reach."""

    space: LocalWorkspace
    confined: bool = True
    network: bool | tuple[str, ...] = False
    looked_up: list[str] = field(default_factory=list)


@pytest.fixture
async def place(tmp_path: Path, environ: dict[str, str], spawn: Spawn) -> AsyncIterator[Place]:
    (tmp_path / "project").mkdir()

    async def authorize(action: Action) -> Permit:
        return Permit.of(action, confined=made.confined, network=made.network)

    async def resolve(host: str, port: int) -> list[str]:
        del port
        made.looked_up.append(host)
        return ["127.0.0.1"]

    home = Path(environ["HOME"])
    sandbox = open_sandbox(
        workspace=tmp_path / "project",
        home=home,
        hermes_home=home / ".hermes",
        scratch=tmp_path / "scratch",
        environ=environ,
        resolve=resolve,
    )
    assert sandbox is not None, "bubblewrap does not work here"
    made = Place(
        LocalWorkspace(
            tmp_path / "project",
            authorize=authorize,
            environ=environ,
            scratch=tmp_path / "scratch",
            sandbox=sandbox,
            options=WorkspaceOptions(spawn=spawn),
        )
    )
    yield made
    await made.space.close()


async def test_a_named_host_is_reached_and_no_other(place: Place, port: int) -> None:
    place.network = (f"good.test:{port}", f"127.0.0.1:{port}")
    done = await place.space.run(
        f"{CURL} http://good.test:{port}/; {CURL} http://evil.test:{port}/", timeout=20
    )
    refused = f"[network: evil.test:{port} is not in terminal.network, so commands in the sandbox cannot reach it.]\n"
    assert (done.text, place.looked_up) == (f"200\n403\n{refused}", ["good.test"])


async def test_a_named_host_that_leads_to_this_machine_is_not(place: Place, port: int) -> None:
    place.network = (f"good.test:{port}",)
    done = await place.space.run(f"{CURL} http://good.test:{port}/", timeout=20)
    assert done.text.startswith(
        f"403\n[network: good.test:{port} leads to 127.0.0.1, and that is no address of the open Internet;"
    )


async def test_nothing_but_the_way_out_is_there(place: Place, port: int) -> None:
    place.network = (f"good.test:{port}", f"127.0.0.1:{port}")
    done = await place.space.run(
        f"{CURL} --noproxy '*' http://127.0.0.1:{port}/; getent hosts good.test; echo $?", timeout=20
    )
    assert done.text == "000\n2\n"


async def test_many_connections_at_once_and_much_data_get_through(place: Place, port: int) -> None:
    place.network = (f"good.test:{port}", f"127.0.0.1:{port}")
    many = f"for i in $(seq 20); do {CURL} http://good.test:{port}/$i & done; wait"
    done = await place.space.run(many, timeout=30)
    assert sorted(done.text.split()) == ["200"] * 20
    long = "x" * 30_000
    done = await place.space.run(f"curl -s http://good.test:{port}/{long} | wc -c", timeout=20)
    assert int(done.text) == len(f"/{long} good.test:{port} -")


async def test_the_command_keeps_its_streams_its_code_and_its_input(place: Place) -> None:
    place.network = ("good.test",)
    done = await place.space.run("cat; echo oops >&2; exit 7", stdin=b"words\n", timeout=20)
    assert (done.code, done.text) == (7, "words\noops\n")


async def test_the_way_is_gone_from_the_next_command_that_may_not_take_it(place: Place) -> None:
    place.network = ("good.test",)
    assert "http_proxy" in (await place.space.run("env", timeout=20)).text
    place.network = False
    assert "proxy" not in (await place.space.run("env", timeout=20)).text.lower()
    place.network, place.confined = True, False
    assert "proxy" not in (await place.space.run("env", timeout=20)).text.lower()


async def test_a_confined_command_does_not_choose_the_proxy_of_an_open_one(place: Place) -> None:
    await place.space.run(
        "export https_proxy=http://evil.test SSL_CERT_FILE=/evil HERMES_SANDBOX=off CURL_HOME=/evil MINE=theirs",
        timeout=20,
    )
    place.confined = False
    done = await place.space.run("env | grep -E 'evil|HERMES_SANDBOX|MINE'", timeout=20)
    assert done.text == ""
