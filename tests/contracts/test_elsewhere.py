"""What environments that are not this machine promise besides: they may go away, and what they leave behind is found."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from hermes.environments.remote.docker import DockerOptions, docker_transport
from hermes.environments.remote.singularity import SingularityOptions, singularity_transport
from hermes.environments.remote.ssh import SshOptions, ssh_transport
from hermes.environments.remote.transport import RemoteTransport
from hermes.types.error import EnvironmentLost, EnvironmentUnavailable, ExecError
from tests.contracts import servers
from tests.contracts.conftest import (
    ENGINES,
    Bench,
    apptainer_environ,
    elsewhere_bench,
    engine_of,
    make_transport,
    marked,
)

pytestmark = [pytest.mark.anyio, pytest.mark.elsewhere]


def lose(place: str, bench: Bench, request: pytest.FixtureRequest) -> None:
    """Take the machine away from under a running command."""
    if place in ENGINES:
        engine_of(place, request).client("kill", bench.transport._container)  # type: ignore[union-attr]
    elif place == "ssh":
        servers.end_sessions(request.getfixturevalue("ssh_server"))
    elif place == "singularity":
        servers.apptainer_stop_all(request.getfixturevalue("apptainer"))
    else:
        server: servers.Cloud = request.getfixturevalue(f"{place}_server")
        (server.folder / "end").touch()
        for process in (*psutil.Process(server.pid).children(recursive=True), *marked(bench.mark)):
            with suppress(psutil.NoSuchProcess):
                process.kill()


GONE = "and what ran in it is gone."
RESTARTED = {
    **dict.fromkeys(
        ENGINES, f"the container stopped with code 137; it was started again with its files, {GONE}"
    ),
    "singularity": f"the instance stopped; a new one was made without its files, {GONE}",
}


async def test_a_machine_that_goes_away_is_said_and_the_next_call_works(
    bench: Bench, place: str, request: pytest.FixtureRequest
) -> None:
    assert (await bench.space.run("echo before", timeout=30)).text == "before\n"
    caught: list[BaseException] = []

    async def long() -> None:
        try:
            await bench.space.run("echo part; sleep 20; touch finished", timeout=40)
        except ExecError as error:
            caught.append(error)

    with anyio.fail_after(40):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(long)
            # A process sets no event
            while not any("sleep 20" in line for line in bench.leftovers()):  # noqa: ASYNC110
                await anyio.sleep(0.05)
            await anyio.sleep(0.3)
            lose(place, bench, request)
    assert [type(error) for error in caught] == [EnvironmentLost]
    assert "was lost while the command ran" in str(caught[0])
    assert str(caught[0]).endswith("part\n")
    then = await bench.space.run("echo after", timeout=60)
    said = RESTARTED.get(place, "")
    assert then.text == f"after\n[{place}: {said}]\n" if said else "after\n"
    assert (await bench.space.run("echo again", timeout=60)).text == "again\n"
    assert not (bench.root / "finished").exists()


@pytest.mark.one_transport
async def test_closing_ends_what_commands_left_running(bench: Bench) -> None:
    await bench.space.run("setsid sleep 300 >/dev/null 2>&1 </dev/null &", timeout=30)
    assert bench.leftovers() == ["sleep 300"]
    await bench.space.close()
    assert bench.leftovers() == []


CANARIES = {
    "A_TOKEN": "canary",
    "CFLAGS": "canary",
    "LC_CANARY": "canary",
    "https_proxy": "http://user:canary@proxy.example:1",
    "APPTAINERENV_X": "canary",
    "SINGULARITYENV_Y": "canary",
    "APPTAINER_ENV": "X=canary",
    "SINGULARITY_BIND": "/etc:/canary",
}


@pytest.mark.parametrize("loop", ["asyncio"])
@pytest.mark.parametrize("place", [*ENGINES, "ssh", "singularity"])
async def test_nothing_of_the_users_environment_goes_there_unnamed(
    place: str, request: pytest.FixtureRequest, shared_root: Path, tmp_path: Path
) -> None:
    transport = _own_transport(place, request, CANARIES)
    bench = elsewhere_bench(place, transport, shared_root, tmp_path / "scratch")
    contained = "" if place == "ssh" else "cat /proc/[0-9]*/environ 2>/dev/null; grep canary /proc/mounts;"
    try:
        for pty in (False, True):
            done = await bench.space.run(f"env; {contained} echo; echo end", timeout=30, cwd="/", pty=pty)
            assert [line for line in done.text.splitlines() if "canary" in line] == []
            assert done.text.splitlines()[-1] == "end"
    finally:
        await bench.space.close()
        await transport.close()


def _own_transport(
    place: str, request: pytest.FixtureRequest, more: dict[str, str], **chosen: Any
) -> RemoteTransport:
    """A transport whose client has more variables, to a machine that no other test uses."""
    if place in ENGINES:
        options = DockerOptions(
            image=servers.IMAGE,
            key="environment",
            persistent=False,
            network=False,
            cpus=0,
            memory=0,
            pids=0,
            **chosen,
        )
        return docker_transport(options, {**engine_of(place, request).environ, **more}, name=place)
    if place == "ssh":
        server: servers.Sshd = request.getfixturevalue("ssh_server")
        given = {
            "port": server.port,
            "key": str(server.key),
            "folder": server.folder / "cm",
            "extra": server.options,
            **chosen,
        }
        return ssh_transport(SshOptions(host="127.0.0.1", **given), {**os.environ, **more})
    image = servers.needed(servers.BACKENDS / "apptainer-image", "the image for apptainer")
    return singularity_transport(
        SingularityOptions(image=image, **chosen), {**apptainer_environ(), **more}, mark="environment"
    )


# ---------------------------------------------------------------------------------------------------------------- docker


@pytest.fixture
def apptainer() -> dict[str, str]:
    return apptainer_environ()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> servers.Docker:
    """Docker, and podman."""
    return engine_of(request.param, request)


def _is_up(daemon: servers.Docker, transport: RemoteTransport) -> bool:
    return bool(daemon.client("ps", "--quiet", "--filter", f"id={transport._container}"))  # type: ignore[attr-defined]


async def _with(
    transport: RemoteTransport, root: Path, tmp_path: Path, command: str, timeout: float = 60
) -> tuple[int, str]:
    """Exit code and output of a command on a machine of its own, which is given back."""
    bench = elsewhere_bench("docker", transport, root, tmp_path / "scratch")
    try:
        done = await bench.space.run(command, timeout=timeout, cwd="/")
    finally:
        await bench.space.close()
    return done.code, done.text


# A shell would try again for seconds.
FORKS = """python3 -c '
import os, time
for _ in range(40):
    try:
        if os.fork() == 0:
            time.sleep(1)
            os._exit(0)
    except BlockingIOError:
        print("refused")
        break
