"""A machine with a shell and files, where every effect is decided first: the local implementation of `Workspace`."""

import hashlib
import itertools
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

import anyio
import anyio.to_thread

from hermes.environments import files
from hermes.environments.background import Background
from hermes.environments.base import Job, Limits
from hermes.environments.local import LocalEnvironment
from hermes.environments.sandbox import INSIDE, Sandbox, default_mounts, find_sandbox
from hermes.environments.scrub import scrubbed
from hermes.environments.search import Search, find_files, search_lines
from hermes.environments.shell import Shell, Start
from hermes.lib.secretvalues import SecretValues
from hermes.types.action import Action, Command, FileAccess, Permit
from hermes.types.error import Refused
from hermes.types.workspace import ExecResult, FileStat, Match, ProcessState

Authorize = Callable[[Action], Awaitable[Permit]]

QUIET: Final = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
"""Variables that keep commands from waiting for a person."""

_ON_TERMINAL: Final = {"TERM": "xterm-256color"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """The folders of a workspace's own: shell states (one part seen by confined commands), uncut outputs, their /tmp."""

    root: Path

    @property
    def shell(self) -> Path:
        """Shell states."""
        return self.root / "shell"

    @property
    def confined(self) -> Path:
        """The part of the shell states that confined commands write."""
        return self.shell / "confined"

    @property
    def outputs(self) -> Path:
        """Uncut outputs."""
        return self.root / "outputs"

    @property
    def temp(self) -> Path:
        """What confined commands have as /tmp."""
        return self.root / "tmp"

    def make(self) -> None:
        """Make the folders, for this user alone."""
        for folder in (self.root, self.shell, self.confined, self.outputs, self.temp):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceOptions:
    """What may be set: output limits, variables that children may have although their names say secret.

    `known` are secrets that no uncut output on disk may hold, `concealed` says of an absolute path that a search must not look into it.
    """

    limits: Limits = field(default_factory=Limits)
    time_limit: float = 180.0
    passthrough: tuple[str, ...] = ()
    known: SecretValues = field(default_factory=SecretValues)
    concealed: Callable[[str], bool] = field(default=lambda _path: False)


class LocalWorkspace:
    """This machine: implements `Workspace`. Call `close` in the end, it stops what still runs.

    `authorize` decides each action; `environ` is the user's environment, whose secrets are taken out here; `scratch` gets uncut
    outputs and shell states, and a sandbox must be made with its folders (see `open_sandbox`); `clock` gives epoch seconds.
    """

    def __init__(
        self,
        root: Path,
        *,
        authorize: Authorize,
        environ: Mapping[str, str],
        scratch: Path,
        clock: Callable[[], float] = time.time,
        sandbox: Sandbox | None = None,
        options: WorkspaceOptions | None = None,
    ) -> None:
        self._root = root.resolve()
        self._authorize = authorize
        self._sandbox = sandbox
        self._options = options or WorkspaceOptions()
        self._home = environ.get("HOME", str(self._root))
        self._clock = clock
        self._ripgrep = shutil.which("rg", path=environ.get("PATH", os.defpath))
        self._ids = itertools.count(1)
        self._turns = anyio.Lock()  # invariant: one command at a time uses the carried shell
        folders = Scratch(root=scratch.resolve())
        folders.make()
        self._local = LocalEnvironment(outputs=folders.outputs, limits=self._options.limits, sandbox=sandbox, known=self._options.known)
        env = {**QUIET, **scrubbed(environ, self._options.passthrough)}
        self._shell = Shell(cwd=str(self._root), env=env, folder=folders.shell, inside=INSIDE if sandbox else "")
        self.processes = Background(clock, known=self._options.known)

    @property
    def cwd(self) -> str:
        """The directory that the next command starts in."""
        return self._shell.cwd

    @property
    def time_limit(self) -> float:
        """Seconds that a foreground command may take when nothing else is said."""
        return self._options.time_limit

    async def run(
        self,
        command: str,
        *,
        timeout: float,
        cwd: str | None = None,
        stdin: bytes | None = None,
        pty: bool = False,
        on_output: Callable[[str], None] | None = None,
    ) -> ExecResult:
        """Run a command in the carried shell; a `cwd` is for this command only. Refused when the decision is no."""
        async with self._turns:
            where = self._nominal(cwd) if cwd else None
            permit = await self._permit(Command(command=command, cwd=where or self.cwd, pty=pty))
            start = self._shell.prepare(command, cwd=where, confined=permit.confined)
            done = await self._local.exec(self._job(start, permit, pty=pty), timeout=timeout, stdin=stdin, on_output=on_output)
            self._shell.adopt(start, confined=permit.confined, keep_directory=where is not None)
        return ExecResult(
            text=done.text,
            code=done.code,
            cwd=self.cwd,
            seconds=done.seconds,
            timed_out=done.timed_out,
            clipped=done.clipped,
            full=done.full,
        )

    async def start(self, command: str, *, cwd: str | None = None, pty: bool = False, notify: bool = False) -> ProcessState:
        """Start a background process with the carried directory and exports; ExecError when 64 run already."""
        where = self._nominal(cwd) if cwd else self.cwd
        permit = await self._permit(Command(command=command, cwd=where, background=True, pty=pty))
        self.processes.make_room()
        start = self._shell.prepare(command, cwd=where, confined=permit.confined, carry=False)
        child = self._local.spawn(self._job(start, permit, pty=pty))
        return self.processes.add(self._process_id(), child, command=command, cwd=where, notify=notify)

    async def read(self, path: str) -> bytes:
        """A file's bytes; FileNotFoundError, IsADirectoryError, PermissionError as usual."""
        place = await self._decided("read", path)
        return await anyio.to_thread.run_sync(files.read_bytes, place)

    async def write(self, path: str, data: bytes) -> FileStat:
        """Write a file atomically, make its folders, keep its mode."""
        place = await self._decided("write", path)
        return self._named(await anyio.to_thread.run_sync(files.write_bytes, place, data))

    async def delete(self, path: str) -> None:
        """Delete one file."""
        await anyio.to_thread.run_sync(files.delete_file, await self._decided("delete", path))

    async def stat(self, path: str) -> FileStat | None:
        """What is at the path, or None."""
        found = await anyio.to_thread.run_sync(files.stat_path, await self._decided("read", path))
        return self._named(found) if found else None

    async def list(self, path: str) -> Sequence[FileStat]:
        """The entries of a directory, by name."""
        found = await anyio.to_thread.run_sync(files.list_folder, await self._decided("read", path))
        return [self._named(entry) for entry in found if not self._options.concealed(entry.path)]

    async def search(self, pattern: str, *, path: str = ".", file_glob: str = "", limit: int = 1000) -> Sequence[Match]:
        """Lines that match a regular expression; ValueError when it is not one, FileNotFoundError when there is no such path."""
        where = Search(root=await self._existing(path), file_glob=file_glob, limit=limit, concealed=self._options.concealed)
        found = await anyio.to_thread.run_sync(search_lines, pattern, where, self._ripgrep)
        return [replace(match, path=self._inside(match.path)) for match in found]

    async def find(self, glob: str, *, path: str = ".", limit: int = 1000) -> Sequence[FileStat]:
        """Files whose name or path matches a glob, newest first; FileNotFoundError when there is no such path."""
        where = Search(root=await self._existing(path), limit=limit, concealed=self._options.concealed)
        return [self._named(found) for found in await anyio.to_thread.run_sync(find_files, glob, where)]

    async def close(self) -> None:
        """Stop every background process."""
        with anyio.CancelScope(shield=True):
            await self.processes.stop_all()

    async def _permit(self, action: Command) -> Permit:
        if "\0" in action.command:
            raise Refused("A command cannot contain a NUL character.")
        permit = await self._authorize(action)
        if permit.confined and self._sandbox is None:
            raise Refused("This command may only run confined, and there is no sandbox on this machine; install bubblewrap.")
        return permit

    def _job(self, start: Start, permit: Permit, *, pty: bool) -> Job:
        env = {**start.env, **_ON_TERMINAL} if pty else start.env
        return Job(argv=start.argv, env=env, confined=permit.confined, network=permit.network is True, pty=pty)

    def _process_id(self) -> str:
        seed = f"{os.getpid()} {id(self)} {next(self._ids)} {self._clock()}"
        return "proc_" + hashlib.blake2s(seed.encode()).hexdigest()[:12]

    async def _decided(self, operation: Literal["read", "write", "delete"], path: str) -> Path:
        """Where a path leads on this machine, links followed, once the decision is yes; a deletion is of the link itself."""
        place = self._place(self._nominal(path), for_reading=operation == "read")
        place = place.parent.resolve() / place.name if operation == "delete" else place.resolve()
        await self._authorize(FileAccess(operation=operation, path=self._inside(str(place))))
        return place

    async def _existing(self, path: str) -> Path:
        place = await self._decided("read", path)
        if not place.exists():
            raise FileNotFoundError(f"{self._inside(str(place))} does not exist")
        return place

    def _nominal(self, path: str) -> str:
        """A path as the model means it: absolute, `~` resolved, relative to the carried directory."""
        if path == "~" or path.startswith("~/"):
            path = self._home + path[1:]
        return os.path.normpath(Path(self.cwd) / path)

    def _place(self, nominal: str, *, for_reading: bool) -> Path:
        """Where a nominal path lies: what confined commands call /tmp is a folder of their own, the machine's own can be read."""
        own = self._sandbox.outside(nominal) if self._sandbox else None
        if own is None or (for_reading and not os.path.lexists(own)):
            return Path(nominal)
        return own

    def _inside(self, place: str) -> str:
        return self._sandbox.inside(Path(place)) if self._sandbox else place

    def _named(self, found: FileStat) -> FileStat:
        return replace(found, path=self._inside(found.path))


def open_sandbox(*, workspace: Path, home: Path, hermes_home: Path, scratch: Path, environ: Mapping[str, str]) -> Sandbox | None:
    """The usual sandbox for a workspace with that scratch folder, or None where the kernel or bubblewrap does not let us."""
    folders = Scratch(root=scratch.resolve())
    folders.make()
    mounts = default_mounts(workspace=workspace.resolve(), home=home, hermes_home=hermes_home, temp=folders.temp, state=folders.confined)
    return find_sandbox(environ, mounts)
