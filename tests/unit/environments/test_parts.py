"""The parts of the local workspace: captured output, shell dumps, background bookkeeping."""

import os
import subprocess
from pathlib import Path

import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.environments.background import Background
from hermes.environments.base import Limits
from hermes.environments.shell_state import parse_dump, read_dump
from hermes.environments.supervise import Capture, fit
from hermes.types.error import ExecError


@given(st.lists(st.text(max_size=50), max_size=20), st.integers(min_value=1, max_value=200))
def test_captured_text_is_whole_or_clipped_and_then_whole_on_disk(pieces: list[str], limit: int) -> None:
    spill = Path("/tmp") / f"hermes-capture-{os.getpid()}"
    capture = Capture(Limits(max_chars=limit), spill)
    data = b"".join(piece.encode("utf-8", "replace") for piece in pieces)
    for piece in pieces:
        capture.feed(piece.encode("utf-8", "replace"))
    kept = capture.finish()
    assert len(kept.text) <= limit
    assert kept.clipped == bool(kept.full) == spill.exists()
    if kept.clipped:
        assert spill.read_bytes() == data
        spill.unlink()


def test_output_is_clipped_by_lines_and_by_their_length() -> None:
    limits = Limits(max_lines=10, max_line_length=5)
    assert (
        fit("\n".join(map(str, range(100))), limits)
        == "0\n1\n2\n3\n… 90 lines left out …\n94\n95\n96\n97\n98\n99"
    )
    assert fit("123456789\nab", limits) == "12345… [4 more characters]\nab"
    assert fit("same\n", limits) == "same\n"


def dump_of(script: str) -> bytes:
    names = "builtin pwd; printf '\\0'; set +o; printf '\\0'; shopt -p; printf '\\0'; declare -px; printf '\\0'; alias -p; printf '\\0'"
    text = f"{script}\nprintf 'hermes-shell 1\\0'; {names}; declare -f; printf '\\0'; declare -Fx; printf '\\0end'"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", text],
        env={"PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        check=True,
        cwd="/",
    ).stdout


def test_a_fresh_shell_has_nothing_to_restore() -> None:
    dump = parse_dump(dump_of(""))
    assert dump is not None
    assert (dump.cwd, dump.options, dump.aliases, dump.functions, dict(dump.exports)) == (
        "/",
        (),
        "",
        "",
        {"PATH": "/usr/bin:/bin"},
    )


@pytest.mark.parametrize(
    "value",
    [
        "plain",
        "two\nlines",
        'quote " dollar $x `y` \\',
        "tab\there",
        "bell\a é 漢",
        "'single'",
        "",
        " spaces ",
        "\x01\x1b[0m",
        "a\\nb",
    ],
)
def test_every_value_comes_back(value: str) -> None:
    output = subprocess.run(
        [
            "bash",
            "--norc",
            "-c",
            "printf 'hermes-shell 1\\0/\\0\\0\\0'; declare -px; printf '\\0\\0\\0\\0end'",
        ],
        env={"VALUE": value},
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    dump = parse_dump(output)
    assert dump is not None
    assert dump.exports["VALUE"] == value


def test_options_that_would_stop_the_shell_are_not_carried() -> None:
    dump = parse_dump(dump_of("set -u -o pipefail; shopt -s extglob; set -x"))
    assert dump is not None
    assert dump.options == ("shopt -s extglob", "set -o nounset", "set -o pipefail", "set -o xtrace")
    assert parse_dump(b"hermes-shell 1\0/\0set -o noexec\n\0\0\0\0\0\0end") is not None
    assert parse_dump(b"hermes-shell 1\0/\0set -o noexec\n\0\0\0\0\0\0end").options == ()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hermes-shell 1\0/\0\0\0\0\0\0\0",
        b"hermes-shell 1\0relative\0\0\0\0\0\0\0end",
        b"other\0/\0\0\0\0\0\0\0end",
        b"hermes-shell 1\0/\0end",
    ],
)
def test_a_dump_that_is_not_whole_counts_for_nothing(data: bytes) -> None:
    assert parse_dump(data) is None


def test_values_that_the_shell_would_expand_are_not_taken() -> None:
    dump = parse_dump(
        b'hermes-shell 1\0/\0\0\0declare -x A="$(touch x)"\ndeclare -x B="`x`"\ndeclare -x C="ok"\n\0\0\0\0end'
    )
    assert dump is not None
    assert dict(dump.exports) == {"C": "ok"}


def test_only_a_regular_file_is_read_as_a_dump(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(dump_of(""))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "huge").write_bytes(b"x" * 3_000_000)
    assert read_dump(tmp_path / "real") is not None
    names = ("link", "pipe", "huge", "none", ".")
    assert [read_dump(tmp_path / name) for name in names] == [None] * 5


class Quiet:
    """A child without output, that ends when told: implements `Child`."""

    def __init__(self) -> None:
        self.code: int | None = None
        self.output, self._other = os.pipe()
        os.set_blocking(self.output, False)
        self.pid = 1

    def poll(self) -> int | None:
        return self.code

    def write(self, data: bytes) -> int:
        return len(data)

    def close_input(self) -> None:
        pass

    async def stop(self, grace: float) -> None:
        await anyio.lowlevel.checkpoint()
        self.code = 143

    def release(self) -> None:
        os.close(self.output)
        os.close(self._other)


@pytest.mark.anyio
async def test_64_processes_are_tracked_and_the_oldest_finished_one_makes_room() -> None:
    now = [0.0]
    tracked = Background(lambda: now[0])
    children = [Quiet() for _ in range(64)]
    for number, child in enumerate(children):
        tracked.make_room()
        tracked.add(f"p{number}", child, command="x", cwd="/", notify=False)
    with pytest.raises(ExecError, match="64"):
        tracked.make_room()
    children[5].code = children[9].code = 0
    tracked.make_room()
    assert [state.id for state in tracked.list()] == [f"p{number}" for number in range(64) if number != 5]
    now[0] = 1_801
    tracked.make_room()
    assert "p9" not in {state.id for state in tracked.list()}
    await tracked.stop_all()
    assert list(tracked.list()) == []


@pytest.mark.parametrize("count", [5_000, 50_000, 100_000])
def test_the_lines_that_are_left_out_are_counted_whatever_was_kept(tmp_path: Path, count: int) -> None:
    capture = Capture(Limits(max_chars=20_000, max_lines=200), tmp_path / "spill")
    capture.feed("".join(f"{number}\n" for number in range(1, count + 1)).encode())
    text = capture.finish().text.split("\n")
    at = next(number for number, line in enumerate(text) if "lines left out" in line)
    first, last = int(text[at - 1]), int(text[at + 1])
    assert text[at] == f"… {last - first - 1} lines left out …"