'"""
LIMITS = [
    ({"memory": 64}, "python3 -c 'x = bytearray(300_000_000)'; echo code $?", "code 137\n"),
    ({"pids": 20}, FORKS, "refused"),
    ({"read_only": True}, "touch /x 2>&1 || echo refused; touch /tmp/y && echo temp", "Read-only"),
    ({"network": False}, "ls /sys/class/net", "lo\n"),
    ({}, "grep -E 'CapEff|NoNewPrivs' /proc/self/status", "CapEff:\t00000000000000eb\nNoNewPrivs:\t1\n"),
    ({"as_user": True, "extra": ("--user", "1234:1234")}, "id -u", "1234\n"),
]


@pytest.mark.usefixtures("docker_daemon")
@pytest.mark.parametrize("loop", ["asyncio"])
@pytest.mark.parametrize(("chosen", "command", "shown"), LIMITS)
async def test_a_container_has_the_limits_that_were_asked_for(
    chosen: dict[str, object],
    command: str,
    shown: str,
    request: pytest.FixtureRequest,
    shared_root: Path,
    tmp_path: Path,
) -> None:
    transport = make_transport("docker", request, shared_root, persistent=False, **chosen)
    _, text = await _with(transport, shared_root, tmp_path, command)
    assert shown in text


@pytest.mark.usefixtures("docker_daemon")
@pytest.mark.parametrize("loop", ["asyncio"])
async def test_a_slice_of_a_processor_is_no_more(
    request: pytest.FixtureRequest, shared_root: Path, tmp_path: Path
) -> None:
    transport = make_transport("docker", request, shared_root, persistent=False, cpus=0.25)
    spin = "python3 -c 'import time; e = time.time() + 2\nwhile time.time() < e: pass\nprint(time.process_time())'"
    _, text = await _with(transport, shared_root, tmp_path, spin)
    assert 0.2 < float(text) < 0.9


@pytest.mark.parametrize("loop", ["asyncio"])
async def test_a_kept_container_keeps_its_files_and_a_throw_away_one_does_not(
    request: pytest.FixtureRequest, shared_root: Path, tmp_path: Path, engine: servers.Docker
) -> None:
    for kept, found in ((True, "was here\n"), (False, "")):
        for command in ("echo was here >/root/note", "cat /root/note 2>/dev/null; true"):
            transport = make_transport(
                engine.program, request, shared_root, persistent=kept, key=f"kept-{kept}"
            )
            _, text = await _with(transport, shared_root, tmp_path, command)
        assert text == found
    names = engine.client("ps", "--all", "--quiet", "--filter", "label=hermes-agent-kept=no")
    assert names == ""


