"""What a way to another machine must offer, and a child at the end of it."""

from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

from msgspec import Struct

from hermes.environments.supervise import Followed

End = Callable[[float], Awaitable[None]]
"""Ends a job where it runs, in so many seconds."""


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
