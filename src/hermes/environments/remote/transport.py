"""What a way to another machine must offer, who asks for it, and a child at the end of it."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from msgspec import Struct

from hermes.environments.supervise import Followed
from hermes.lib.abridged import Abridged
from hermes.lib.programs import search_path

End = Callable[[float], Awaitable[None]]
"""Ends a job where it runs, in so many seconds."""


class Origin(Abridged, Struct, frozen=True, kw_only=True):
    """Who asks: the directory hermes was started in, its home, the user's environment, and a word that no
    other session has.
    """

    unshown: ClassVar = ("environ",)

    cwd: Path
    hermes_home: Path
    environ: Mapping[str, str]
    mark: str

    @property
    def key(self) -> str:
        """What a kept machine belongs to: this directory of this home."""
        return f"{self.hermes_home}:{self.cwd}"

    @property
    def for_clients(self) -> dict[str, str]:
        """The environment of client programs; its PATH has no folder that lies in this directory."""
        return {**self.environ, "PATH": search_path(self.environ, (self.cwd,))}


class RemoteChild(Followed, Protocol):
    """A running job elsewhere; beside `output` it has what was said of it."""

    def aside(self) -> bytes:
        """What has come beside the output so far."""

    async def settled(self) -> None:
        """Return once everything beside the output has come, at most a moment after its end."""


class Check(Struct, frozen=True):
    """Whether a machine can be used, in one sentence that says what to do when it cannot."""

    state: Literal["ok", "warning", "fault"]
    text: str


class RemoteTransport(Protocol):
    """The way to one machine elsewhere."""

    @property
    def name(self) -> str:
        """What it is called in settings and messages."""

    async def open(self) -> str:
        """Make the machine ready, or see that it is; EnvironmentUnavailable says what is missing.

        What a user must know of that, in one sentence: the one before died, a limit is not in force; "" where
        there is nothing.
        """

    async def close(self) -> None:
        """Give it back, as the settings say: stop, remove or leave it."""

    async def fault(self) -> str:
        """Why it cannot be reached, as a clause; "" while it can."""

    def launch(self, argv: tuple[str, ...], *, stdin: bytes | None, pty: bool, end: End) -> RemoteChild:
        """Start `argv` there. `stdin` is all of its input, None leaves the input open; ExecError when it
        cannot be started.

        The child's `stop` calls `end`.
        """
