"""What a user reads who names a machine that is not there yet: one sentence, soon, and what `hermes doctor` says of it."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contracts import servers
from tests.contracts.conftest import ENGINES, engine_of

Try = Callable[..., tuple[int, str, float]]
BIN = servers.BACKENDS / "apptainer/usr/bin"

WITHOUT_PROGRAMS = {
    "docker": ({"backend": "docker"}, "docker or podman is not installed here; install Docker or Podman"),
    "podman": ({"backend": "podman"}, "podman is not installed here; install Docker or Podman"),
    "ssh": (
        {"backend": "ssh", "ssh_host": "example"},
        "ssh is not installed here; install the OpenSSH client.",
    ),
    "ssh-no-host": ({"backend": "ssh"}, "terminal.backend is ssh, but terminal.ssh_host names no host."),
    "ssh-no-key": (
        {"backend": "ssh", "ssh_host": "x", "ssh_key": "/no/key"},
        "terminal.ssh_key is '/no/key', and there is no such file.",
    ),
    "apptainer": (
        {"backend": "apptainer", "singularity_image": "x"},
        "apptainer or singularity is not installed here; install Apptainer",
    ),
    "vercel": ({"backend": "vercel_sandbox"}, "VERCEL_TOKEN and VERCEL_TEAM_ID and VERCEL_PROJECT_ID"),
    "daytona": ({"backend": "daytona"}, "DAYTONA_API_KEY"),
    "modal": ({"backend": "modal"}, "MODAL_TOKEN_ID and MODAL_TOKEN_SECRET"),
}


@pytest.fixture
def short_home() -> Iterator[Path]:
    """A home with so short a name that sockets fit below it, however the tests are run."""
    with tempfile.TemporaryDirectory(prefix="hermes-") as folder:
        yield Path(folder)


@pytest.fixture
def attempt(environ: dict[str, str], tmp_path: Path, short_home: Path) -> Try:
    """`attempt({"backend": …}, "doctor", NAME="value")`: exit code, what was said, and seconds."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "git"):
        (programs / name).symlink_to(shutil.which(name) or "")

    def attempt(terminal: dict[str, Any], *words: str, **more: str) -> tuple[int, str, float]:
        (short_home / "config.yaml").write_text(json.dumps({"terminal": terminal}))
        command = [
            sys.executable,
            "-m",
            "hermes",
            *(words or ("--base-url", "http://127.0.0.1:9/v1", "--model", "any", "-z", "hello")),
        ]
        begun = time.monotonic()
        wanted = {**environ, "HERMES_HOME": str(short_home), "PATH": str(programs), **more}
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=wanted,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout if words else done.stderr, time.monotonic() - begun

    return attempt


@pytest.mark.parametrize(("terminal", "sentence"), WITHOUT_PROGRAMS.values(), ids=WITHOUT_PROGRAMS.keys())
def test_what_is_missing_here_is_told_in_one_sentence(
    attempt: Try, terminal: dict[str, Any], sentence: str
) -> None:
    code, said, _ = attempt(terminal)
    assert (code, len(said.splitlines()), sentence in said) == (2, 1, True), said


@pytest.mark.parametrize(("terminal", "sentence"), WITHOUT_PROGRAMS.values(), ids=WITHOUT_PROGRAMS.keys())
def test_doctor_tells_the_same(attempt: Try, terminal: dict[str, Any], sentence: str) -> None:
    code, said, seconds = attempt(terminal, "doctor")
    line = next(line for line in said.splitlines() if line.startswith(f"✗ {terminal['backend']}:"))
    assert (code, sentence in line, seconds < 40) == (1, True, True), said


def test_a_daemon_that_does_not_run_is_told(attempt: Try) -> None:
    path = str(Path(servers.needed(shutil.which("docker"), "the docker client")).parent)
    nowhere = {"PATH": path, "DOCKER_HOST": "unix:///nowhere/docker.sock"}
    code, said, _ = attempt({"backend": "docker"}, **nowhere)
    assert (
        code,
        len(said.splitlines()),
        "docker does not answer: Cannot connect to the Docker daemon" in said,
    ) == (2, 1, True), said
    code, said, _ = attempt({"backend": "docker"}, "doctor", **nowhere)
    assert (code, "cannot reach its daemon (Cannot connect" in said, "start it, or see" in said) == (
        1,
        True,
        True,
    ), said


