"""A machine with a shell and files, where every effect is decided first: `Workspace` over any environment."""

import errno
import hashlib
import itertools
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from hermes.environments.background import Background
from hermes.environments.base import Environment, Job, Limits
from hermes.environments.env_hints import denial, harmless
from hermes.environments.sandbox.prewarm import Spawn
from hermes.environments.shell import Shell, Start
from hermes.environments.workspace_files import Files, Located, Operation
from hermes.lib.hosts import entry
from hermes.lib.secretvalues import SecretValues
from hermes.types.action import WORDS, Action, Command, FileAccess, Permit, digest_of
from hermes.types.capabilities import is_below
from hermes.types.error import ExecError, Outdated, Refused
from hermes.types.needs import NO_NEEDS, Needs
from hermes.types.workspace import ExecResult, FileEdit, FileStat, Match, ProcessState

Authorize = Callable[[Action], Awaitable[Permit]]

QUIET: Final = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_TERMINAL_PROMPT": "0",
}
"""Variables that keep commands from waiting for a person."""

"""Who has given their word for just this, files included."""
_OTHER_PROGRAMS: Final = (
    "[the PATH that commands in the sandbox have set does not count for one that needs more; set it in the"
    " command itself, as in . .venv/bin/activate && …]\n"
)
_ON_TERMINAL: Final = {"TERM": "xterm-256color"}


_CHANGED: Final = (
    "{} changed while the user looked at the change, so it was not written; read it again, and try it anew."
)


class WorkspaceOptions(Struct, frozen=True, kw_only=True):
    """What may be set: output limits, those of errors that come apart, and what `child_environment` takes:
    variables that commands get besides, and `is_secret`.

    `known` are secrets that no uncut output on disk may hold, `concealed` says of an absolute path that a
    search must not look into it, `found` is told the files that one gave lines of, `heard` the source of what
    a background process printed, where that is not the user's own, `named` gives the absolute paths and
    patterns that a command's words were read as, `is_outdated` says of a permit that it holds no longer;
    `note` is a sentence that ends the first output; `spawn` runs jobs beside the caller's, such as making the
    sandbox of the next command.
    """

    limits: Limits = field(default_factory=Limits)
    error_limits: Limits = field(default_factory=Limits)
    time_limit: float = 180.0
    passthrough: tuple[str, ...] = ()
    is_secret: Callable[[str], bool] | None = None
    known: SecretValues = field(default_factory=SecretValues)
    concealed: Callable[[str], bool] = field(default=lambda _path: False)
    found: Callable[[Iterable[str]], None] = field(default=lambda _paths: None)
    heard: Callable[[str], None] = field(default=lambda _source: None)
    named: Callable[[Command], tuple[str, ...]] = field(default=lambda _action: ())
    is_outdated: Callable[[Permit], bool] = field(default=lambda _permit: False)
    note: str = ""
    spawn: Spawn | None = None


