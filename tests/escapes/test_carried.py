"""Attempts to get out of the sandbox, each run for real: none may have an effect outside."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.environments.sandbox.prewarm import Spawn
from hermes.environments.workspace import WorkspaceOptions
from hermes.types.action import Action, Permit

pytestmark = pytest.mark.anyio

SOCKET = f"/tmp/hermes-escape-{os.getpid()}.socket"
CANARY = "canary-4711-value"


@dataclass
class Field:
    """A machine with things to harm: `outside` is next to the workspace, `victim` a process of the host."""

    space: LocalWorkspace
    outside: Path
    home: Path
    port: int
    victim: "subprocess.Popen[bytes]"

    def state(self) -> dict[str, object]:
        """Everything that an escape would change."""
        files = {
            str(path.relative_to(self.outside)): (
                path.stat().st_mode,
                path.stat().st_mtime_ns,
                path.read_bytes() if path.is_file() else b"",
            )
            for path in sorted(self.outside.rglob("*"))
        }
        return {"files": files, "folder": self.outside.stat().st_mode, "victim": self.victim.poll()}


@pytest.fixture
def victim() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(["sleep", "600"], env={"VICTIM": "1"})
    yield process
    process.kill()
    process.wait()


@pytest.fixture
async def field(
    tmp_path: Path, environ: dict[str, str], victim: "subprocess.Popen[bytes]", spawn: Spawn
) -> AsyncIterator[Field]:
    root, outside, home, scratch = (
        tmp_path / "project",
        tmp_path / "outside",
        Path(environ["HOME"]),
        tmp_path / "scratch",
    )
    root.mkdir()
    outside.mkdir()
    (outside / "file").write_text("kept")
    (outside / "own.sh").write_text("#!/bin/sh\n")
    for secret in (
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".hermes/.env",
        ".hermes/auth.json",
        ".netrc",
        ".gnupg/key",
    ):
        (home / secret).parent.mkdir(exist_ok=True)
        (home / secret).write_text(CANARY)
    sandbox = open_sandbox(
        workspace=root, home=home, hermes_home=home / ".hermes", scratch=scratch, environ=environ
    )
    assert sandbox is not None, "bubblewrap does not work here"

    async def confined(action: Action) -> Permit:
        return Permit.of(action, confined=True)

    space = LocalWorkspace(
        root,
        authorize=confined,
        environ=environ,
        scratch=scratch,
        sandbox=sandbox,
        options=WorkspaceOptions(spawn=spawn),
    )
    with servers() as port:
        yield Field(space, outside, home, port, victim)
    await space.close()


@contextlib.contextmanager
def servers() -> Iterator[int]:
    """One server of each kind on this machine; gives the TCP port."""
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        Path(SOCKET).unlink(missing_ok=True)  # of a run that was killed, and had our number
        named.bind(SOCKET)
        named.listen()
        abstract.bind(f"\0hermes-escape-{os.getpid()}")
        abstract.listen()
        yield int(tcp.getsockname()[1])
    Path(SOCKET).unlink()


ATTEMPTS = {
    "write outside": "echo x > {outside}/new",
    "append to a file outside": "echo x >> {outside}/file",
    "write through a link": "ln -s {outside} l; echo x > l/new",
    "write through a hard link": "ln {outside}/file h && echo x >> h",
    "write through the root of a process": "echo x > /proc/self/root{outside}/new; echo x > /proc/1/root{outside}/new",
    "write through a working directory": "echo x > /proc/1/cwd{outside}/new; cd ../outside && echo x > new",
    "rename over a file outside": "echo x > n; mv -f n {outside}/file",
    "change a mode outside": "chmod 777 {outside}/file {outside}",
    "change times outside": "touch {outside}/file",
    "change an owner outside": "chown 1234 {outside}/file",
    "set an attribute outside": "setfattr -n user.x -v y {outside}/file; chattr +i {outside}/file",
    "delete outside": "rm -rf {outside}/file",
    "truncate outside": "truncate -s 0 {outside}/file",
    "remount": "mount -o remount,rw / && echo x > {outside}/new; mount -o remount,rw,bind {outside} && echo x > {outside}/new",
    "mount over": "mount --bind . {outside} && echo x > {outside}/new; umount -l / {outside}",
    "a namespace of its own": "unshare -Urm bash -c 'mount -o remount,rw,bind / ; echo x > {outside}/new'",
    "the sandbox in the sandbox": "bwrap --bind / / bash -c 'echo x > {outside}/new'",
    "chroot": "chroot /proc/1/root bash -c 'echo x > {outside}/new'",
    "enter a namespace": "nsenter -t {victim} -a bash -c 'echo x > {outside}/new'; nsenter -t 1 -m bash -c 'echo x > {outside}/new'",
    "a device node": "mknod d b 8 0 && dd if=d bs=1 count=1; mknod m c 1 1 && cat m | head -c 10",
    "kill a process of the host": "kill -9 {victim}; kill -9 {ours}; pkill -9 sleep",
    "kill everything": "kill -9 -1; true",
    "trace a process of the host": "gdb -p {victim} -batch; cat /proc/{victim}/environ && echo x > {outside}/new",
    "a kernel setting": "echo {outside}/own.sh > /proc/sys/kernel/core_pattern",
    "the kernel's helper": "echo c > /proc/sysrq-trigger; echo {outside}/own.sh > /sys/kernel/uevent_helper",
    "a control group": "mkdir /sys/fs/cgroup/hermes-escape",
    "type into the terminal": 'python3 -c \'import fcntl,termios,os; fcntl.ioctl(os.open("/dev/tty", 2), termios.TIOCSTI, b"x")\'',
    "the loader of the sandbox": "export LD_DEBUG=files LD_DEBUG_OUTPUT={outside}/debug; cd {outside}",
    "a start file of the shell": "export BASH_ENV={root}/evil ENV={root}/evil; echo 'echo x > {outside}/new' > evil",
    "a state for the next command": "ln -sf {outside}/file /run/hermes/state-{ours}-2; ln -sf {outside}/file /run/hermes/state-{ours}-3",
    "a function in the next command": "cd() {{ builtin cd /; echo x > {outside}/new; }}; builtin() {{ echo x > {outside}/new; }}",
}

SECRETS = {
    "a key": "cat {home}/.ssh/*",
    "credentials through a link": "ln -s {home}/.aws/credentials l; cat l",
    "our own settings": "cat {home}/.hermes/.env {home}/.hermes/auth.json {home}/.netrc",
    "through the root of a process": "cat /proc/self/root{home}/.ssh/id_ed25519 /proc/1/root{home}/.ssh/id_ed25519",
    "an archive of the home": "tar c {home} 2>/dev/null | strings; grep -r canary {home} {outside}",
    "moving the cover away": "mv {home}/.ssh {home}/.x; umount {home}/.ssh; cat {home}/.ssh/id_ed25519",
    "memory of a process": "cat /proc/{victim}/mem /proc/{ours}/environ /proc/*/environ | strings | grep -a canary",
}

SCRIPT = "{{python}} -c \"import socket; {}; print('reached')\""
CONNECTIONS = {
    "TCP to this machine": "exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached",
    "a socket of another program": SCRIPT.format("socket.socket(socket.AF_UNIX).connect('{socket}')"),
    "an abstract socket": SCRIPT.format(
        "socket.socket(socket.AF_UNIX).connect(chr(0) + 'hermes-escape-{ours}')"
    ),
    "UDP": SCRIPT.format("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))"),
    "a raw socket": SCRIPT.format("socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"),
    "sockets of the system": "ls /run/docker.sock /run/dbus /run/systemd /run/user /var/run/docker.sock 2>/dev/null && echo reached",
}


def filled(field: Field, command: str) -> str:
    root = field.space.cwd
    places = {
        "outside": field.outside,
        "home": field.home,
        "root": root,
        "socket": SOCKET,
        "python": sys.executable,
    }
    return command.format(**places, port=field.port, victim=field.victim.pid, ours=os.getpid())


@pytest.mark.parametrize("attempt", ATTEMPTS)
async def test_nothing_outside_changes(field: Field, attempt: str) -> None:
    before = field.state()
    await field.space.run(filled(field, ATTEMPTS[attempt]), timeout=20)
    await field.space.run("true", timeout=20)  # what was left behind for the next command gets its chance
    assert field.state() == before


@pytest.mark.parametrize("attempt", SECRETS)
async def test_no_secret_is_read(field: Field, attempt: str) -> None:
    done = await field.space.run(filled(field, SECRETS[attempt]), timeout=20)
    assert CANARY not in done.text


@pytest.mark.parametrize("attempt", CONNECTIONS)
async def test_nothing_is_reached(field: Field, attempt: str) -> None:
    done = await field.space.run(filled(field, CONNECTIONS[attempt]), timeout=20)
    assert "reached" not in done.text


async def test_the_attempts_would_succeed_without_the_sandbox(
    tmp_path: Path, environ: dict[str, str], victim: "subprocess.Popen[bytes]"
) -> None:
    """The table can fail: the plain ones of its attempts do their harm when nothing confines them."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("kept")

    async def free(action: Action) -> Permit:
        return Permit.of(action, confined=False)

    space = LocalWorkspace(tmp_path, authorize=free, environ=environ, scratch=tmp_path / "scratch")
    with servers() as port:
        field = Field(space, outside, tmp_path, port, victim)
        for attempt in (
            "TCP to this machine",
            "a socket of another program",
            "an abstract socket",
            "a raw socket",
        ):
            assert "reached" in (await space.run(filled(field, CONNECTIONS[attempt]), timeout=20)).text, (
                attempt
            )
    for attempt in (
        "write outside",
        "write through a link",
        "change a mode outside",
        "change times outside",
        "delete outside",
    ):
        before = field.state()
        await space.run(filled(field, ATTEMPTS[attempt]), timeout=20)
        assert field.state() != before, attempt
    await space.run(f"kill -9 {victim.pid}", timeout=20)
    assert victim.wait(5) == -9