def test_an_image_that_cannot_be_had_is_told(attempt: Try, docker_daemon: servers.Docker) -> None:
    terminal = {"backend": "docker", "docker_image": "127.0.0.1:9/nothing:1"}
    code, said, _ = attempt(terminal, **docker_daemon.environ)
    assert (code, len(said.splitlines())) == (2, 1), said
    assert said.startswith("hermes: A container of 127.0.0.1:9/nothing:1 could not be started: docker: ")
    code, said, _ = attempt(terminal, "doctor", **docker_daemon.environ)
    assert (
        code,
        "! docker: " in said,
        "the image 127.0.0.1:9/nothing:1 is fetched on first use" in said,
    ) == (0, True, True), said


@pytest.mark.parametrize("engine", ENGINES)
def test_doctor_finds_what_runs_containers_and_the_image(
    attempt: Try, engine: str, request: pytest.FixtureRequest
) -> None:
    environ = engine_of(engine, request).environ
    code, said, _ = attempt({"backend": engine, "docker_image": servers.IMAGE}, "doctor", **environ)
    assert (code, f"✓ {engine}: " in said, f"the image {servers.IMAGE} is there" in said) == (
        0,
        True,
        True,
    ), said


def test_a_snapshot_is_an_image_and_only_containers_have_one(
    attempt: Try, docker_daemon: servers.Docker
) -> None:
    terminal = {"backend": "docker", "docker_image": servers.IMAGE, "docker_network": False}
    code, said, _ = attempt(terminal, "sandbox", "snapshot", "kept:1", **docker_daemon.environ)
    assert (code, said) == (
        0,
        "Kept as kept:1. A container begins with it when terminal.docker_image is kept:1.\n",
    )
    assert docker_daemon.client("image", "inspect", "--format", "{{.RepoTags}}", "kept:1") == "[kept:1]"
    assert attempt({"backend": "local"}, "sandbox", "snapshot", "kept:2")[0] == 2


REFUSALS = {
    "no-such-host": (
        {"ssh_host": "nowhere.invalid"},
        "Could not resolve hostname",
        "see terminal.ssh_host and your ssh config.",
    ),
    "nobody-listens": (
        {"ssh_host": "127.0.0.1", "ssh_port": 9},
        "Connection refused",
        "see whether its ssh server runs",
    ),
}


@pytest.mark.parametrize(("chosen", "said_there", "hint"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_host_that_cannot_be_reached_is_told(
    attempt: Try, chosen: dict[str, Any], said_there: str, hint: str
) -> None:
    path = str(Path(servers.needed(shutil.which("ssh"), "the ssh client")).parent)
    code, said, _ = attempt({"backend": "ssh", **chosen}, PATH=path)
    assert (code, len(said.splitlines()), said_there in said, hint in said) == (2, 1, True, True), said
    code, said, _ = attempt({"backend": "ssh", **chosen}, "doctor", PATH=path)
    assert (code, said_there in said, hint in said) == (1, True, True), said


def test_a_host_whose_key_is_not_known_is_told(attempt: Try, ssh_server: servers.Sshd) -> None:
    path = str(Path(servers.needed(shutil.which("ssh"), "the ssh client")).parent)
    terminal = {
        "backend": "ssh",
        "ssh_host": "127.0.0.1",
        "ssh_port": ssh_server.port,
        "ssh_key": str(ssh_server.key),
    }
    code, said, _ = attempt(terminal, PATH=path)
    assert (code, len(said.splitlines()), "connect once with ssh yourself" in said) == (2, 1, True), said


def test_an_image_of_apptainer_that_is_not_there_is_told(attempt: Try, tmp_path: Path) -> None:
    path = f"{Path(servers.needed(BIN / 'apptainer', 'apptainer')).parent}:/usr/bin:/bin"
    broken = tmp_path / "broken.sif"
    broken.write_text("no image")
    expected = {
        "": "terminal.singularity_image names no image",
        "/no.sif": "there is no such file or folder",
        str(broken): "image format not",
    }
    for image, sentence in expected.items():
        code, said, _ = attempt({"backend": "singularity", "singularity_image": image}, PATH=path)
        assert (code, len(said.splitlines()), sentence in said) == (2, 1, True), said
