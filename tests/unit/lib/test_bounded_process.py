"""A program runs for as long as it works, and is ended for what it may not take."""

import os
import sys
from pathlib import Path

import pytest

from hermes.lib.bounded_process import Bounds, Ended, OverBounds, run_bounded

QUICK = Bounds(idle=0.5, seconds=20)
IN_PARTS = "import time\nfor _ in range(25): sum(range(200_000)); time.sleep(0.1)\nprint('done')"


def ran(program: str, *words: str, bounds: Bounds = QUICK, given: bytes = b"") -> Ended:
    return run_bounded([sys.executable, "-c", program, *words], os.environ, bounds, given=given)


def test_what_it_prints_and_how_it_ends_is_given() -> None:
    program = (
        "import sys; print(sys.stdin.read().upper(), end=''); print('odd', file=sys.stderr); sys.exit(3)"
    )
    given = b"words\n" * 100_000
    assert ran(program, bounds=Bounds(), given=given) == Ended(code=3, output=given.upper(), errors=b"odd\n")


def test_files_of_the_caller_are_read_and_written(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"words")
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as target:
        ended = run_bounded(["cat"], os.environ, Bounds(output=1), given=source, target=target)
    assert (ended, (tmp_path / "out").read_bytes()) == (Ended(code=0, output=b"", errors=b""), b"words")


def test_one_that_works_may_take_longer_than_it_may_be_idle() -> None:
    assert ran(IN_PARTS, bounds=Bounds(idle=2, seconds=60)).output == b"done\n"


def test_one_that_waits_for_ever_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OverBounds, match=r"^did nothing for 0\.5 seconds$"):
        ran("import sys; open(sys.argv[1])", str(tmp_path / "pipe"))


def test_one_that_works_without_an_end_is_ended() -> None:
    with pytest.raises(OverBounds, match=r"^took more than 1 seconds$"):
        ran("while True: pass", bounds=Bounds(idle=0.5, seconds=1))


@pytest.mark.parametrize("end", ["", "; import time; time.sleep(60)"], ids=["ended", "running"])
def test_output_that_is_too_much_is_not_read(end: str) -> None:
    with pytest.raises(OverBounds, match=r"^printed more than 1,000 bytes$"):
        ran(f"print('x' * 2_000, flush=True){end}", bounds=Bounds(idle=5, output=1_000))


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux")
def test_memory_beyond_the_bound_is_refused_to_it() -> None:
    program = "import sys; sys.stdin.read(); bytearray(300 << 20)"
    ended = ran(program, bounds=Bounds(memory=200 << 20))
    assert (ended.code, ended.errors.splitlines()[-1]) == (1, b"MemoryError")


def test_one_that_is_ended_may_tidy_up(tmp_path: Path) -> None:
    half = tmp_path / "half"
    program = (
        "import pathlib, signal, sys\n"
        "def tidy(*_): half.unlink(); sys.exit()\n"
        "half = pathlib.Path(sys.argv[1]); signal.signal(signal.SIGTERM, tidy); half.touch(); signal.pause()"
    )
    with pytest.raises(OverBounds):
        ran(program, str(half))
    assert not half.exists()
