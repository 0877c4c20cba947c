"""The way to a machine that can only be asked to run a script and say what it printed: a cloud's sandbox.

A job runs detached in a folder of its own there. Its output goes through a few files of bounded size, so that
a flood waits for us and fills no disk; each question takes what is new, and waits there while nothing is.
"""

import base64
import itertools
import os
import queue
import shlex
import threading
from contextlib import suppress
from typing import Final

import anyio
import anyio.to_thread

from hermes.environments.remote.cloud import CloudSandbox, Vendor
from hermes.environments.remote.payload import ENDED, read_records
from hermes.environments.remote.transport import End
from hermes.types.error import ExecError

_CHUNK: Final = 65_536
_MOST_IN_A_CALL: Final = 36_000  # bytes of input before base64: Modal takes commands of 64 KiB
_END_OF_INPUT: Final = b"\x04"
_STEP: Final = 0.01
_LOOKS_AT_CHILDREN: Final = 3  # that outlive the job and still print
_LOST: Final = 255
_SETTLE_SECONDS: Final = 5.0

# A file of output is 512 reads, at most 32 MB, and at most four of them wait to be taken; an empty one is the
# end.
_RUN: Final = """
mkdir -p -m 700 -- {folder} && : >{folder}/aside && mkfifo {folder}/pipe {fifo} || exit 9
( cd {folder}; n=0; exec 5<pipe
  while [ -e pipe ] && dd bs=65536 count=512 <&5 >"out.$n" 2>/dev/null; [ -s "out.$n" ]; do
    n=$((n + 1)); while [ -e "out.$((n - 4))" ]; do sleep 0.05; done
  done; : >drained ) >/dev/null 2>&1 </dev/null &
{holder}
( {argv} <{input} >{folder}/pipe 2>>{folder}/aside & wait $!; echo $? >{folder}/code
  mv {folder}/code {folder}/ended ) >/dev/null 2>&1 </dev/null &
"""
_LOOK: Final = """
cd -- {folder} 2>/dev/null || {{ echo gone; exit 0; }}
n={number}; at={offset}; held=0
size() {{ stat -c %s "$1" 2>/dev/null || echo 0; }}
# After the job's end: whether children of it keep its output open.
kept() {{ [ -e ended ] && [ ! -e drained ] &&
  ls -l /proc/[0-9]*/fd 2>/dev/null | grep -q -- "^l-wx.* {folder}/pipe$"; }}
for ((step = 0; step < {wait}; step++)); do
  next=; [ -e "out.$((n + 1))" ] && next=there  # seen first: then this file is complete
  [ "$(size "out.$n")" -gt "$at" ] && break
  [ -n "$next" ] && {{ rm -f "out.$n"; n=$((n + 1)); at=0; continue; }}
  [ "$(size aside)" -gt {aside} ] && break
  [ -e ended ] && [ -e drained ] && break
  kept && {{ [ "$((held += 1))" -gt 5 ] && break; sleep 0.1; continue; }}
  if [ "$step" -lt 20 ]; then sleep 0.02; else sleep 0.1; fi
done
if [ -e drained ] && [ ! -s "out.$((n + 1))" ] && [ "$(size "out.$n")" -le $((at + 1500000)) ]; then
  echo drained
elif [ "$held" -gt 5 ]; then echo silent
elif kept; then echo kept
else echo open
fi
cat ended 2>/dev/null || echo runs
echo "$n $at"
tail -c "+$((at + 1))" "out.$n" 2>/dev/null | head -c 1500000 | base64 | tr -d '\\n'; echo
tail -c +{past} aside | head -c 1500000 | base64 | tr -d '\\n'; echo
exit 0
"""