class ShellWorkspace:
    """An environment with a carried shell and files: implements `Workspace`.

    Call `close` in the end, it stops what still runs.
    """

    def __init__(
        self,
        *,
        environment: Environment,
        files: Files,
        shell: Shell,
        home: str,
        authorize: Authorize,
        clock: Callable[[], float],
        options: WorkspaceOptions,
    ) -> None:
        self._environment = environment
        self._files = files
        self._shell = shell
        self._root = shell.cwd
        self._home = home
        self._authorize = authorize
        self._clock = clock
        self._options = options
        self._ids = itertools.count(1)
        self._redeemed: set[str] = set()
        self._turns = anyio.Lock()  # invariant: one command at a time uses the carried shell
        self.processes = Background(clock, authorize=authorize, known=options.known, heard=options.heard)

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
        needs: Needs = NO_NEEDS,
        on_output: Callable[[str], None] | None = None,
    ) -> ExecResult:
        """Run a command in the carried shell; a `cwd` is for this command only, and so is what it `needs`.

        Refused when the decision is no.
        """
        async with self._turns:
            await self._ready()
            where = self._nominal(cwd) if cwd else None
            needs = self._resolved(needs)
            action = await self._action(command, where, needs, pty=pty)
            permit = await self._permit(action)
            clean = is_clean(permit, needs)
            start = self._shell.prepare(command, cwd=where, confined=permit.confined, clean=clean)
            told = _OTHER_PROGRAMS if self._shell.finds_other_programs(clean=clean) else ""
            self._redeem(permit, await self._now(action, where, permit))
            told += self._make_granted(permit)
            done = await self._environment.exec(
                self._job(start, permit, pty=pty), timeout=timeout, stdin=stdin, on_output=on_output
            )
            self._shell.adopt(
                start,
                done.state,
                done.text,
                confined=permit.confined,
                clean=clean,
                keep_directory=where is not None,
            )
        return ExecResult(
            text=done.text + told + harmless(done, permit),
            code=done.code,
            cwd=self.cwd,
            seconds=done.seconds,
            timed_out=done.timed_out,
            clipped=done.clipped,
            full=done.full,
            denied=denial(command, done, permit),
        )

    async def start(
        self,
        command: str,
        *,
        cwd: str | None = None,
        pty: bool = False,
        needs: Needs = NO_NEEDS,
        notify: bool = False,
    ) -> ProcessState:
        """Start a background process with the carried directory and exports; ExecError when 64 run
        already.
        """
        await self._ready()
        where = self._nominal(cwd) if cwd else self.cwd
        needs = self._resolved(needs)
        action = await self._action(command, where, needs, pty=pty, background=True)
        permit = await self._permit(action)
        self.processes.make_room()
        start = await self._apart(action, where, permit)
        child = await self._environment.spawn(self._job(start, permit, pty=pty))
        return self.processes.add(
            self._process_id(),
            child,
            command=command,
            cwd=where,
            notify=notify,
            needs=needs,
            permit=permit,
        )

    async def read(self, path: str) -> bytes:
        """A file's bytes; FileNotFoundError, IsADirectoryError, PermissionError as usual. To know that
        nothing is there in the workspace nobody is asked.
        """
        place = await self._located(path, "read")
        if is_below(self._root, place.name) and await self._files.stat(place) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return await self._files.read(await self._decided("read", path, place=place))

    async def write(self, path: str, data: bytes, *, edit: FileEdit | None = None) -> FileStat:
        """Write a file atomically, make its folders, keep its mode; whoever is asked sees the `edit`."""
        return await self._files.write(await self._decided("write", path, edit), data)

    async def delete(self, path: str, *, edit: FileEdit | None = None) -> None:
        """Delete one file."""
        await self._files.delete(await self._decided("delete", path, edit))

    async def stat(self, path: str) -> FileStat | None:
        """What is at the path, or None; to know that nothing is there in the workspace nobody is asked."""
        place = await self._located(path, "read")
        if is_below(self._root, place.name) and await self._files.stat(place) is None:
            return None
        return await self._files.stat(await self._decided("read", path, place=place))

    async def real_path(self, path: str) -> str:
        """The absolute path that a path leads to, links followed, whether or not anything is there."""
        return (await self._located(path, "read")).name

    async def _located(self, path: str, operation: Operation) -> Located:
        """Where a path leads now."""
        await self._ready()
        return await self._files.locate(self._nominal(path), operation)

    async def list(self, path: str) -> Sequence[FileStat]:
        """The entries of a directory, by name."""
        return await self._files.list(await self._decided("read", path))

    async def search(
        self, pattern: str, *, path: str = ".", file_glob: str = "", limit: int = 1000
    ) -> Sequence[Match]:
        """Lines that match a regular expression; ValueError when it is not one, FileNotFoundError when there
        is no such path.
        """
        found = await self._files.search(await self._decided("read", path), pattern, file_glob, limit)
        self._options.found(dict.fromkeys(match.path for match in found))
        return found

    async def find(self, glob: str, *, path: str = ".", limit: int = 1000) -> Sequence[FileStat]:
        """Files whose name or path matches a glob, newest first; FileNotFoundError when there is no such
        path.
        """
        return await self._files.find(await self._decided("read", path), glob, limit)

    async def close(self) -> None:
        """Stop every background process, and give back what the environment holds."""
        with anyio.CancelScope(shield=True):
            await self.processes.stop_all()
            await self._environment.stop()

    async def _ready(self) -> None:
        """Make the environment ready for the next action."""

    def _accept(self, permit: Permit) -> Permit:
        """The permit, if this machine can keep to it; Refused when not."""
        return permit

    async def _permit(self, action: Command) -> Permit:
        if "\0" in action.command:
            raise Refused("A command cannot contain a NUL character.")
        return self._accept(await self._authorize(action))

    async def _apart(self, action: Command, where: str, permit: Permit) -> Start:
        """A shell of its own for a command that was decided, whose permit is used up."""
        confined, clean = permit.confined, is_clean(permit, action.needs)
        start = self._shell.prepare(action.command, cwd=where, confined=confined, clean=clean, carry=False)
        self._redeem(permit, await self._now(action, where, permit))
        self._make_granted(permit)
        return start

    def _resolved(self, needs: Needs) -> Needs:
        """The needs with absolute paths, links followed; ExecError where a host is none, or a path is of a
        file that is not there.
        """
        try:
            for host in needs.hosts:
                entry(host)
        except ValueError as error:
            raise ExecError(f"{error}.") from error
        needs = replace(needs, paths=tuple(self._led(self._nominal(path)) for path in needs.paths))
        self._refuse_missing(needs)
        return needs

    def _led(self, path: str) -> str:
        """Where an absolute path leads on this machine."""
        return path

    def _refuse_missing(self, needs: Needs) -> None:
        """ExecError where a path that is needed is not there and cannot be made for the command."""

    def _make_granted(self, permit: Permit) -> str:
        """Make the folders that a yes lets the command write in and that are not there; a sentence for the
        output, or "".
        """
        del permit
        return ""

    async def _action(
        self, command: str, where: str | None, needs: Needs, *, pty: bool, background: bool = False
    ) -> Command:
        """What would run now: these words, in this directory, with the shell and the files as they are."""
        action = Command(command=command, cwd=where or self.cwd, pty=pty, background=background, needs=needs)
        return await self._bound(self._in_shell(action))

    async def _now(self, action: Command, where: str | None, permit: Permit) -> Command:
        """The action once more, as it would run now; files may change under it where no word was given."""
        now = self._in_shell(replace(action, cwd=where or self.cwd))
        return await self._bound(now) if permit.by in WORDS else now

    def _in_shell(self, action: Command) -> Command:
        """A command with what earlier ones have left in the shell."""
        return replace(
            action,
            environment=self._shell.mark,
            carried=self._shell.definitions(clean=action.needs != NO_NEEDS),
            fresh=self._shell.is_fresh,
        )

    async def _bound(self, action: Command) -> Command:
        """The action with what stands for the files that it names, where a yes to it would be for them."""
        return action

    def _redeem(self, permit: Permit, action: Action) -> None:
        """Use a permit up, at the last moment; Refused when it is another action's, or was used before."""
        if permit.digest != digest_of(action):
            raise Outdated(
                "The directory, the variables or a file that it names changed while this was decided, so it"
                " did not run; try it again."
            )
        if self._options.is_outdated(permit):
            raise Outdated(
                "Text from outside was read while this was decided, so it did not run; try it again."
            )
        if permit.serial and permit.serial in self._redeemed:
            raise Refused("This yes was used before; it is good for one action alone.")
        self._redeemed.add(permit.serial)

    def _job(self, start: Start, permit: Permit, *, pty: bool) -> Job:
        env = {**start.env, **_ON_TERMINAL} if pty else start.env
        return Job(
            argv=start.argv,
            env=env,
            confined=permit.confined,
            network=permit.network,
            writable=permit.writable,
            paths=permit.paths,
            protected=permit.protected,
            covered=permit.covered,
            pty=pty,
        )

    def _process_id(self) -> str:
        seed = f"{os.getpid()} {id(self)} {next(self._ids)} {self._clock()}"  # noqa: TID251  # a name of this process's own
        return "proc_" + hashlib.blake2s(seed.encode()).hexdigest()[:12]

    async def _decided(
        self,
        operation: Operation,
        path: str,
        edit: FileEdit | None = None,
        *,
        place: Located | None = None,
    ) -> Located:
        """Where a path leads, once the decision about it is yes; `place` where that is known already."""
        place = place or await self._located(path, operation)
        diff = edit.diff if edit else ""
        action = FileAccess(operation=operation, path=place.name, in_git=place.in_git, diff=diff)
        permit = await self._authorize(action)
        if permit.by == "person":  # an answer takes its time, and a link may lead elsewhere by then
            place = await self._files.locate(self._nominal(path), operation)
            if edit is not None and await _held(self._files, place) != edit.was:
                raise Outdated(_CHANGED.format(place.name))
        self._redeem(permit, replace(action, path=place.name, in_git=place.in_git))
        return place

    def _nominal(self, path: str) -> str:
        """A path as the model means it: absolute, `~` resolved, relative to the carried directory."""
        if path == "~" or path.startswith("~/"):
            path = self._home + path[1:]
        return os.path.normpath(Path(self.cwd) / path)


async def _held(files: Files, place: Located) -> bytes | None:
    """What a file holds; None where there is none."""
    return None if await files.stat(place) is None else await files.read(place)


def is_clean(permit: Permit, needs: Needs) -> bool:
    """Whether nothing that confined commands have set may choose what runs: it can do more than they."""
    return not permit.confined or needs != NO_NEEDS
