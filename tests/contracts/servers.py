"""Real servers for the tests of environments: a docker daemon, an ssh server; started once for all tests, ended by them."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

BACKENDS = Path(__file__).resolve().parents[2] / ".venv" / "backends"
IMAGE = "hermes-test:1"


def needed(path: str | Path | None, what: str) -> str:
    """The path of a component; without it the tests are left out with a reason, or fail where CI runs them."""
    if path and Path(path).exists():
        return str(path)
    reason = f"{what} is not installed; scripts/backends installs it"
    if os.environ.get("HERMES_CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def wait_until(
    ready: Callable[[], bool], process: "subprocess.Popen[bytes]", log: Path, seconds: float = 30
) -> None:
    """Return once the callable `ready` is true."""
    end = time.monotonic() + seconds
    while not ready():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.05)


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a server: TERM, then KILL."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


@dataclass(frozen=True)
class Docker:
    """A daemon of our own, or podman, which has none: what its clients need."""

    environ: dict[str, str]
    folder: Path
    program: str = "docker"

    def client(self, *arguments: str) -> str:
        """What `docker ARGUMENTS` (or podman) prints."""
        done = subprocess.run(
            [self.program, *arguments],
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def docker(folder: Path) -> Iterator[Docker]:
    """A daemon with the test image, without networks of its own: containers have none or the host's."""
    daemon = needed(shutil.which("dockerd"), "the docker daemon")
    image = needed(BACKENDS / "image.tar", "the test image")
    if os.geteuid() != 0:
        needed(None, "a docker daemon that root starts")
    if not Path("/sys/fs/cgroup/memory").is_dir() and not Path("/sys/fs/cgroup/cgroup.controllers").exists():
        subprocess.run(["cgroupfs-mount"], check=False)
    address, log = folder / "docker.sock", folder / "log"
    argv = [
        daemon,
        "--data-root",
        str(folder / "data"),
        "--exec-root",
        str(folder / "exec"),
        "-H",
        f"unix://{address}",
    ]
    argv += ["--pidfile", str(folder / "pid"), "--iptables=false", "--ip6tables=false", "--bridge=none"]
    with log.open("wb") as out:
        process = subprocess.Popen(argv, stdout=out, stderr=out, start_new_session=True)
    made = Docker({**os.environ, "DOCKER_HOST": f"unix://{address}", "DOCKER_CONFIG": str(folder)}, folder)
    try:
        wait_until(address.exists, process, log)
        made.client("import", image, IMAGE)
        yield made
        for container in made.client("ps", "--all", "--quiet").split():
            made.client("rm", "--force", container)
    finally:
        stop(process)
        for mount in (folder / "exec" / "netns" / "default", folder / "data"):
            subprocess.run(["umount", "--lazy", str(mount)], capture_output=True, check=False)