class PollingTransport:
    """The way to a cloud's sandbox: implements `RemoteTransport`."""

    def __init__(self, vendor: Vendor, *, mark: str) -> None:
        self.name = vendor.name
        self._cloud = CloudSandbox(vendor)
        self._mark = mark
        self._jobs = itertools.count(1)
        self._children: list[PollingChild] = []

    async def open(self) -> str:
        """Make the sandbox ready; why the one before cannot be used."""
        return await anyio.to_thread.run_sync(self._cloud.open)

    async def close(self) -> None:
        """Give it back, once what jobs left there is removed."""
        await self.settled()
        await anyio.to_thread.run_sync(self._cloud.close)

    async def settled(self) -> None:
        """Return once the jobs that nobody follows any more have removed their folders, or after a few
        seconds.
        """
        with anyio.move_on_after(_SETTLE_SECONDS):
            while self._children:
                self._children = [child for child in self._children if child.is_at_work]
                await anyio.sleep(_STEP)

    async def fault(self) -> str:
        """Why it cannot be used."""
        return await anyio.to_thread.run_sync(self._cloud.fault)

    def launch(self, argv: tuple[str, ...], *, stdin: bytes | None, pty: bool, end: End) -> "PollingChild":
        """Start `argv` there, in threads that ask for its output and hand over its input."""
        # There, not here; the mark cannot be guessed
        folder = f"/tmp/.hermes-{self._mark}-job{next(self._jobs)}"  # noqa: S108
        words = (
            f"script -qefc {shlex.quote(shlex.join(argv))} /dev/null" if pty else f"setsid {shlex.join(argv)}"
        )
        self._children = [child for child in self._children if child.is_at_work]
        self._children.append(PollingChild(_Job(self._cloud, folder, words), stdin, end, is_terminal=pty))
        return self._children[-1]


class _Job:
    """One job in its folder there."""

    def __init__(self, cloud: CloudSandbox, folder: str, words: str) -> None:
        self._cloud = cloud
        self._folder = folder
        self._words = words
        self._number = self._offset = self._aside = self._looks_at_children = 0
        self.code: int | None = None
        self.is_over = False

    def start(self, stdin: bytes | None) -> tuple[bytes, bytes]:
        """Start it, with all of its input or with an open one; its first output, as `look` gives it."""
        is_open = stdin is None
        # It holds both ends of the input, so that input for a job that has ended is not waited with for ever.
        holder = (
            f"sleep 2147483647 <>{self._folder}/in >/dev/null 2>&1 & echo $! >{self._folder}/holder"
            if is_open
            else ""
        )
        run = _RUN.format(
            folder=self._folder,
            fifo=f"{self._folder}/in" if is_open else "",
            holder=holder,
            argv=self._words,
            input=f"{self._folder}/in" if is_open else f"{self._folder}/given",
        )
        *parts, last = _parts(stdin or b"")
        for part in parts:
            self._cloud.call(f"mkdir -p -m 700 {self._folder} && {_feed(part, f'{self._folder}/given')}")
        if not is_open:
            run = f"mkdir -p -m 700 {self._folder} && {_feed(last, f'{self._folder}/given')}\n{run}"
        return self._read(self._cloud.call(run + self._look(1 if is_open else 50)))

    def look(self) -> tuple[bytes, bytes]:
        """New bytes of its output and beside it; waits there for up to ten seconds while there are none."""
        return self._read(self._cloud.call(self._look(115)))

    def feed(self, data: bytes) -> None:
        """Hand over input."""
        for part in _parts(data):
            self._cloud.call(_feed(part, f"{self._folder}/in"))

    def close_input(self) -> None:
        """End its input."""
        self._cloud.call(f'kill "$(cat {self._folder}/holder)" 2>/dev/null')

    def remove(self) -> None:
        """Remove its folder, and what kept its pipes open."""
        with suppress(ExecError):
            self._cloud.call(
                # Again while it is there: whoever writes its output may make one more file meanwhile.
                f"cd /; holder=$(cat {self._folder}/holder 2>/dev/null); for n in 1 2 3 4 5 6 7 8 9; do"
                f" rm -rf -- {self._folder} 2>/dev/null; [ -e {self._folder} ] || break; sleep 0.1; done;"
                ' [ -n "$holder" ] && kill "$holder"; exit 0'
            )

    def _look(self, wait: int) -> str:
        return _LOOK.format(
            folder=self._folder,
            number=self._number,
            offset=self._offset,
            wait=wait,
            aside=self._aside,
            past=self._aside + 1,
        )

    def _read(self, answer: bytes) -> tuple[bytes, bytes]:
        lines = answer.decode("ascii", "replace").splitlines()
        if len(lines) < 5:
            raise ExecError(
                "the sandbox lost the job" if lines[:1] == ["gone"] else "the sandbox gave no answer"
            )
        number, offset = map(int, lines[2].split())
        output, aside = base64.b64decode(lines[3]), base64.b64decode(lines[4])
        self._number, self._offset, self._aside = number, offset + len(output), self._aside + len(aside)
        self.code = int(lines[1]) if lines[1].isdigit() else None
        self._looks_at_children += lines[0] == "kept"
        has_all = lines[0] in {"drained", "silent"} or self._looks_at_children > _LOOKS_AT_CHILDREN
        self.is_over = has_all and self.code is not None
        return output, aside


