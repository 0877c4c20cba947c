"""File tools against a process that exchanges folders and files with links: `python -m tests.escapes.exchange FOLDER SECONDS OPENAT2`.

OPENAT2 is "there", or the error with which the kernel answers that call to this process (ENOSYS, EPERM). Prints what came of each
operation as JSON.
"""

import ctypes
import errno
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from struct import pack
from typing import Any

import anyio

from hermes.environments.local_workspace import LocalWorkspace
from hermes.safety.decide import Policy, decide
from hermes.safety.redact import redact_file
from hermes.tools.builtin import patch, read_file, search_files, write_file
from hermes.types.action import Action, Permit
from hermes.types.error import Refused

CANARY = "canary-of-the-keys"
OPENAT2 = 437
LINK = "a link has come in the way"
EXCHANGER = """
import ctypes, os, sys
kernel, pairs = ctypes.CDLL(None), [os.fsencode(path) for path in sys.argv[1:]]
print(flush=True)
while True:
    for one, other in zip(pairs[::2], pairs[1::2]):
        kernel.renameat2(-100, one, -100, other, 2)
"""


Operation = Callable[[], Awaitable[Any]]


class Ctx:
    """What the file tools ask of a session."""

    session_id = task_id = "s"
    interrupted = False

    def __init__(self, workspace: LocalWorkspace) -> None:
        self.workspace = workspace

    def redact(self, path: str, text: str) -> str:
        """What people are shown of a file."""
        return redact_file(path, text)

    def changed(self, diff: str) -> None:
        """People are shown nothing here."""


def lay(top: Path) -> list[str]:
    """A home with keys, a workspace with links to them; the paths that are exchanged, in pairs."""
    keys, work = top / "home/.ssh", top / "work"
    for folder in (keys, work / "data/sub", work / "trap-below"):
        folder.mkdir(parents=True)
    for folder in (keys, work / "data", work / "data/sub"):
        (folder / "config").write_text("inside\n")
        (folder / "authorized_keys").write_text("inside\n")
    (keys / "config").write_text(f"{CANARY}\n")
    (keys / "authorized_keys").write_text("the owner's\n")
    (keys / CANARY).write_text("the owner's\n")
    (work / "trap").symlink_to(keys)
    (work / "trap-below").rmdir()
    (work / "trap-below").symlink_to(keys)
    (work / "notes").write_text("inside\n")
    (work / "trap-file").symlink_to(keys / "config")
    pairs = ("data", "trap", "data/sub", "trap-below", "notes", "trap-file")
    return [str(work / name) for name in pairs]


def lay_again(work: Path) -> None:
    """Put back the link that a write has replaced, which it may."""
    if not (work / "notes").is_symlink() and not (work / "trap-file").is_symlink():
        (work / "another").symlink_to(work.parent / "home/.ssh/config")
        (work / "another").replace(work / "trap-file")


def forbid_openat2(code: int) -> None:
    """From now on the kernel answers openat2 with this error, to this process and those that it starts."""
    load, answer = (0x20, 0, 0, 0), ((0x06, 0, 0, 0x50000 | code), (0x06, 0, 0, 0x7FFF0000))
    steps = (load, (0x15, 0, 1, OPENAT2), *answer)
    held = ctypes.create_string_buffer(b"".join(pack("=HBBI", *step) for step in steps))
    kernel = ctypes.CDLL(None, use_errno=True)
    assert kernel.prctl(38, 1, 0, 0, 0) == 0
    assert kernel.prctl(22, 2, pack("@HP", 4, ctypes.addressof(held)), 0, 0) == 0


def operations(space: LocalWorkspace) -> dict[str, Operation]:
    """What the file tools do with one path."""
    told: dict[str, Any] = {"ctx": Ctx(space)}

    async def made_and_deleted() -> None:
        await space.write("data/new/gone", b"")
        await space.delete("data/new/gone")

    return {
        "read": lambda: read_file.read_file({"path": "data/config"}, **told),
        "read below": lambda: read_file.read_file({"path": "data/sub/config"}, **told),
        "read a file": lambda: read_file.read_file({"path": "notes"}, **told),
        "write": lambda: write_file.write_file(
            {"path": "data/authorized_keys", "content": "inside\n"}, **told
        ),
        "write a file": lambda: space.write("notes", b"inside\n"),
        "patch": lambda: patch.patch(
            {"path": "data/sub/config", "old_string": "inside", "new_string": "inside"}, **told
        ),
        "list": lambda: space.list("data"),
        "stat": lambda: space.stat(f"data/{CANARY}"),
        "make and delete": made_and_deleted,
        "delete": lambda: space.delete(f"data/{CANARY}"),
    }


def searches(space: LocalWorkspace) -> dict[str, Operation]:
    """What starts a process each time, or reads every file, and so is tried less often."""
    told: dict[str, Any] = {"ctx": Ctx(space)}
    return {
        "search": lambda: search_files.search_files({"pattern": "inside|canary|owner", "path": "."}, **told),
        "search below": lambda: search_files.search_files(
            {"pattern": "canary|owner", "path": "data"}, **told
        ),
        "find": lambda: search_files.search_files({"pattern": "*", "target": "files", "path": "."}, **told),
    }


async def attempt(operation: Operation) -> str:
    """inside, outside, link (refused because of one) or refused; what is missing meanwhile is no harm."""
    try:
        given = str(await operation())
    except Refused:
        return "refused"
    except OSError as error:
        return "link" if LINK in str(error) else "inside"
    if LINK in given:
        return "link"
    if "Refused" in given:
        return "refused"
    return "outside" if CANARY in given or "owner" in given.replace('"owner', "") else "inside"


async def attack(top: Path, seconds: float) -> dict[str, Counter[str]]:
    """Each operation in turn until the time is up, while the paths are exchanged; what came of each."""
    policy = Policy(
        workspace=str(top / "work"), home=str(top / "home"), hermes_home=str(top / "home/.hermes"), temp=()
    )

    async def authorize(action: Action) -> Permit:
        verdict = decide(action, policy)
        if verdict.decision in {"ask", "deny"}:
            raise Refused(f"Refused: {'; '.join(verdict.reasons)}.")
        return verdict.permit(action)

    environ = {"HOME": str(top / "home"), "PATH": os.environ["PATH"]}
    space = LocalWorkspace(top / "work", authorize=authorize, environ=environ, scratch=top / "scratch")
    tries = [*list(operations(space).items()) * 10, *searches(space).items()]
    came: dict[str, Counter[str]] = {name: Counter() for name, _ in tries}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, operation in tries:
            lay_again(top / "work")
            came[name][await attempt(operation)] += 1
    await space.close()
    return came


def main(top: Path, seconds: float, openat2: str) -> None:
    """Lay the ground, exchange, attack, tell."""
    paths = lay(top)
    with subprocess.Popen([sys.executable, "-c", EXCHANGER, *paths], stdout=subprocess.PIPE) as exchanger:
        assert exchanger.stdout is not None
        exchanger.stdout.readline()
        if openat2 != "there":
            forbid_openat2(getattr(errno, openat2))
        try:
            came = anyio.run(attack, top, seconds)
            assert exchanger.poll() is None
        finally:
            exchanger.kill()
    sys.stdout.write(json.dumps(came))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
