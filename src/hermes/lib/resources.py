"""How much of a machine commands may use: processors, memory and processes, as control groups limit them."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

_MEGABYTE: Final = 1_048_576
_NO_LIMIT: Final = 1 << 60  # version 1 writes the largest number of pages
_CONTROLLERS: Final = ("cpu", "memory", "pids")


class Resources(Struct, frozen=True, kw_only=True):
    """Limits: processors, megabytes of memory, processes; 0 for none."""

    cpus: float = 0.0
    memory: int = 0
    processes: int = 0

    def __str__(self) -> str:
        parts = (
            f"{self.cpus:g} processor{'' if self.cpus == 1 else 's'}" if self.cpus else "",
            f"{self.memory:,} MB of memory" if self.memory else "",
            f"{self.processes:,} processes" if self.processes else "",
        )
        return ", ".join(filter(None, parts)) or "no limits"


def resources_in_force(
    groups: Path = Path("/proc/self/cgroup"), top: Path = Path("/sys/fs/cgroup")
) -> Resources:
    """The limits of this process and of the groups above its own: the least of each. What cannot be read
    counts as none.
    """
    folders = _folders(groups, top)
    return Resources(
        cpus=_least(folders["cpu"], _cpus),
        memory=int(_least(folders["memory"], _memory)) // _MEGABYTE,
        processes=int(_least(folders["pids"], _processes)),
    )


def _folders(groups: Path, top: Path) -> dict[str, tuple[Path, Path]]:
    """The top of each controller's tree, and the group in it; of version 1 where it has the controller."""
    found = dict.fromkeys(_CONTROLLERS, (top, top))
    with suppress(OSError):
        rows = [row.split(":", 2) for row in groups.read_text().splitlines()]
        for _, names, path in sorted(rows, key=lambda row: bool(row[1])):
            tree = top / names
            found.update(dict.fromkeys(names.split(",") if names else found, (tree, tree / path.strip("/"))))
    return found


def _least(place: tuple[Path, Path], read: Callable[[Path], float]) -> float:
    tree, group = place
    return min(_limits(tree, group, read), default=0)


def _limits(tree: Path, group: Path, read: Callable[[Path], float]) -> Iterator[float]:
    for folder in (group, *group.parents):
        if folder.is_relative_to(tree):
            with suppress(OSError, ValueError):  # not there, or max
                if 0 < (limit := read(folder)) < _NO_LIMIT:
                    yield limit


def _cpus(group: Path) -> float:
    if (group / "cpu.max").is_file():
        quota, period = (group / "cpu.max").read_text().split()
    else:
        quota, period = ((group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
    return int(quota) / int(period)


def _memory(group: Path) -> float:
    newer = group / "memory.max"
    return int((newer if newer.is_file() else group / "memory.limit_in_bytes").read_text())


def _processes(group: Path) -> float:
    return int((group / "pids.max").read_text())
