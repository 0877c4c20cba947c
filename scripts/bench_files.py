"""What it costs that the file tools open by descriptor: ours and the bare calls by name, medians.

`scripts/bench files`.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from hermes.composition import SYSTEM_PORTS
from hermes.environments import files

ROUNDS = 2_000
DATA = b"x" * 4_096


def by_name(path: Path) -> None:
    """Write as we do, without descriptors of folders."""
    descriptor, part = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(DATA)
        os.fchmod(descriptor, 0o644)
        file.flush()
        os.fsync(descriptor)
    Path(part).replace(path)


def microseconds(ours: Callable[[], object], bare: Callable[[], object]) -> tuple[float, float]:
    """The medians of both, called in turn."""
    return median(_timed(ours) for _ in range(ROUNDS)), median(_timed(bare) for _ in range(ROUNDS))


def _timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return 1e6 * (time.perf_counter() - started)


def main() -> None:
    """Print one Markdown table."""
    print(
        f"{SYSTEM_PORTS.now():.0f} epoch seconds, load {os.getloadavg()[0]:.1f},"
        f" Python {sys.version.split()[0]}"
    )
    print("| a file of 4 KiB, five folders deep | ours | bare, by name |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory(dir=Path.home()) as top:
        path = Path(top).resolve() / "a/b/c/file"
        files.write_bytes(path, DATA)
        rows: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "read": (lambda: files.read_bytes(path), path.read_bytes),
            "write": (lambda: files.write_bytes(path, DATA), lambda: by_name(path)),
            "stat": (lambda: files.stat_path(path), path.stat),
            "list": (lambda: files.list_folder(path.parent), lambda: list(path.parent.iterdir())),
        }
        for name, calls in rows.items():
            ours, bare = microseconds(*calls)
            print(f"| {name} | {ours:.0f} µs | {bare:.0f} µs |")


if __name__ == "__main__":
    main()
