"""Who made a machine elsewhere: written on it, so that what a crash left behind is found and removed at the
next start.
"""

import os
import platform
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from msgspec import Struct

from hermes.lib.lazy import import_object

T = TypeVar("T")


class LeaseHolder(Struct, frozen=True):
    """A process of ours: on which host, its id, and when it started (ids are used again)."""

    host: str
    pid: int
    started: int

    def __str__(self) -> str:
        return f"{self.host}/{self.pid}/{self.started}"

    @property
    def is_gone(self) -> bool:
        """Whether the process ran here and does not any more; of another host's nothing is known."""
        return self.host == platform.node() and _started(self.pid) != self.started


def this_process() -> LeaseHolder:
    """The owner that this process is."""
    return LeaseHolder(platform.node(), os.getpid(), _started(os.getpid()))  # noqa: TID251  # this very process


def abandoned(found: Iterable[T], label: Callable[[T], str]) -> Iterator[T]:
    """Those of what was found whose label names a process of ours that is gone."""
    for one in found:
        owner = _owner_from(label(one))
        if owner is not None and owner.is_gone:
            yield one


def _owner_from(text: str) -> LeaseHolder | None:
    """The owner that a label names, or None when it names none."""
    host, _, rest = text.partition("/")
    pid, _, started = rest.partition("/")
    return LeaseHolder(host, int(pid), int(started)) if pid.isdigit() and started.isdigit() else None


def _started(pid: int) -> int:
    """When a process started, in milliseconds; 0 when there is none."""
    psutil = import_object("psutil")
    try:
        created: float = psutil.Process(pid).create_time()
    except psutil.Error:
        return 0
    return round(created * 1000)
