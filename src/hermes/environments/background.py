"""Long processes: start them, read them as they run, stop them all in the end.

One thread reads them all, each into a ring buffer.
"""

import codecs
import os
import select
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

import anyio

from hermes.environments.base import Child
from hermes.lib.secretvalues import SecretValues
from hermes.lib.text import strip_escapes
from hermes.types.action import Action, Command, Permit
from hermes.types.error import ExecError, Refused
from hermes.types.needs import NO_NEEDS, Needs
from hermes.types.workspace import ProcessState

TRACKED: Final = 64
KEPT_SECONDS: Final = 1_800.0
Authorize = Callable[[Action], Awaitable[Permit]]

KEPT_CHARS: Final = 200_000
_UNPROTECTED: Final = (
    "{} was started before text from outside was read and could change what agents take as instructions, so"
    " it gets no more input. Instead: kill it and start it again."
)
_POLL_CHARS: Final = 1_000
_TYPED: Final = 20_000
GRACE: Final = 2.0
_STEP: Final = 0.02
_CHUNK: Final = 65_536
_LINGER: Final = 0.3  # what a process wrote last may still be in the pipe


class _Process:
    """One tracked process: what it is, what it wrote, whether its end was noticed."""

    def __init__(
        self,
        process_id: str,
        child: Child,
        *,
        command: str,
        cwd: str,
        notify: bool,
        started: float,
        known: SecretValues,
    ) -> None:
        self.id = process_id
        self.child = child
        self.output = RingBuffer(known)
        self.notify = notify
        self.seen = False
        self.ended_at: float | None = None
        self._code: int | None = None
        self._command, self._cwd, self._started = command, cwd, started
        self.needs, self._typed = NO_NEEDS, ""
        self.protected, self.outside = False, ""

    def check(self, clock: Callable[[], float]) -> None:
        """Take note of its end."""
        if self.ended_at is None and (code := self.child.poll()) is not None:
            self.ended_at, self._code = clock(), code

    def input(self, data: str) -> Command:
        """What it would do with more input, as the command that it is with that input: a shell runs it. Parts
        of a line are judged as the line, and what was typed before as known.
        """
        before, _, line = self._typed.rpartition("\n")
        mark = f"INPUT-{self.id}"
        return Command(
            command=f"{self._command} <<'{mark}'\n{line}{data}\n{mark}",
            cwd=self._cwd,
            carried=before,
            needs=self.needs,
        )

    def typed(self, data: str) -> None:
        """Take note of input that it was given."""
        self._typed = f"{self._typed}{data}"[-_TYPED:]

    def state(self, chars: int, *, text: str = "") -> ProcessState:
        """How it stands, with the last `chars` characters or `text`."""
        return ProcessState(
            id=self.id,
            command=self._command,
            pid=self.child.pid,
            cwd=self._cwd,
            started=self._started,
            code=self._code,
            text=text or (self.output.text()[-chars:] if chars else ""),
            total_chars=self.output.total,
        )


