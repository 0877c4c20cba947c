"""A job's output: read to the job's end, kept within bounds, and shown meanwhile.

Head and tail of it stay in memory, the whole of it goes to disk.
"""

import codecs
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import anyio
import anyio.to_thread
from msgspec import Struct

from hermes.environments.base import Child, Limits
from hermes.lib.files import make_private
from hermes.lib.secretvalues import SecretValues
from hermes.lib.text import clip, strip_escapes
from hermes.lib.text_stream import TextStream

_LINGER: Final = 0.3  # how long output of children that outlive the command is waited for
_DRAIN: Final = 4_000_000  # bytes read from such children at most, should they never pause
_GRACE: Final = 0.5
_AT_ONCE: Final = 8_000  # bytes; more of them are not looked through on the event loop
_BYTES_PER_CHAR: Final = 4  # the longest, so that a full buffer never holds fewer characters than the limit

MOST_SHOWN: Final = 4_000
"""How many bytes are shown at a time; of more the middle is left out."""

PAUSE: Final = 0.05
"""Seconds between two showings."""


class Stream(Protocol):
    """What a job writes; `output` is a non-blocking descriptor."""

    @property
    def output(self) -> int:
        """A readable descriptor."""

    def read(self) -> bytes | None:
        """The bytes at hand, b"" at the end of output, None when there are none now."""


class Followed(Child, Stream, Protocol):
    """A running job whose end can be waited for."""

    async def ended(self) -> None:
        """Return once it has ended."""

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


async def follow(
    child: Followed,
    capture: Sink,
    timeout: float,
    typed: bytes | None,
    beside: Sequence[tuple[Stream, Sink]] = (),
) -> bool:
    """Read a child's output, and the streams beside it, until it has ended; True when its time ran out.

    Its tree is dead after a timeout or cancellation.
    """
    streams = ((child, capture), *beside)
    try:
        with anyio.move_on_after(timeout) as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_type, child, typed or b"")
                for stream, sink in streams:
                    tasks.start_soon(read_on, stream, sink)
                    tasks.start_soon(sink.show)
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
        for stream, sink in streams:
            await _drain(stream, sink)
    return timed_out


async def read_on(stream: Stream, capture: Sink) -> None:
    """Read a stream to its end, or until cancelled; nothing that was read is lost then."""
    while True:
        await anyio.wait_readable(stream.output)
        data = stream.read()
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


async def at_hand(stream: Stream, capture: Sink) -> None:
    """Read what a job that goes on has written until now; of an endless stream a part."""
    limit = capture.total + _DRAIN
    while capture.total < limit and (data := stream.read()):
        await _take(capture, data)


async def _drain(stream: Stream, capture: Sink) -> None:
    """Read what is left after a child's end.

    Whoever still holds the pipe has a moment to finish (a process substitution does); one that stays is not
    waited for. What is in the pipe by then is read, however slow the machine is.
    """
    limit, end = capture.total + _DRAIN, anyio.current_time() + _LINGER
    while capture.total < limit and (data := stream.read()) != b"":
        if data is not None:
            await _take(capture, data)
        else:
            with anyio.move_on_at(end):
                await anyio.wait_readable(stream.output)
                continue
            return


class Captured(Struct, frozen=True):
    """Text fit for a model, of `total` bytes; `full` is the path of the uncut output, without known secrets,
    when something was left out.
    """

    text: str
    clipped: bool
    full: str
    total: int