@pytest.mark.parametrize("loop", ["asyncio"])
async def test_a_throw_away_container_that_died_is_told_apart_from_the_next(
    request: pytest.FixtureRequest, shared_root: Path, tmp_path: Path, engine: servers.Docker
) -> None:
    transport = make_transport(engine.program, request, shared_root, persistent=False)
    bench = elsewhere_bench(engine.program, transport, shared_root, tmp_path / "scratch")
    await bench.space.run("touch /root/note", timeout=30)
    engine.client("rm", "--force", transport._container)  # type: ignore[attr-defined]
    said = f"the container is gone; a new one was made without its files, {GONE}"
    done = await bench.space.run("ls /root", timeout=60, cwd="/")
    assert (done.code, done.text) == (0, f"[{engine.program}: {said}]\n")
    await bench.space.close()


@pytest.mark.parametrize("loop", ["asyncio"])
async def test_an_idle_container_ends_by_itself_and_the_next_command_brings_it_back(
    request: pytest.FixtureRequest, shared_root: Path, tmp_path: Path, engine: servers.Docker
) -> None:
    transport = make_transport(
        engine.program, request, shared_root, persistent=True, key="idle", idle_seconds=2
    )
    bench = elsewhere_bench(engine.program, transport, shared_root, tmp_path / "scratch")
    await bench.space.run(
        "echo kept >/root/note; sleep 4; export A=1", timeout=30
    )  # a long command is not idle
    with anyio.fail_after(30):
        while _is_up(engine, transport):  # noqa: ASYNC110  # a container sets no event
            await anyio.sleep(0.2)
    assert (await bench.space.run("cat /root/note; echo $A", timeout=60)).text == "kept\n1\n"
    await bench.space.close()


@pytest.mark.parametrize("loop", ["asyncio"])
async def test_what_a_crash_left_behind_is_removed_at_the_next_start(
    request: pytest.FixtureRequest, shared_root: Path, tmp_path: Path, engine: servers.Docker
) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = engine.client(
        *("run", "--detach", "--init", "--label", "hermes-agent", "--label", "hermes-agent-kept=no"),
        *(
            "--label",
            f"hermes-agent-owner={os.uname().nodename}/{dead.pid}/1",
            "--network",
            "none",
            servers.IMAGE,
            "sleep",
            "300",
        ),
    )
    transport = make_transport(engine.program, request, shared_root, persistent=False)
    await _with(transport, shared_root, tmp_path, "true")
    assert left not in engine.client("ps", "--all", "--quiet", "--no-trunc")


@pytest.mark.parametrize("loop", ["asyncio"])
async def test_an_image_that_is_not_there_is_said_in_one_sentence(
    request: pytest.FixtureRequest, shared_root: Path, engine: servers.Docker
) -> None:
    transport = make_transport(
        engine.program, request, shared_root, image="no-such-image:1", persistent=False
    )
    with pytest.raises(EnvironmentUnavailable, match="no-such-image:1 could not be started"):
        await transport.open()


@pytest.mark.parametrize("loop", ["asyncio"])
async def test_a_snapshot_is_an_image_that_a_new_container_begins_with(
    request: pytest.FixtureRequest, shared_root: Path, tmp_path: Path, engine: servers.Docker
) -> None:
    transport = make_transport(engine.program, request, shared_root, persistent=False)
    bench = elsewhere_bench(engine.program, transport, shared_root, tmp_path / "scratch")
    await bench.space.run("echo kept >/root/note", timeout=30)
    await transport.snapshot("hermes-test-snapshot:1")  # type: ignore[attr-defined]
    await bench.space.close()
    again = make_transport(
        engine.program, request, shared_root, persistent=False, image="hermes-test-snapshot:1"
    )
    assert (await _with(again, shared_root, tmp_path, "cat /root/note"))[1] == "kept\n"


# ------------------------------------------------------------------------------------------------------------------- ssh


@pytest.mark.parametrize("loop", ["asyncio"])
async def test_commands_share_one_connection(
    request: pytest.FixtureRequest, shared_root: Path, tmp_path: Path, ssh_server: servers.Sshd
) -> None:
    bench = elsewhere_bench(
        "ssh", make_transport("ssh", request, shared_root), shared_root, tmp_path / "scratch"
    )
    seen = {(await bench.space.run("echo $SSH_CONNECTION", timeout=30)).text for _ in range(3)}
    assert len(seen) == 1
    assert str(ssh_server.port) in seen.pop()


