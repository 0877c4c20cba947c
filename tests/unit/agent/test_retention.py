"""What sessions left on disk goes after the days that the settings say."""

import os
from pathlib import Path

import anyio
import pytest

from hermes.agent.retention import DAY, empty_temp, prune
from hermes.runtime import open_runtime
from hermes.store.protocol import Owner, SessionRow
from hermes.testing import MemoryStore

pytestmark = pytest.mark.anyio

NOW = 1_800_000_000.0


def plain_row(id_: str) -> SessionRow:
    return SessionRow(id=id_, cwd="/w", model="m", created=NOW, updated=NOW)


def kept(folder: Path, name: str, age: float) -> Path:
    """A file, which was changed `age` days ago, in the entry `name` of a folder."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    for one in (path, *path.parents):
        if one == folder:
            break
        os.utime(one, (NOW - age * DAY,) * 2)
    return path


async def test_what_is_old_goes_and_what_is_new_or_of_an_open_session_stays(tmp_path: Path) -> None:
    scratch, results, store = tmp_path / "scratch", tmp_path / "results", MemoryStore()
    await store.create(plain_row("open"), system="", tools=())
    await store.claim("open", Owner(pid=1, host="h", app="cli", since=NOW))
    gone = [kept(scratch, "old/outputs/a.txt", 31), kept(results, "old.txt", 31)]
    stays = [
        kept(scratch, "open/state", 400),
        kept(scratch, "new/state", 29),
        kept(results, "new.txt", 29),
    ]
    kept(scratch, "mixed/outputs/old.txt", 90)
    stays.append(kept(scratch, "mixed/outputs/new.txt", 1))
    os.utime(scratch / "mixed" / "outputs", (NOW - 90 * DAY,) * 2)
    (scratch / "link").symlink_to(tmp_path)  # it goes, what it leads to is not ours
    outside = kept(tmp_path / "else", "file", 900)
    await prune(store, (scratch, results, tmp_path / "missing"), before=NOW - 30 * DAY)
    assert ([one.exists() for one in gone], [one.exists() for one in stays]) == ([False] * 2, [True] * 4)
    assert (outside.exists(), sorted(one.name for one in scratch.iterdir())) == (
        True,
        ["mixed", "new", "open"],
    )


async def test_the_temp_folder_of_a_session_that_nobody_uses_is_emptied_after_a_day(tmp_path: Path) -> None:
    scratch, store = tmp_path / "scratch", MemoryStore()
    await store.create(plain_row("open"), system="", tools=())
    await store.claim("open", Owner(pid=1, host="h", app="cli", since=NOW))
    outside = kept(tmp_path / "else", "tmp/file", 900)
    gone = [kept(scratch, "old/tmp/deep/file", 2), kept(scratch, "old/tmp/file", 2)]
    (scratch / "old" / "tmp" / "link").symlink_to(outside.parent)
    os.utime(scratch / "old" / "tmp", (NOW - 2 * DAY,) * 2)
    stays = [
        kept(scratch, "old/outputs/a.txt", 2),
        kept(scratch, "open/tmp/file", 2),
        kept(scratch, "new/tmp/file", 0.5),
        kept(scratch, "used/tmp/file", 2),
        kept(scratch, "used/shell/confined/state", 0.5),
        outside,
    ]
    os.utime(scratch / "used", (NOW - 2 * DAY,) * 2)
    (scratch / "linked").symlink_to(tmp_path / "else")
    await empty_temp(store, scratch, before=NOW - DAY)
    assert ([one.exists() for one in gone], [one.exists() for one in stays]) == ([False] * 2, [True] * 6)
    assert list((scratch / "old" / "tmp").iterdir()) == []


@pytest.mark.parametrize(("days", "stays"), [(30, False), (0, True)])
async def test_a_runtime_prunes_at_its_start_unless_told_not_to(
    environ: dict[str, str], days: int, stays: bool
) -> None:
    home = Path(environ["HERMES_HOME"])
    path = kept(home / "results", "long.txt", 3000)
    (home / "config.yaml").write_text(f"tool_output: {{keep_days: {days}}}\n")
    async with open_runtime(environ=environ):
        for _ in range(100 if stays else 1000):
            if not path.exists():
                break
            await anyio.sleep(0.01)
    assert path.exists() is stays
