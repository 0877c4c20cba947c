"""The limits that are told are those of the process's own control group and of all above it."""

from pathlib import Path

import pytest

from hermes.lib.resources import Resources, resources_in_force


def made(top: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


NEW = {
    "fs/cpu.max": "max 100000",
    "fs/user/cpu.max": "150000 100000",
    "fs/user/memory.max": "max",
    "fs/user/app/cpu.max": "200000 100000",
    "fs/user/app/memory.max": str(512 * 1_048_576),
    "fs/user/app/pids.max": "max",
    "fs/user/pids.max": "300",
    "groups": "0::/user/app",
}
OLD = {
    "fs/cpu,cpuacct/cpu.cfs_quota_us": "-1",
    "fs/cpu,cpuacct/cpu.cfs_period_us": "100000",
    "fs/cpu,cpuacct/box/cpu.cfs_quota_us": "25000",
    "fs/cpu,cpuacct/box/cpu.cfs_period_us": "100000",
    "fs/memory/memory.limit_in_bytes": "9223372036854771712",
    "fs/memory/box/memory.limit_in_bytes": str(64 * 1_048_576),
    "fs/pids/pids.max": "20",
    "groups": "4:memory:/box\n3:cpu,cpuacct:/box\n2:pids:/not/seen/from/here\n0::/elsewhere",
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (NEW, Resources(cpus=1.5, memory=512, processes=300)),
        (OLD, Resources(cpus=0.25, memory=64, processes=20)),
        ({"groups": "0::/"}, Resources()),
        ({}, Resources()),
    ],
    ids=["version 2", "version 1", "no limits", "no groups"],
)
def test_the_least_of_the_limits_above_a_process_is_told(
    files: dict[str, str], expected: Resources, tmp_path: Path
) -> None:
    made(tmp_path, files)
    assert resources_in_force(tmp_path / "groups", tmp_path / "fs") == expected


def test_limits_are_told_in_words() -> None:
    assert (
        str(Resources(cpus=1, memory=5_120, processes=256))
        == "1 processor, 5,120 MB of memory, 256 processes"
    )
    assert str(Resources(cpus=0.5)) == "0.5 processors"
    assert str(Resources()) == "no limits"