class PollingChild:
    """A job in a cloud's sandbox: implements `RemoteChild`."""

    def __init__(self, job: _Job, stdin: bytes | None, end: End, *, is_terminal: bool) -> None:
        self._job = job
        self._end = end
        self._is_terminal = is_terminal
        self._records = bytearray()
        self._code: int | None = None
        self._has_begun = False
        self._started = threading.Event()
        self._quit = threading.Event()
        self._over = os.pipe()  # its reading end is readable once the job is over
        self.output, self._sink = os.pipe()
        os.set_blocking(self.output, False)
        self._typed: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._takes_input = stdin is None
        # Threads of their own, not the loop's: they outlive the call that starts them, and must not keep the
        # program from ending.
        self._threads = [
            threading.Thread(target=self._watch, args=(stdin,), name="cloud-output", daemon=True)  # noqa: TID251
        ]
        self._threads[0].start()

    @property
    def is_at_work(self) -> bool:
        """Whether its threads still run."""
        return self._threads[0].is_alive()

    @property
    def pid(self) -> int:
        """The id of the job's process there, 0 until it is known."""
        return read_records(bytes(self._records)).pid

    def poll(self) -> int | None:
        """The exit code as the records tell it."""
        told = ENDED.search(self._records)
        return int(told[1]) if told else self._code

    def aside(self) -> bytes:
        """What has come beside the output so far."""
        return bytes(self._records)

    def read(self) -> bytes | None:
        """The bytes at hand, b"" at the end of output, None when there are none now."""
        try:
            return os.read(self.output, _CHUNK)
        except BlockingIOError:
            return None

    async def ended(self) -> None:
        """Return once the job is over and all of its output has come."""
        await anyio.wait_readable(self._over[0])

    async def settled(self) -> None:
        """Everything has come by then."""

    async def takes_input(self) -> None:
        """Return once the job has begun."""
        while not self._has_begun and self.poll() is None:  # noqa: ASYNC110  # a thread makes it true
            await anyio.sleep(_STEP)

    def write(self, data: bytes) -> int:
        """Take all of it, to be handed over by a thread."""
        if not self._takes_input:
            raise BrokenPipeError("the input of this process is closed")
        if len(self._threads) == 1:
            self._threads.append(threading.Thread(target=self._feed, name="cloud-input", daemon=True))  # noqa: TID251
            self._threads[1].start()
        self._typed.put(data)
        return len(data)

    def close_input(self) -> None:
        """End its input, after what was written."""
        if self._takes_input:
            self.write(_END_OF_INPUT if self._is_terminal else b"")
            self._typed.put(None)
        self._takes_input = False

    async def stop(self, grace: float) -> None:
        """End the job where it runs."""
        if self.poll() is None:
            await self._end(grace)
        with anyio.move_on_after(grace + 1):
            await self.ended()

    def release(self) -> None:
        """Close the descriptor; the thread closes the others and removes the job's folder."""
        self._quit.set()
        self._typed.put(None)
        os.close(self.output)

    def _watch(self, stdin: bytes | None) -> None:
        try:
            output, aside = self._job.start(stdin)
            self._started.set()
            while self._pass_on(output, aside) and not self._quit.is_set():
                output, aside = self._job.look()
        except ExecError as error:
            self._records += str(error).encode()
        self._code = _LOST if self._job.code is None else self._job.code
        self._started.set()
        os.close(self._sink)
        os.close(self._over[1])
        self._quit.wait()
        os.close(self._over[0])
        self._job.remove()

    def _pass_on(self, output: bytes, aside: bytes) -> bool:
        """Hand on what came; False when nothing more will."""
        self._records += aside
        self._has_begun = self._has_begun or bool(output or aside)
        with suppress(OSError):  # nobody reads any more
            while output and not self._quit.is_set():
                output = output[os.write(self._sink, output[:_CHUNK]) :]
        return not self._job.is_over

    def _feed(self) -> None:
        self._started.wait()
        with suppress(ExecError):
            while (data := self._typed.get()) is not None:
                self._job.feed(data)
            if not self._is_terminal:
                self._job.close_input()


def _parts(data: bytes) -> list[bytes]:
    return [data[start : start + _MOST_IN_A_CALL] for start in range(0, len(data), _MOST_IN_A_CALL)] or [b""]


def _feed(data: bytes, path: str) -> str:
    return f"printf %s {base64.b64encode(data).decode()} | base64 -d >>{path}" if data else f": >>{path}"