@pytest.mark.parametrize(
    "survivor",
    [
        "setsid NAP &",
        "nohup NAP &",
        "(setsid bash -c 'setsid NAP' &)",
        "disown; NAP & disown",
    ],
)
async def test_nothing_survives_its_call(field: Field, survivor: str) -> None:
    nap = f"sleep 301.{os.getpid()}"  # another process may run these tests, too
    await field.space.run(f"{survivor.replace('NAP', nap)}\nsleep 0.05", timeout=20)
    deadline = time.monotonic() + 2
    while running(nap) and time.monotonic() < deadline:
        pass
    assert running(nap) == []


def running(command: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes().replace(b"\0", b" ").strip() == command.encode():
                found.append(str(path))
    return found


async def test_the_workspace_and_the_temporary_folder_are_writable(field: Field) -> None:
    done = await field.space.run(
        "echo a > a && echo b > /tmp/b && cat a /tmp/b && git init -q . && touch .git/x", timeout=20
    )
    assert (done.code, done.text) == (0, "a\nb\n")


async def test_programs_of_the_machine_run(field: Field) -> None:
    python = (
        Path(sys.base_prefix) / "bin" / "python3"
    )  # the environment of the tests may lie in /tmp, which commands have their own of
    done = await field.space.run(f"{python} -c 'print(6 * 7)'; echo $HOME", timeout=20)
    assert done.text == f"42\n{field.home}\n"


LEFT = {
    "a prompt that traces": "export PS4='$({sprung})'; set -x",
    "a command before each prompt": "export PROMPT_COMMAND='{sprung}'",
    "start files": "export ZDOTDIR=$PWD BASH_ENV=$PWD/evil ENV=$PWD/evil; echo '{sprung}' > evil",
    "settings of a library": "export OPENSSL_CONF=$PWD/evil",
    "a helper of git": "export GIT_EXTERNAL_DIFF='{sprung}' GIT_PAGER='{sprung}' LESSOPEN='|{sprung}'",
    "a variable that no list has": "export SOME_TOOL_HELPER='{sprung}'",
    "an alias": "shopt -s expand_aliases; alias true='{sprung}'",
    "a function": "true() {{ {sprung}; }}; export -f true",
    "a trap": "trap '{sprung}' DEBUG EXIT ERR",
    "an option": "set -o noglob -o errexit; shopt -s nullglob",
}


@pytest.mark.parametrize("left", LEFT)
async def test_an_unconfined_command_takes_on_the_directory_of_confined_ones_and_nothing_else(
    tmp_path: Path, environ: dict[str, str], left: str
) -> None:
    work = tmp_path / "work"
    (work / "inner").mkdir(parents=True)
    sandbox = open_sandbox(
        workspace=work,
        home=Path(environ["HOME"]),
        hermes_home=tmp_path / ".hermes",
        scratch=tmp_path / "scratch",
        environ=environ,
    )

    async def by_word(action: Action) -> Permit:
        return Permit.of(action, confined="outside" not in getattr(action, "command", ""))

    space = LocalWorkspace(
        work, authorize=by_word, environ=environ, scratch=tmp_path / "scratch", sandbox=sandbox
    )
    told = "true outside; pwd; env -u _ | sort; set +o; shopt; alias; declare -F"
    fresh = await space.run(told, timeout=20)
    await space.run("cd inner; " + LEFT[left].format(sprung=f"touch {tmp_path}/sprung"), timeout=20)
    done = await space.run(told, timeout=20)
    await space.close()
    there = tuple(one.replace(f"{work}/inner", str(work)) for one in _states(done.text))
    assert (there, (tmp_path / "sprung").exists()) == (_states(fresh.text), False)


def _states(told: str) -> tuple[str, ...]:
    """The lines of a shell about itself, without what differs from call to call."""
    return tuple(one for one in told.splitlines() if not one.startswith(("HERMES_", "OLDPWD=")))


async def test_no_link_that_a_command_left_is_written_through_by_a_long_state(field: Field) -> None:
    """A state that is too long for an argument goes to bash in a file, in a folder that commands write, too."""
    before = field.state()
    links = "; ".join(f"ln -sf {field.outside}/file /run/hermes/$base-{at}.sh" for at in range(60))
    await field.space.run(
        f"base=$(basename $(ls -t /run/hermes | head -1) | sed 's/-[0-9]*$//'); {links}; "
        f"for i in $(seq 60); do ln -sf {field.outside}/file /run/hermes/state-{os.getpid()}-$i.sh; done; "
        "big() { : " + "x" * 120_000 + "; }",
        timeout=20,
    )
    done = await field.space.run("echo still here; type -t big", timeout=20)
    assert (done.text, field.state()) == ("still here\nfunction\n", before)


async def test_a_folder_in_place_of_the_state_loses_no_output(field: Field) -> None:
    await field.space.run("trap 'mkdir -p /run/hermes/state-'$$ EXIT; echo $0", timeout=20)
    done = await field.space.run(
        "for at in $(seq 50); do mkdir -p /run/hermes/$(ls /run/hermes | head -1 | sed 's/-[0-9]*$//')-$at; done; "
        "echo said",
        timeout=20,
    )
    assert done.text.endswith("said\n")
