"""What a place that runs commands must offer, and what goes in and out of it."""

from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol

from msgspec import Struct

from hermes.lib.abridged import Abridged


class Limits(Struct, frozen=True, kw_only=True):
    """How much of a command's output is kept: characters, lines, line length, and bytes of the uncut copy on
    disk.
    """

    max_chars: int = 50_000
    max_lines: int = 2_000
    max_line_length: int = 2_000
    head_share: float = 0.4
    max_spill: int = 50_000_000


class Job(Abridged, Struct, frozen=True, kw_only=True):
    """One program to run: `argv` from the top folder with exactly the environment `env`; the shell in it goes
    where it should.

    An `env` of None, for a machine elsewhere, is the environment that it gives to everybody.

    `confined` puts the kernel sandbox around it, `network` opens the network inside that, all of it or these
    hosts, `writable` the workspace where the sandbox is read-only, `paths` these besides; `protected` makes
    what agents take as instructions read-only, and the folders `covered` may not be entered; `pty` gives it a
    terminal. `errors_apart` keeps its standard error out of its output, where the environment can tell them
    apart.
    """

    unshown: ClassVar = ("env",)

    argv: tuple[str, ...]
    env: Mapping[str, str] | None
    confined: bool = False
    network: bool | tuple[str, ...] = False
    writable: bool = False
    paths: tuple[str, ...] = ()
    protected: bool = False
    covered: tuple[str, ...] = ()
    pty: bool = False
    errors_apart: bool = False


class Finished(Abridged, Struct, frozen=True, kw_only=True):
    """What a foreground job did: its text as the model may see it, and its exit code (124 when its time ran
    out).

    `total` is how many bytes of output there were, `errors` its standard error where that came apart, and
    `errors_full` the path of the uncut one where something was left out. `state` is what its shell wrote
    about itself, where that comes with the job's end and not in a file.
    """

    unshown: ClassVar = ("state",)

    text: str
    code: int
    seconds: float
    timed_out: bool = False
    clipped: bool = False
    full: str = ""
    total: int = 0
    errors: str = ""
    errors_full: str = ""
    state: bytes = b""


class Child(Protocol):
    """A running job whose output the caller reads from `output`, a non-blocking descriptor; `input` is None
    once closed.
    """

    @property
    def pid(self) -> int:
        """The id of the outermost process."""

    @property
    def output(self) -> int:
        """A readable descriptor with standard output and error."""

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""

    def write(self, data: bytes) -> int:
        """How many bytes its input took; 0 when the pipe is full, BrokenPipeError when nobody reads."""

    def close_input(self) -> None:
        """End its input."""

    async def stop(self, grace: float) -> None:
        """End its whole tree: ask, wait up to `grace` seconds, kill."""

    def release(self) -> None:
        """Close the descriptors."""


class Environment(Protocol):
    """A place where commands run."""

    @property
    def name(self) -> str:
        """What it is called in settings and messages."""

    async def start(self) -> None:
        """Make it ready; EnvironmentUnavailable says what is missing."""

    async def stop(self) -> None:
        """Give back what it holds."""

    async def exec(
        self,
        job: Job,
        *,
        timeout: float,
        stdin: bytes | None = None,
        on_output: Callable[[str], None] | None = None,
    ) -> Finished:
        """Run a job to its end, at most `timeout` seconds; ExecError when it cannot be started."""

    async def spawn(self, job: Job) -> Child:
        """Start a job and give it back running, its input open; ExecError when it cannot be started."""
