"""This machine as a workspace: commands in the kernel sandbox when a permit says so, files by the system's
own calls.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from msgspec.structs import replace

from hermes.environments import files
from hermes.environments.child_env import child_environment
from hermes.environments.env_hints import Missed
from hermes.environments.kernel_workspace import KernelWorkspace
from hermes.environments.local import LocalEnvironment
from hermes.environments.named_files import named_files
from hermes.environments.sandbox import landlock
from hermes.environments.sandbox.egress import Ways
from hermes.environments.sandbox.mounts import INSIDE, Scratch, default_mounts, narrowed
from hermes.environments.sandbox.probe import find_sandbox
from hermes.environments.sandbox.proxy import Resolve
from hermes.environments.sandbox.sandbox import Sandbox, SandboxOptions
from hermes.environments.search import find_files, search_lines
from hermes.environments.searched_files import Search
from hermes.environments.second_names import linked_files, secret_names
from hermes.environments.shell import FileCarrier, Shell
from hermes.environments.tool_socket import SocketChannel
from hermes.environments.workspace import QUIET, Authorize, WorkspaceOptions
from hermes.environments.workspace_files import Located, Operation
from hermes.lib.beneath import make_folders
from hermes.lib.files import make_private
from hermes.lib.programs import find_program
from hermes.lib.repository import git_name, names_programs
from hermes.types.action import Command, Permit
from hermes.types.capabilities import ALL, is_below, shared
from hermes.types.error import ExecError, Refused, WorkspaceGone
from hermes.types.needs import NO_NEEDS, Needs
from hermes.types.workspace import ExecResult, FileStat, Match


class LocalWorkspace(KernelWorkspace):
    """This machine: implements `Workspace`. Call `close` in the end, it stops what still runs.

    `authorize` decides each action; `environ` is the user's environment, whose secrets are taken out here;
    `scratch` gets uncut outputs and shell states, and a sandbox must be made with its folders (see
    `open_sandbox`); `clock` gives epoch seconds.
    """

    def __init__(
        self,
        root: Path,
        *,
        authorize: Authorize,
        environ: Mapping[str, str],
        scratch: Path,
        clock: Callable[[], float] = time.time,  # noqa: TID251  # not yet a port
        sandbox: Sandbox | None = None,
        options: WorkspaceOptions | None = None,
    ) -> None:
        root, chosen = root.resolve(), options or WorkspaceOptions()
        self._sandbox = sandbox
        folders = Scratch(root=scratch.resolve())
        folders.make()
        children = child_environment(environ, chosen.passthrough, chosen.is_secret)
        self._missed = Missed(children.left)
        self._channel = SocketChannel(folders.shell, INSIDE if sandbox else "")
        super().__init__(
            environment=LocalEnvironment(
                outputs=folders.outputs,
                limits=chosen.limits,
                error_limits=chosen.error_limits,
                sandbox=sandbox,
                known=chosen.known,
                note=chosen.note,
                spawn=chosen.spawn,
            ),
            files=LocalFiles(root, sandbox, chosen.concealed, find_program("rg", environ, (root,))),
            shell=Shell(
                cwd=str(root),
                env={**QUIET, **children.given},
                carrier=FileCarrier(folders.shell, INSIDE if sandbox else ""),
                bash=local_bash(environ, root),
                guarded=sandbox is not None,
                first=sandbox.first if sandbox else "",
                gave=sandbox.gave if sandbox else lambda _name, _value: False,
            ),
            home=environ.get("HOME", str(root)),
            authorize=authorize,
            clock=clock,
            options=chosen,
        )

    async def run(self, command: str, **options: Any) -> ExecResult:
        """As every workspace does; output that misses one of the user's variables ends with a sentence that
        says so, once for each.
        """
        done = await super().run(command, **options)
        missed = self._missed.take(command, done, self._shell.exports)
        return replace(done, text=done.text + missed) if missed else done

    async def _ready(self) -> None:
        # Without this a write would make the folder anew, and a command start in an empty one of its own.
        if not os.path.isdir(self._root):  # noqa: ASYNC240, PTH112  # one stat
            raise WorkspaceGone(
                f"{self._root}, the folder that this session works in, is gone, so nothing was done; the user"
                " has to bring it back, or to start a session in another."
            )

    def _led(self, path: str) -> str:
        return os.path.realpath(path)

    def _refuse_missing(self, needs: Needs) -> None:
        for path in () if needs.unconfined else self._missing(needs.paths):
            above = next(str(one) for one in Path(path).parents if os.path.exists(one))  # noqa: PTH110  # any word
            if Path(path).suffix:
                raise ExecError(f"{path} is not there, and might be a file: declare the folder {above}.")
            if not os.access(above, os.W_OK):
                raise ExecError(f"{path} is not there, and the user may not make it in {above}.")

    def _make_granted(self, permit: Permit) -> str:
        made = self._missing(permit.paths) if permit.confined else []
        try:
            for path in made:
                os.close(make_folders(Path(path)))
        except OSError as error:
            raise ExecError(f"{error.filename} could not be made: {error.strerror}.") from error
        return "".join(f"[sandbox: {path} was made, for the command to write there]\n" for path in made)

    def _missing(self, paths: Iterable[str]) -> list[str]:
        """Those that are not there, and that a confined command could not make itself."""
        if self._sandbox is None or self._sandbox.options.mode == "full":
            return []
        return [
            path
            for path in paths
            if not os.path.lexists(path)
            and not is_below(self._root, path)
            and self._sandbox.outside(path) is None
        ]

    async def _bound(self, action: Command) -> Command:
        if self._sandbox is not None and action.needs == NO_NEEDS:
            return action
        return await anyio.to_thread.run_sync(self._looked_at, action, abandon_on_cancel=True)

    def _looked_at(self, action: Command) -> Command:
        beside = action.beside or self._local.runs()  # first: what has ended by then changes nothing after
        found = named_files(action.command, action.cwd, self._options.named(action))
        beside = beside and bool(found.content)
        steered = names_programs(Path(action.cwd))
        return replace(action, content=found.content, runners=found.runners, beside=beside, steered=steered)

    def _accept(self, permit: Permit) -> Permit:
        if permit.confined and self._sandbox is None:
            raise Refused(
                "This command may only run confined, and there is no sandbox on this machine; install"
                " bubblewrap."
            )
        return permit


class LocalFiles:
    """The files of this machine: implements `Files`.

    What confined commands call /tmp is a folder of their own. A hard link to a concealed file of the folder
    `root` is that file.
    """

    def __init__(
        self, root: Path, sandbox: Sandbox | None, concealed: Callable[[str], bool], ripgrep: str | None
    ) -> None:
        self._root = str(root)
        self._sandbox = sandbox
        self._concealed = concealed
        self._ripgrep = ripgrep

    async def locate(self, nominal: str, operation: Operation) -> Located:
        """Where a path leads, links followed; a deletion is of the link itself.

        What is done there afterwards follows no link: where one has come in the way, it is refused.
        """
        place = self._place(nominal, for_reading=operation == "read")
        at = _real(place.parent) / place.name if operation == "delete" else _real(place)
        if operation == "read":
            at = Path((await self._secrets([str(at)])).get(str(at), at))
        in_git = "" if operation == "read" else git_name(str(at))
        return Located(name=self._inside(str(at)), at=str(at), in_git=in_git)

    async def read(self, place: Located) -> bytes:
        """A file's bytes."""
        return await anyio.to_thread.run_sync(files.read_bytes, Path(place.at))

    async def write(self, place: Located, data: bytes) -> FileStat:
        """Write a file in one step."""
        if self._sandbox:
            self._sandbox.accept(place.at)
        return self._named(await anyio.to_thread.run_sync(files.write_bytes, Path(place.at), data))

    async def delete(self, place: Located) -> None:
        """Delete one file."""
        await anyio.to_thread.run_sync(files.delete_file, Path(place.at))

    async def stat(self, place: Located) -> FileStat | None:
        """What is there, or None."""
        found = await anyio.to_thread.run_sync(files.stat_path, Path(place.at))
        return self._named(found) if found else None

    async def list(self, place: Located) -> Sequence[FileStat]:
        """The entries of a folder, by name."""
        found = await anyio.to_thread.run_sync(files.list_folder, Path(place.at))
        return [self._named(entry) for entry in found if not self._concealed(entry.path)]

    async def search(self, place: Located, pattern: str, file_glob: str, limit: int) -> Sequence[Match]:
        """Lines that match a regular expression."""
        where = Search(root=_existing(place), file_glob=file_glob, limit=limit, concealed=self._concealed)
        found = await search_lines(pattern, where, self._ripgrep)
        secret = await self._secrets(dict.fromkeys(match.path for match in found))
        shown = (match for match in found if match.path not in secret)
        return [replace(match, path=self._inside(match.path)) for match in shown]

    async def find(self, place: Located, glob: str, limit: int) -> Sequence[FileStat]:
        """Files whose name or path fits a glob, newest first."""
        where = Search(root=_existing(place), limit=limit, concealed=self._concealed)
        return [self._named(found) for found in await find_files(glob, where)]

    async def _secrets(self, paths: Iterable[str]) -> Mapping[str, str]:
        """The concealed files that some of these are by another name."""
        linked = linked_files(paths)
        if not linked:
            return {}
        return await anyio.to_thread.run_sync(secret_names, linked, self._root, self._concealed)

    def _place(self, nominal: str, *, for_reading: bool) -> Path:
        """Where a nominal path lies: what confined commands call /tmp is a folder of their own, the machine's
        own can be read.
        """
        own = self._sandbox.outside(nominal) if self._sandbox else None
        if own is None or (for_reading and not os.path.lexists(own)):
            return Path(nominal)
        return own

    def _inside(self, place: str) -> str:
        return self._sandbox.inside(Path(place)) if self._sandbox else place

    def _named(self, found: FileStat) -> FileStat:
        inside = self._inside(found.path)
        return replace(found, path=inside, real="" if inside == found.path else found.path)