class Background:
    """The background processes of one workspace: implements `Processes`.

    `heard` is told the source of output that others may have written, when somebody gets it. Output is read
    by one thread, so that a process never waits on a full pipe, whatever the event loop does
    meanwhile.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        authorize: Authorize | None = None,
        grace: float = GRACE,
        known: SecretValues | None = None,
        heard: Callable[[str], None] = lambda _source: None,
    ) -> None:
        self._authorize, self._heard = authorize, heard
        self._clock = clock
        self._known = known or SecretValues()
        self._grace = grace
        self._tracked: dict[str, _Process] = {}
        self._reader = OutputReader()

    def add(
        self,
        process_id: str,
        child: Child,
        *,
        command: str,
        cwd: str,
        notify: bool,
        needs: Needs = NO_NEEDS,
        permit: Permit | None = None,
    ) -> ProcessState:
        """Track a child that was just started, with the permit that it had."""
        process = _Process(
            process_id,
            child,
            command=command,
            cwd=cwd,
            notify=notify,
            started=self._clock(),
            known=self._known,
        )
        process.needs = needs
        if permit is not None:
            process.protected, process.outside = permit.protected, permit.outside
        self._tracked[process_id] = process
        self._reader.follow(child.output, process.output)
        return process.state(0)

    def make_room(self) -> None:
        """Forget finished processes that are old, or the oldest of them when there are too many; ExecError
        when all still run.
        """
        self._refresh()
        ended = [process for process in self._tracked.values() if process.ended_at is not None]
        for position, process in enumerate(ended):
            is_old = self._clock() - (process.ended_at or 0) > KEPT_SECONDS
            if is_old or (position == 0 and len(self._tracked) >= TRACKED):
                self._forget(process)
        if len(self._tracked) >= TRACKED:
            raise ExecError(f"{TRACKED} background processes are running already; kill one first")

    def list(self) -> Sequence[ProcessState]:
        """All that are tracked, oldest first."""
        self._refresh()
        return [process.state(0) for process in self._tracked.values()]

    def poll(self, process_id: str) -> ProcessState:
        """State and the last 1000 characters."""
        return self._shown(process := self._look(process_id), process.state(_POLL_CHARS))

    def log(self, process_id: str, *, offset: int = 0, limit: int = 200) -> ProcessState:
        """State and `limit` lines of the kept output from line `offset`; without an offset the last ones."""
        process = self._look(process_id)
        lines = process.output.text().splitlines()
        chosen = lines[offset : offset + limit] if offset else lines[-limit:]
        return self._shown(process, process.state(0, text="\n".join(chosen)))

    async def wait(self, process_id: str, timeout: float) -> ProcessState:
        """State and the last 1000 characters once it has ended or `timeout` seconds have passed."""
        process = self._look(process_id, seen=False)
        with anyio.move_on_after(timeout):
            await _until(lambda: process.child.poll() is not None)
            with anyio.move_on_after(_LINGER):
                await _until(lambda: process.output.complete)
        return self.poll(process_id)

    async def kill(self, process_id: str) -> ProcessState:
        """State after its whole tree was stopped: TERM, two seconds, KILL."""
        process = self._look(process_id)
        with anyio.CancelScope(shield=True):
            await process.child.stop(self._grace)
            await self.wait(process_id, _LINGER)
        return self.poll(process_id)

    async def write(self, process_id: str, data: str) -> ProcessState:
        """Send text to its stdin, once it is decided as a command would be; ExecError when it does not read
        any more, Refused when the answer is no.
        """
        process = self._look(process_id)
        if self._authorize is not None:
            permit = await self._authorize(process.input(data))
            if permit.protected and not process.protected:
                raise Refused(_UNPROTECTED.format(process_id))
        process.typed(data)
        left = data.encode("utf-8", "surrogateescape")
        try:
            while left:
                taken = process.child.write(left)
                left = left[taken:]
                if not taken:
                    await anyio.sleep(_STEP)
        except OSError as error:
            raise ExecError(f"{process_id} takes no input: {error}") from error
        return process.state(0)

    async def close(self, process_id: str) -> ProcessState:
        """Close its stdin."""
        process = self._look(process_id)
        process.child.close_input()
        return process.state(0)

    def drain_finished(self) -> Sequence[ProcessState]:
        """Those started with `notify` that ended since the last call and were not looked at after their
        end.
        """
        self._refresh()
        ready = [
            process
            for process in self._tracked.values()
            if process.notify and process.ended_at is not None and not process.seen
        ]
        for process in ready:
            process.seen = True
        return [process.state(_POLL_CHARS) for process in ready]

    async def stop_all(self) -> None:
        """Stop every process that still runs, and the reader."""
        running = [process for process in self._tracked.values() if process.child.poll() is None]
        async with anyio.create_task_group() as tasks:
            for process in running:
                tasks.start_soon(process.child.stop, self._grace)
        for process in list(self._tracked.values()):
            self._forget(process)
        self._reader.stop()

    def _shown(self, process: _Process, state: ProcessState) -> ProcessState:
        """The state; whoever gets its text hears where that comes from."""
        if state.text and process.outside:
            self._heard(process.outside)
        return state

    def _forget(self, process: _Process) -> None:
        del self._tracked[process.id]
        self._reader.leave(process.child.output)
        process.child.release()

    def _refresh(self) -> None:
        for process in self._tracked.values():
            process.check(self._clock)

    def _look(self, process_id: str, *, seen: bool = True) -> _Process:
        process = self._tracked[process_id]
        process.check(self._clock)
        if seen and process.ended_at is not None:
            process.seen = True
        return process


async def _until(condition: Callable[[], bool]) -> None:
    # The kernel and a thread make it true, and neither sets an event
    while not condition():  # noqa: ASYNC110
        await anyio.sleep(_STEP)


class RingBuffer:
    """The last 200 000 characters of a stream, escapes stripped; written by one thread, read by any.

    Secrets that are known are hidden before any part of it is shown, so that no part begins in the middle of
    one.
    """

    def __init__(self, known: SecretValues | None = None) -> None:
        self._known = known or SecretValues()
        self._lock = threading.Lock()  # invariant: `_text` and `total` are of the same moment
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._text = ""
        self.total = 0
        self.complete = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes; none means that the stream has ended."""
        fresh = strip_escapes(self._decode(data, final=not data))
        with self._lock:
            self.total += len(fresh)
            self._text = (self._text + fresh)[-KEPT_CHARS:]
            self.complete = not data

    def text(self) -> str:
        """What is kept."""
        with self._lock:
            kept = self._text
        return self._known.redact(kept)