def podman(folder: Path) -> Iterator[Docker]:
    """Podman with storage of its own and the test image; it has no daemon. What this process may not raise, containers do not raise."""
    needed(shutil.which("podman"), "podman")
    image = needed(BACKENDS / "image.tar", "the test image")
    if os.geteuid() != 0:
        needed(None, "a podman that root runs")
    (folder / "storage.conf").write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/data"\nrunroot = "{folder}/run"\n'
    )
    (folder / "containers.conf").write_text(
        '[containers]\ndefault_ulimits = ["nofile=1000:1000", "nproc=4000:4000"]\n[engine]\ncgroup_manager = "cgroupfs"\nruntime = "runc"\n'
    )
    programs = folder / "bin"
    programs.mkdir()
    for name in ("podman", "runc", "conmon"):
        (programs / name).symlink_to(needed(shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin"), name))
    own = {"PATH": f"{programs}:{os.environ['PATH']}", "CONTAINERS_STORAGE_CONF": f"{folder}/storage.conf"}
    made = Docker({**os.environ, **own, "CONTAINERS_CONF": f"{folder}/containers.conf"}, folder, "podman")
    made.client("import", "--quiet", image, IMAGE)
    yield made
    for container in made.client("ps", "--all", "--quiet").split():
        made.client("rm", "--force", container)
    subprocess.run(["umount", "--lazy", str(folder / "data" / "overlay")], capture_output=True, check=False)


@dataclass(frozen=True)
class Sshd:
    """An ssh server for this user on a free port: `options` are what its clients must say."""

    port: int
    key: Path
    options: tuple[str, ...]
    folder: Path
    argv: tuple[str, ...]
    started: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    def start(self) -> None:
        """Start it (again)."""
        with (self.folder / "log").open("ab") as out:
            process = subprocess.Popen(self.argv, stdout=out, stderr=out, start_new_session=True)
        self.started.append(process)
        wait_until(self._answers, process, self.folder / "log")

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False


def sshd(folder: Path, port: int) -> Sshd:
    """A server with keys of its own; nothing of the user's is read or written."""
    server = needed(
        shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"), "the ssh server"
    )
    needed(shutil.which("ssh"), "the ssh client")
    folder.chmod(0o700)
    for name in ("host", "id"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    shutil.copy(folder / "id.pub", folder / "authorized")
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile {folder}/pid\nAuthorizedKeysFile {folder}/authorized\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\nPermitRootLogin prohibit-password\n"
        f"SetEnv HOME={folder}/home\n"
        "MaxSessions 60\nMaxStartups 100\nPrintMotd no\nPrintLastLog no\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    options = (
        "-o",
        "StrictHostKeyChecking=no",
        "-o",
        f"UserKnownHostsFile={folder}/known",
        "-F",
        "/dev/null",
    )
    return Sshd(port, folder / "id", options, folder, (server, "-f", str(folder / "config"), "-D", "-e"))


@contextlib.contextmanager
def ssh_agent(key: Path) -> Iterator[str]:
    """The socket of an agent that holds a key."""
    with tempfile.TemporaryDirectory(prefix="hermes-agent-") as folder:
        socket_ = f"{folder}/socket"
        process = subprocess.Popen(["ssh-agent", "-D", "-a", socket_], stdout=subprocess.DEVNULL)
        try:
            wait_until(Path(socket_).exists, process, Path(os.devnull))
            subprocess.run(
                ["ssh-add", "-q", str(key)], env={**os.environ, "SSH_AUTH_SOCK": socket_}, check=True
            )
            yield socket_
        finally:
            stop(process)


def end_sessions(server: Sshd) -> None:
    """End the connections to a server: the processes that it has forked, and the clients that are kept."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.name() == "ssh" and str(server.folder) in " ".join(process.cmdline()):
                process.kill()
    parents = [one for one in psutil.process_iter() if is_listener(one, server)]
    for parent in parents:
        for child in parent.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                child.kill()


def is_listener(process: psutil.Process, server: Sshd) -> bool:
    """Whether a process is the server that waits for connections."""
    try:
        return str(server.folder / "config") in process.cmdline()
    except psutil.Error:
        return False


APPTAINER_MARK = f"tests{os.getpid()}"
"""What ends the names of this process's instances."""


def apptainer_stop_all(environ: dict[str, str]) -> None:
    """Stop the instances that the tests of this process have started."""
    subprocess.run(
        ["apptainer", "instance", "stop", f"hermes-*-{APPTAINER_MARK}"],
        env=environ,
        capture_output=True,
        check=False,
        timeout=60,
    )


@dataclass(frozen=True)
class Cloud:
    """A server that speaks a cloud's protocol; commands run here. A file `end` in its folder ends its sandboxes."""

    address: str
    folder: Path
    pid: int


@contextlib.contextmanager
def cloud(name: str) -> Iterator[Cloud]:
    """The server of tests/contracts/clouds with that name."""
    script = Path(__file__).parent / "clouds" / f"{name}_server.py"
    with tempfile.TemporaryDirectory(prefix=f"hermes-{name}-") as folder:
        process = subprocess.Popen(
            [sys.executable, str(script), folder], stdout=subprocess.PIPE, start_new_session=True
        )
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        try:
            yield Cloud(address, Path(folder), process.pid)
        finally:
            stop(process)
            process.stdout.close()
