"""Follow a running job to its end: read its output, give it its input, end its tree when its time is up."""

from contextlib import suppress
from typing import Final, Protocol

import anyio

from hermes.environments.base import Child

_LINGER: Final = 0.3  # how long output of children that outlive the command is waited for
_DRAIN: Final = 4_000_000  # bytes read from such children at most, should they never pause
_GRACE: Final = 0.5


class Followed(Child, Protocol):
    """A running job whose end can be waited for."""

    async def ended(self) -> None:
        """Return once it has ended."""

    def read(self) -> bytes | None:
        """The bytes at hand, b"" at the end of output, None when there are none now."""

    async def takes_input(self) -> None:
        """Return once its input takes more, or is closed."""


class Sink(Protocol):
    """What takes a job's output."""

    @property
    def total(self) -> int:
        """How many bytes it has taken."""

    async def take(self, data: bytes) -> None:
        """Take the next bytes."""

    async def show(self) -> None:
        """Show what is taken, until cancelled."""


async def follow(child: Followed, capture: Sink, timeout: float, typed: bytes | None) -> bool:
    """Read a child's output until it has ended; True when its time ran out.

    Its tree is dead after a timeout or cancellation.
    """
    try:
        with anyio.move_on_after(timeout) as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_read, child, capture)
                tasks.start_soon(_type, child, typed or b"")
                tasks.start_soon(capture.show)
                await child.ended()
                tasks.cancel_scope.cancel()
    except BaseException:
        with anyio.CancelScope(shield=True):
            await child.stop(_GRACE)
        raise
    timed_out = scope.cancelled_caught
    with anyio.CancelScope(shield=timed_out):
        if timed_out:
            await child.stop(_GRACE)
        await _drain(child, capture)
    return timed_out


async def _read(child: Followed, capture: Sink) -> None:
    while True:
        await anyio.wait_readable(child.output)
        data = child.read()
        if data == b"":
            return
        if data is not None:
            await _take(capture, data)


async def _take(capture: Sink, data: bytes) -> None:
    # What was read is in no pipe any more: the end of the job between read and take must not lose it.
    with anyio.CancelScope(shield=True):
        await capture.take(data)


async def _type(child: Followed, typed: bytes) -> None:
    """Type on a terminal, then say that nothing more comes; a child with a pipe or a file gets nothing from
    here.
    """
    with suppress(OSError):  # the child may leave before it has read everything
        await child.takes_input()
        while typed:
            typed = typed[child.write(typed) :]
            await child.takes_input()
    child.close_input()


async def _drain(child: Followed, capture: Sink) -> None:
    """Read what is left after a child's end.

    Whoever still holds the pipe has a moment to finish (a process substitution does); one that stays is not
    waited for. What is in the pipe by then is read, however slow the machine is.
    """
    limit, end = capture.total + _DRAIN, anyio.current_time() + _LINGER
    while capture.total < limit and (data := child.read()) != b"":
        if data is not None:
            await _take(capture, data)
        else:
            with anyio.move_on_at(end):
                await anyio.wait_readable(child.output)
                continue
            return