def _real(path: Path) -> Path:
    """The path with its links followed; one that leads in a circle stays as it is, and is refused later."""
    return Path(os.path.realpath(path))


def _existing(place: Located) -> Path:
    path = Path(place.at)
    if files.stat_path(path) is None:
        raise FileNotFoundError(f"{place.name} does not exist")
    return path


def local_bash(environ: Mapping[str, str], workspace: Path) -> str:
    """The bash that runs commands: the user's own, but none that the workspace brings."""
    return find_program("bash", environ, (workspace,)) or "/bin/bash"


def open_sandbox(
    *,
    workspace: Path,
    home: Path,
    hermes_home: Path,
    scratch: Path,
    environ: Mapping[str, str],
    sandboxing: SandboxOptions | None = None,
    resolve: Resolve | None = None,
) -> Sandbox | None:
    """The usual sandbox for a workspace with that scratch folder, or None where the kernel or bubblewrap does
    not let us.

    `resolve` finds the addresses of hosts that commands may reach.
    """
    folders = Scratch(root=scratch.resolve())
    folders.make()
    workspace = workspace.resolve()
    wanted = _within_bounds(sandboxing or SandboxOptions(), str(workspace))
    if wanted.mode == "full" or hermes_home.is_relative_to(workspace):
        make_private(hermes_home)  # what is not there cannot be covered, and could be made by a command
    programs = tuple(_programs(workspace))
    mounts = default_mounts(
        workspace=workspace, home=home, hermes_home=hermes_home, scratch=folders, programs=programs
    )
    mounts = narrowed(mounts, wanted.bounds, home=home, programs=programs)
    return find_sandbox(
        environ, mounts, wanted, Ways(folders.root, resolve=resolve) if landlock.launcher() else None
    )


def _within_bounds(wanted: SandboxOptions, workspace: str) -> SandboxOptions:
    """The options with a mode that lets commands write no more than their bounds have."""
    if wanted.bounds.write == ALL.write or wanted.mode == "read-only":
        return wanted
    return replace(wanted, mode="workspace" if shared(wanted.bounds.write, (workspace,)) else "read-only")


def _programs(workspace: Path) -> Iterator[Path]:
    """Where the programs lie that the next command starts with, unless that is the system's own place, and
    our own code, unless it is what is worked on.
    """
    for prefix in dict.fromkeys((sys.prefix, sys.base_prefix)):
        if prefix not in {"/usr", "/usr/local"}:
            yield Path(prefix)
    own = Path(__file__).resolve().parents[1]
    if not own.is_relative_to(workspace):
        yield own