@pytest.mark.parametrize("loop", ["asyncio"])
async def test_a_server_that_restarts_is_met_again(
    request: pytest.FixtureRequest, shared_root: Path, tmp_path: Path, ssh_server: servers.Sshd
) -> None:
    bench = elsewhere_bench(
        "ssh", make_transport("ssh", request, shared_root), shared_root, tmp_path / "scratch"
    )
    await bench.space.run("export A=kept", timeout=30)
    servers.stop(ssh_server.started[-1])
    servers.end_sessions(ssh_server)
    try:
        with pytest.raises(ExecError, match="cannot be reached by ssh"):
            await bench.space.run("true", timeout=30)
    finally:
        ssh_server.start()
    assert (await bench.space.run("echo $A", timeout=30)).text == "kept\n"


@pytest.mark.parametrize("loop", ["asyncio"])
async def test_a_key_that_is_refused_is_said_in_one_sentence(
    request: pytest.FixtureRequest, shared_root: Path, tmp_path: Path, ssh_server: servers.Sshd
) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")], check=True)
    transport = make_transport("ssh", request, shared_root, key=str(tmp_path / "other"))
    with pytest.raises(EnvironmentUnavailable, match="Permission denied"):
        await transport.open()


@pytest.mark.parametrize("loop", ["asyncio"])
async def test_the_users_own_config_agent_and_jump_host_lead_there(
    request: pytest.FixtureRequest,
    shared_root: Path,
    tmp_path: Path,
    ssh_server: servers.Sshd,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    every = f"HostName 127.0.0.1\nPort {ssh_server.port}\nStrictHostKeyChecking no\nUserKnownHostsFile {tmp_path}/known\n"
    (tmp_path / "config").write_text(f"Host hop\n{every}Host inner\n{every}ProxyJump hop\n")
    with servers.ssh_agent(ssh_server.key) as agent:
        monkeypatch.setenv("SSH_AUTH_SOCK", agent)
        transport = make_transport(
            "ssh", request, shared_root, host="inner", port=0, key="", extra=("-F", str(tmp_path / "config"))
        )
        bench = elsewhere_bench("ssh", transport, shared_root, tmp_path / "scratch")
        assert (await bench.space.run("echo there", timeout=30)).text == "there\n"
        calls = [one.info["cmdline"] or [""] for one in psutil.process_iter(["cmdline"])]
        assert [call[-1] for call in calls if f"[127.0.0.1]:{ssh_server.port}" in call] == ["hop"]
        await bench.space.close()
        await transport.disconnect()  # type: ignore[attr-defined]


# ---------------------------------------------------------------------------------------------------------------- clouds


@pytest.mark.parametrize("loop", ["asyncio"])
async def test_a_modal_sandbox_begins_with_what_the_last_one_kept(
    request: pytest.FixtureRequest, shared_root: Path, modal_server: servers.Cloud
) -> None:
    for _ in range(2):
        transport = make_transport("modal", request, shared_root, persistent=True, key="snapshot")
        await transport.open()
        await transport.close()
    assert (modal_server.folder / "images").read_text().splitlines()[-1] == "im-kept0000000000000000"


@pytest.mark.parametrize("loop", ["asyncio"])
@pytest.mark.parametrize("cloud", ["daytona", "vercel"])
async def test_a_kept_sandbox_is_the_same_one_the_next_time(
    request: pytest.FixtureRequest, shared_root: Path, cloud: str
) -> None:
    names = []
    for _ in range(2):
        transport = make_transport(cloud, request, shared_root, persistent=True, key="again")
        await transport.open()
        names.append(transport._cloud._sandbox.name)  # type: ignore[attr-defined]
        await transport.close()
    assert names[0] == names[1]


# ------------------------------------------------------------------------------------------------------------- apptainer


@pytest.mark.parametrize("loop", ["asyncio"])
async def test_an_instance_has_the_limits_that_were_asked_for(
    request: pytest.FixtureRequest, shared_root: Path, tmp_path: Path
) -> None:
    """Root can set them; whether a plain user can is the machine's affair."""
    transport = _own_transport("singularity", request, {}, memory=64, pids=20, cpus=0.25)
    bench = elsewhere_bench("singularity", transport, shared_root, tmp_path / "scratch")
    spin = "import time; e = time.time() + 2\nwhile time.time() < e: pass\nprint(time.process_time())"
    try:
        assert (
            await bench.space.run("python3 -c 'x = bytearray(300_000_000)'", timeout=30, cwd="/")
        ).code == 137
        assert 0.2 < float((await bench.space.run(f"python3 -c '{spin}'", timeout=30, cwd="/")).text) < 0.9
        assert (await bench.space.run(FORKS, timeout=30, cwd="/")).text == "refused\n"
    finally:
        await bench.space.close()
        await transport.close()