class Capture:
    """Bytes of a stream as they come; `spill` is the file that is made when they are too many, without the
    secrets that are known.
    """

    def __init__(
        self,
        limits: Limits,
        spill: Path,
        on_output: Callable[[str], None] | None = None,
        known: SecretValues | None = None,
    ) -> None:
        self._limits = limits
        self._spill = spill
        self._live = LiveOutput(on_output) if on_output else None
        room = limits.max_chars * _BYTES_PER_CHAR
        self._head_room = int(room * limits.head_share)
        self._tail_room = room - self._head_room
        self._head = bytearray()
        self._tail = bytearray()
        self._file: BinaryIO | None = None
        self._known = known or SecretValues()
        self._copied = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        self._veil = TextStream(self._known, self._write)
        self._spilled = 0
        # A place of its own: the end of a job must not wait until others leave theirs.
        self._limiter = anyio.CapacityLimiter(1)
        self.total = self._ends = 0

    async def take(self, data: bytes) -> None:
        """Take the next bytes; beside the event loop once they are many, for then they go to the disk."""
        if self._live:
            self._live.add(data)
        if self._file is None and self.total + len(data) < _AT_ONCE:
            self.feed(data)
        else:
            await anyio.to_thread.run_sync(self.feed, data, limiter=self._limiter)

    async def show(self) -> None:
        """Show what is taken, until cancelled."""
        if self._live:
            await self._live.run()

    async def end(self) -> Captured:
        """Show the rest; the text of all."""
        if self._live:
            self._live.flush()
        if self.total < _AT_ONCE:
            return self.finish()
        return await anyio.to_thread.run_sync(self.finish, limiter=self._limiter)

    def feed(self, data: bytes) -> None:
        """Take the next bytes, and show nothing."""
        self.total += len(data)
        self._ends += data.count(b"\n")
        self._keep_on_disk(data)
        take = self._head_room - len(self._head)
        self._head += data[:take] if take > 0 else b""
        self._tail += data[max(take, 0) :]
        if len(self._tail) > 2 * self._tail_room:
            del self._tail[: len(self._tail) - self._tail_room]

    def finish(self) -> Captured:
        """The text, clipped in the middle by characters and by lines; the file is removed when nothing was
        left out.
        """
        if self._file is not None:
            self._end_copy()
        lost = self.total > self._head_room + self._tail_room
        if lost:
            del self._tail[: max(0, len(self._tail) - self._tail_room)]
            gap = self.total - len(self._head) - len(self._tail)
            raw = bytes(self._head) + f"\n… {gap} bytes left out …\n".encode() + bytes(self._tail)
        else:
            raw = bytes(self._head + self._tail)
        whole = self._known.redact(
            strip_escapes(raw.decode("utf-8", "replace"))
        )  # before a cut can leave half of one
        text = fit(whole, self._limits, self._ends + 1 if lost else 0)
        clipped = lost or text != whole
        if clipped and self._file is None:
            self._begin_copy(raw)
            self._end_copy()
        if not clipped:
            self._spill.unlink(missing_ok=True)
        return Captured(text, clipped, str(self._spill) if clipped else "", self.total)

    def _keep_on_disk(self, data: bytes) -> None:
        if self._file is None:
            if self.total <= self._limits.max_chars:
                return
            self._begin_copy(bytes(self._head + self._tail))
        self._copy(data)

    def _begin_copy(self, data: bytes) -> None:
        make_private(self._spill.parent)
        self._file = self._spill.open("wb")
        self._copy(data)

    def _copy(self, data: bytes) -> None:
        if self._spilled < self._limits.max_spill:
            self._veil.add(self._copied(data))

    def _end_copy(self) -> None:
        self._veil.add(self._copied(b"", final=True))
        self._veil.end()
        if self._file is not None:
            self._file.close()

    def _write(self, text: str) -> None:
        room = self._limits.max_spill - self._spilled
        if room > 0 and self._file is not None:
            self._spilled += self._file.write(text.encode("utf-8", "surrogateescape")[:room])


class LiveOutput:
    """Gives text to `show`, at most `MOST_SHOWN` bytes every `PAUSE` seconds; the first comes at once."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._waiting = bytearray()
        self._left_out = 0
        self._arrived = anyio.Event()

    def add(self, data: bytes) -> None:
        """More output; nothing is shown here."""
        self._waiting += data
        over = len(self._waiting) - MOST_SHOWN
        if over > 0:
            self._left_out += over
            del self._waiting[MOST_SHOWN // 2 : MOST_SHOWN // 2 + over]
        self._arrived.set()

    async def run(self) -> None:
        """Show what arrives, until cancelled."""
        while True:
            await self._arrived.wait()
            self.flush()
            await anyio.sleep(PAUSE)

    def flush(self) -> None:
        """Show what waits."""
        data, left_out = bytes(self._waiting), self._left_out
        self._waiting.clear()
        self._left_out, self._arrived = 0, anyio.Event()
        text = self._decode(data)
        if left_out:
            half = len(text) // 2
            text = f"{text[:half]}\n… {left_out} bytes are not shown here …\n{text[half:]}"
        if text := strip_escapes(text):
            self._show(text)


def fit(text: str, limits: Limits, total: int = 0) -> str:
    """`text` within the limits on line length, lines and characters, with a notice where something was left
    out; `total` is how many lines there were where it is not all of them.
    """
    if len(text) > limits.max_line_length:
        text = "\n".join(clip_line(line, limits.max_line_length) for line in text.split("\n"))
    lines = text.split("\n")
    if len(lines) > limits.max_lines + 1:
        head = int(limits.max_lines * limits.head_share)
        tail = limits.max_lines - head
        gone = (total or len(lines)) - head - tail
        text = "\n".join([*lines[:head], f"… {gone} lines left out …", *lines[-tail:]])
    return clip(text, limits.max_chars, head_share=limits.head_share)


def clip_line(line: str, limit: int) -> str:
    """`line`, or its first `limit` characters and how many more there were."""
    return line if len(line) <= limit else f"{line[:limit]}… [{len(line) - limit} more characters]"
