"""What a checkpoint of a workspace costs: ours and an index of git beside it, medians in milliseconds.

`scripts/bench checkpoints [--files N]`.
"""

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from hermes.composition import SYSTEM_PORTS
from hermes.store.snapshot import SnapshotLimits
from hermes.store.snapshots import SnapshotStore

ROUNDS = 15
FOLDERS = 500


def main() -> None:
    """Print one Markdown table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=10_000)
    number = parser.parse_args().files
    print(
        f"{SYSTEM_PORTS.now():.0f} epoch seconds, load {os.getloadavg()[0]:.1f},"
        f" Python {sys.version.split()[0]}, {number} files in {FOLDERS} folders\n"
    )
    with tempfile.TemporaryDirectory(dir=Path.home()) as name:
        top = Path(name).resolve()
        fill(top / "work", number)
        print("| workspace | ours | git add -A, write-tree |\n|---|---:|---:|")
        for what, ours, git in rows(top):
            print(f"| {what} | {ours:.0f} | {git:.0f} |")
        print(f"\nLongest stall of the event loop meanwhile: {asyncio.run(stall(top)):.1f} ms")


def fill(work: Path, number: int) -> None:
    """Make the files."""
    for one in range(number):
        file = work / f"d{one % FOLDERS // 25}" / f"e{one % FOLDERS % 25}" / f"file_{one}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"x = {one}\n" * 60)


def rows(top: Path) -> Iterator[tuple[str, float, float]]:
    """The cases with both medians."""
    ours, git = taker(top), git_index(top)
    yield "seen for the first time", milliseconds(ours), milliseconds(git)
    for what, changed in (("unchanged", ""), ("one file changed", "changed")):
        times = []
        for _ in range(ROUNDS):
            touch(top, changed)
            times.append((milliseconds(ours), milliseconds(git)))
        yield what, median(one for one, _ in times), median(one for _, one in times)
    yield "unchanged, in a new process", milliseconds(taker(top)), milliseconds(git)


def touch(top: Path, name: str) -> None:
    """Change one file, if it has a name."""
    if name:
        (top / "work" / "d1" / "e1" / name).write_text(f"{time.time_ns()}\n")


def taker(top: Path) -> Callable[[], object]:
    """Takes a snapshot."""
    store = SnapshotStore(top / "ours", SnapshotLimits(), lambda _path: False)

    def take() -> None:
        with store.used():
            store.take(str(top / "work"))

    return take


def git_index(top: Path) -> Callable[[], object]:
    """Does the same with git, whose folder is beside the workspace."""
    environ = {**os.environ, "GIT_DIR": str(top / "git"), "GIT_WORK_TREE": str(top / "work")}
    git = shutil.which("git") or "git"
    subprocess.run([git, "init", "-q"], env=environ, check=True, stderr=subprocess.DEVNULL)

    def take() -> None:
        for words in (("add", "-A"), ("write-tree",)):
            subprocess.run([git, *words], env=environ, check=True, stdout=subprocess.DEVNULL)

    return take


def milliseconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - started)


async def stall(top: Path) -> float:
    """The longest that a ticking task waits beyond its millisecond while snapshots are taken in a thread."""
    longest, work = (
        0.0,
        asyncio.get_running_loop().run_in_executor(None, lambda: [taker(top)() for _ in range(5)]),
    )
    while not work.done():
        started = time.perf_counter()
        await asyncio.sleep(0.001)
        longest = max(longest, 1e3 * (time.perf_counter() - started) - 1)
    return longest


if __name__ == "__main__":
    main()
