"""What ends jobs outside the sandbox when Hermes is killed: a process that knows them and waits for that."""

import os
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import anyio
import anyio.to_thread

from hermes.environments.process_tree import MARKER
from hermes.environments.sandbox.sandbox import CLEAN

# Its input ends with whoever holds the other end, however that ends. A job is found by the mark that all its
# processes inherit; its group, too, where its first process is still there.
_WATCH: Final = f"""
cd /
while read -r word pid marker; do
  case $word in begun) jobs[pid]=$marker;; ended) unset "jobs[pid]";; over) exit;; esac
done
for turn in 1 2 3; do
  for pid in "${{!jobs[@]}}"; do
    mark={MARKER}=${{jobs[pid]}}
    grep -qszxF -- "$mark" "/proc/$pid/environ" && kill -KILL -- "-$pid"
    for path in $(grep -lszxF -- "$mark" /proc/[0-9]*/environ); do
      path=${{path#/proc/}}
      kill -KILL "${{path%/environ}}"
    done
  done
  sleep 0.1
done 2>/dev/null
"""
_BASH: Final = "/bin/bash"


class OrphanWatch:
    """Ends the jobs of one environment after a `kill -9` of Hermes; started with the first of them, and ended
    by `close`. Where there is no /bin/bash nothing is watched.
    """

    def __init__(self) -> None:
        self._pid = 0
        self._words = -1
        self._hang_up: Callable[[], object] = lambda: None

    def begun(self, pid: int, marker: str) -> None:
        """A job is running, whose first process leads a session of its own."""
        if not self._pid:
            with suppress(OSError):
                self._start()
        self._tell(f"begun {pid} {marker}")

    def ended(self, pid: int) -> None:
        """A job has ended; what it left running is the user's from now on."""
        self._tell(f"ended {pid}")

    async def close(self) -> None:
        """No job runs any more."""
        if self._pid:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self.close_in_thread)

    def close_in_thread(self) -> None:
        """The same for who may wait for a process."""
        self._tell("over")
        self._hang_up()
        pid, self._pid = self._pid, 0
        if pid:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)

    def _start(self) -> None:
        reader, self._words = os.pipe()
        self._hang_up = weakref.finalize(self, os.close, self._words)
        to_nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
        try:
            self._pid = os.posix_spawn(
                _BASH,
                (_BASH, "--noprofile", "--norc", "-c", _WATCH, "hermes-watch"),
                CLEAN,
                file_actions=[(os.POSIX_SPAWN_DUP2, reader, 0), *to_nothing],
                setsid=True,
            )
        finally:
            os.close(reader)

    def _tell(self, words: str) -> None:
        if self._pid:
            with suppress(OSError):  # somebody has ended it
                os.write(self._words, f"{words}\n".encode())