class OutputReader:
    """A thread that reads descriptors as they fill; it starts with the first of them and ends with `stop`."""

    def __init__(self) -> None:
        self._orders: SimpleQueue[tuple[int, RingBuffer | None, threading.Event]] = SimpleQueue()
        self._wake: tuple[int, int] | None = None
        self._join: Callable[[], None] | None = None

    def follow(self, descriptor: int, into: RingBuffer) -> None:
        """Read a non-blocking descriptor until it ends or is left."""
        if self._wake is None:
            self._wake = os.pipe()
            # A thread of its own, not one of the loop's: it outlives the call that starts it, and must not
            # keep the program from ending.
            thread = threading.Thread(  # noqa: TID251
                target=self._run, args=(self._wake[0],), name="background-output", daemon=True
            )
            thread.start()
            self._join = thread.join
        self._order(descriptor, into)

    def leave(self, descriptor: int) -> None:
        """Stop reading a descriptor; once this returns it may be closed."""
        self._order(descriptor, None)

    def stop(self) -> None:
        """End the thread."""
        if self._join is None or self._wake is None:
            return
        self._order(-1, None)
        self._join()
        for end in self._wake:
            os.close(end)
        self._join = self._wake = None

    def _order(self, descriptor: int, into: RingBuffer | None) -> None:
        if self._wake is None:
            return
        done = threading.Event()
        self._orders.put((descriptor, into, done))
        os.write(self._wake[1], b"!")
        done.wait()

    def _run(self, wake: int) -> None:
        poller = select.poll()
        poller.register(wake, select.POLLIN)
        followed: dict[int, RingBuffer] = {}
        while True:
            for descriptor, _ in poller.poll():
                if descriptor in followed:
                    if not _read(descriptor, followed[descriptor]):
                        poller.unregister(descriptor)
                        del followed[descriptor]
                elif descriptor == wake and not self._obey(wake, poller, followed):
                    return

    def _obey(self, wake: int, poller: "select.poll", followed: dict[int, RingBuffer]) -> bool:
        """Carry out the orders; False when the last one said to end."""
        os.read(wake, _CHUNK)
        with suppress(Empty):
            while True:
                descriptor, into, done = self._orders.get_nowait()
                if into is not None:
                    followed[descriptor] = into
                    poller.register(descriptor, select.POLLIN)
                elif followed.pop(descriptor, None) is not None:
                    poller.unregister(descriptor)
                done.set()
                if descriptor < 0:
                    return False
        return True


def _read(descriptor: int, into: RingBuffer) -> bool:
    """Move what is there; False at the end."""
    try:
        data = os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return True
    except OSError:  # a terminal whose other end is gone
        data = b""
    into.feed(data)
    return bool(data)
