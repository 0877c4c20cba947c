"""What a tool may do to the machine it works on: commands, background processes, files, search.

Every method that has an effect decides first (`safety.decide`); it raises `Refused` when the answer is no.
Paths are as the tool got them; relative ones are taken from the carried working directory, `~` is the user's
home.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from hermes.types.needs import NO_NEEDS, Needs
from hermes.types.script import KernelUse, Script

AnswerRequest = Callable[[bytes], Awaitable[bytes]]
"""Answers one request of a program that runs in a workspace."""


class ExecResult(Struct, frozen=True, kw_only=True):
    """What a command did. `text` is stdout and stderr as they came, escapes stripped, clipped to head and
    tail if `clipped`.

    `full` is the path of the uncut output when it was clipped, `total` its bytes; of a script `errors` is
    its standard error and `errors_full` the path of that one, uncut. `code` is 124 after a timeout and 130
    after an interrupt. `denied` says what a sandbox seems to have kept from it, and what to declare for
    that; `kernel` whether a script that was for one ran in it.
    """

    text: str
    code: int
    cwd: str
    seconds: float
    timed_out: bool = False
    clipped: bool = False
    full: str = ""
    total: int = 0
    errors: str = ""
    errors_full: str = ""
    denied: str = ""
    kernel: KernelUse | None = None


class ProcessState(Struct, frozen=True, kw_only=True):
    """A background process as it stands: `code` is None while it runs, `text` the output asked for."""

    id: str
    command: str
    pid: int
    cwd: str
    started: float
    code: int | None = None
    text: str = ""
    total_chars: int = 0


class FileStat(Struct, frozen=True, kw_only=True):
    """What is at a path: size in bytes, mtime in seconds.

    `real` is where it lies on this machine when commands call it by another name.
    """

    path: str
    kind: Literal["file", "directory", "other"]
    size: int
    mtime: float
    real: str = ""


class Match(Struct, frozen=True, kw_only=True):
    """One hit of a content search: `line` counts from 1."""

    path: str
    line: int
    content: str


class Processes(Protocol):
    """The background processes of a workspace."""

    def list(self) -> Sequence[ProcessState]:
        """All that are tracked, oldest first."""

    def poll(self, process_id: str) -> ProcessState:
        """State and the last 1000 characters; KeyError when there is no such process."""

    def log(self, process_id: str, *, offset: int = 0, limit: int = 200) -> ProcessState:
        """State and lines of the kept output."""

    async def wait(self, process_id: str, timeout: float) -> ProcessState:
        """State once it has ended or `timeout` seconds have passed."""

    async def kill(self, process_id: str) -> ProcessState:
        """State after its whole tree was stopped."""

    async def write(self, process_id: str, data: str) -> ProcessState:
        """Send text to its stdin."""

    async def close(self, process_id: str) -> ProcessState:
        """Close its stdin."""

    def drain_finished(self) -> Sequence[ProcessState]:
        """Those started with `notify` that ended since the last call and were not looked at."""


class FileEdit(Struct, frozen=True, kw_only=True):
    """The change of text that a write belongs to: `diff` is what a person is shown of it, unified; "" where
    it is no text or too long. `was` is what the file has to hold when it is written; None: there must be
    none.
    """

    diff: str
    was: bytes | None


class Workspace(Protocol):
    """A machine with a shell and files, behind the one decision."""

    @property
    def cwd(self) -> str:
        """The directory that the next command starts in."""

    @property
    def processes(self) -> Processes:
        """The background processes."""

    @property
    def time_limit(self) -> float:
        """Seconds that a foreground command may take when nothing else is said."""

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
        """Run a command in the carried shell; directory, exports and options live on to the next call."""

    async def run_script(
        self,
        script: Script,
        *,
        module: str,
        answer: AnswerRequest,
        timeout: float,
        on_output: Callable[[str], None] | None = None,
    ) -> ExecResult:
        """Run a script in a shell of its own, which hands nothing on, so that others can run meanwhile.

        It can import `hermes_tools`, whose source is `module`; `answer` gets what that asks.
        """

    async def run_in_kernel(
        self,
        script: Script,
        *,
        module: str,
        answer: AnswerRequest,
        timeout: float,
        on_output: Callable[[str], None] | None = None,
    ) -> ExecResult:
        """As `run_script`, in the process of the scripts before it, with their variables; the result says
        where that cannot be.
        """

    async def end_kernel(self, why: str) -> None:
        """End the process that keeps variables, if there is one; the next script's result says why."""

    async def start(
        self,
        command: str,
        *,
        cwd: str | None = None,
        pty: bool = False,
        needs: Needs = NO_NEEDS,
        notify: bool = False,
    ) -> ProcessState:
        """Start a background process."""

    async def read(self, path: str) -> bytes:
        """A file's bytes; FileNotFoundError, IsADirectoryError, PermissionError as usual."""

    async def write(self, path: str, data: bytes, *, edit: FileEdit | None = None) -> FileStat:
        """Write a file atomically, make its folders, keep its mode; whoever is asked sees the `edit`."""

    async def delete(self, path: str, *, edit: FileEdit | None = None) -> None:
        """Delete one file."""

    async def stat(self, path: str) -> FileStat | None:
        """What is at the path, or None."""

    async def real_path(self, path: str) -> str:
        """The absolute path that a path leads to, links followed, whether or not anything is there."""

    async def list(self, path: str) -> Sequence[FileStat]:
        """The entries of a directory, by name."""

    async def search(
        self, pattern: str, *, path: str = ".", file_glob: str = "", limit: int = 1000
    ) -> Sequence[Match]:
        """Lines that match a regular expression, gitignore respected, at most `limit`."""

    async def find(self, glob: str, *, path: str = ".", limit: int = 1000) -> Sequence[FileStat]:
        """Files whose name or path matches a glob, gitignore respected, newest first."""
