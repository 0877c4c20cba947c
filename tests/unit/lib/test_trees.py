"""Trees are copied and put back only where no link is on the way."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes.lib.trees import Room, copy_aside, measure, put_back


def room() -> Room:
    return Room(1_000, 10)


@pytest.fixture
def behind(tmp_path: Path) -> Path:
    """A file's path through a link."""
    (tmp_path / "outside" / "in").mkdir(parents=True)
    (tmp_path / "outside" / "in" / "key").write_text("key")
    (tmp_path / "link").symlink_to("outside")
    return tmp_path / "link" / "in" / "key"


@pytest.mark.parametrize(
    "act",
    [
        lambda behind, other: measure(behind, room()),
        lambda behind, other: copy_aside(behind, other.parent / "copy", room()),
        lambda behind, other: put_back(other, behind, lambda _path: False),
        lambda behind, other: put_back(behind, other, lambda _path: False),
    ],
)
def test_a_link_on_the_way_is_refused(
    behind: Path, tmp_path: Path, act: Callable[[Path, Path], object]
) -> None:
    other = tmp_path / "other" / "file"
    other.parent.mkdir()
    other.write_text("new")
    with pytest.raises(OSError, match="link") as fault:
        act(behind, other)
    assert fault.value.errno == errno.ELOOP
    assert [behind.read_text(), other.read_text()] == ["key", "new"]
