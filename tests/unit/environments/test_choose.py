"""From settings to a machine elsewhere: every option that is set arrives, and nothing of the user's environment that is not named."""

import json
from pathlib import Path

import msgspec
import pytest

from hermes.environments.remote.choose import checkup, choose
from hermes.environments.remote.transport import Origin
from hermes.environments.settings import TerminalSettings
from hermes.types.error import EnvironmentUnavailable

pytestmark = pytest.mark.anyio

# It writes down how it was called and says what the file `says` has; with limits it fails if that is something.
APPTAINER = """#!/bin/bash
here=$(dirname "$0")
case "$*" in
  *"instance list"*) echo '{"instances": []}'; exit;;
  *--version*) echo apptainer version 1.4.5; exit;;
esac
echo "$*" >>"$here/calls"
env >>"$here/variables"
case "$*" in *--memory*) [ ! -s "$here/says" ] || { cat "$here/says" >&2; exit 255; };; esac
"""
REFUSES = "FATAL:   container creation failed: while applying cgroups config: cannot use cgroups - system is not in unified mode\n"

# A podman that may set no limit on memory; it writes down what it was told to run.
PODMAN = r"""#!/bin/bash
case "$1" in
  info) cat "${0%/*}/info";;
  run) echo "${*//$'\n'/ }" >>"${0%/*}/runs"
    case "$*" in *--memory*) echo "crun: the requested cgroup controller memory is not available" >&2; exit 126;; esac
    echo c0ffee;;
esac
"""


def podman(tmp_path: Path, controllers: list[str]) -> None:
    (tmp_path / "bin" / "podman").write_text(PODMAN)
    (tmp_path / "bin" / "podman").chmod(0o755)
    (tmp_path / "bin" / "info").write_text(json.dumps({"host": {"cgroupControllers": controllers}}))


@pytest.fixture
def origin(tmp_path: Path, environ: dict[str, str]) -> Origin:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "apptainer").write_text(APPTAINER)
    (tmp_path / "bin" / "apptainer").chmod(0o755)
    (tmp_path / "image").mkdir()
    given = {**environ, "PATH": f"{tmp_path / 'bin'}:{environ['PATH']}", "MINE": "1", "NOT_MINE": "2"}
    return Origin(cwd=tmp_path / "work", hermes_home=tmp_path / "hermes", environ=given, mark="m")


def settings(tmp_path: Path, **more: object) -> TerminalSettings:
    given = {
        "backend": "apptainer",
        "singularity_image": str(tmp_path / "image"),
        "container_persistent": False,
        **more,
    }
    return msgspec.convert(given, TerminalSettings)


def calls(tmp_path: Path) -> list[str]:
    """The options of each call that began an instance or a container."""
    kept = (tmp_path / "bin" / "calls").read_text().splitlines()
    return [line.partition(" --containall")[0].removeprefix("instance start ") for line in kept]


async def test_the_limits_of_the_settings_reach_an_instance(tmp_path: Path, origin: Origin) -> None:
    await choose(
        settings(tmp_path, container_cpu=0.5, container_memory=64, container_pids=20), origin
    ).transport.open()
    await choose(
        settings(tmp_path, container_cpu=0, container_memory=0, container_pids=0), origin
    ).transport.open()
    assert calls(tmp_path)[0] == "--cpus 0.5 --memory 64M --pids-limit 20"
    assert (
        (tmp_path / "bin" / "calls")
        .read_text()
        .splitlines()[1]
        .startswith("instance start --containall --no-home --cleanenv ")
    )


async def test_where_limits_cannot_be_set_an_instance_starts_without_and_doctor_says_so(
    tmp_path: Path, origin: Origin
) -> None:
    (tmp_path / "bin" / "says").write_text(REFUSES)
    chosen = settings(tmp_path, container_cpu=0, container_memory=64, container_pids=0)
    said = await choose(chosen, origin).transport.open()
    assert said.startswith("the limits (container_…) are not in force here: An instance of ")
    assert [("--memory" in line) for line in (tmp_path / "bin" / "calls").read_text().splitlines()] == [
        True,
        False,
    ]
    found = await checkup(chosen, origin)
    assert (found.state, found.text.partition("; ")[2]) == (
        "warning",
        "limits (container_…) cannot be set here: cannot use cgroups - system is not in unified mode",
    )
    (tmp_path / "bin" / "says").write_text("FATAL: no such image\n")
    with pytest.raises(EnvironmentUnavailable, match="no such image"):
        await choose(chosen, origin).transport.open()
    assert (await checkup(chosen, origin)).state == "ok"


async def test_commands_get_the_variables_that_are_named_and_no_others(
    tmp_path: Path, origin: Origin
) -> None:
    chosen = choose(
        settings(tmp_path, docker_env={"GIVEN": "3"}, docker_forward_env=["MINE", "NOT_THERE"]), origin
    )
    assert dict(chosen.env) == {"GIVEN": "3", "MINE": "1"}


@pytest.mark.parametrize(
    "name", ["container_cpu", "container_memory", "container_disk", "container_pids", "lifetime_seconds"]
)
def test_a_limit_below_zero_is_a_fault_of_the_settings(name: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=rf">= 0.*{name}"):
        msgspec.convert({name: -1}, TerminalSettings)


@pytest.mark.parametrize(
    ("extra", "binds", "is_contained"),
    [
        (["-v", "/data:/data"], ("/data",), True),
        (["-v/data:/in"], ("/in",), True),
        (["--volume=/data:/in:ro"], (), True),
        (["--mount", "type=bind,source=/data,target=/in"], ("/in",), True),
        (["--mount=type=bind,src=/data,dst=/in,readonly"], (), True),
        (["-v", "named:/in", "--label", "a=b"], (), True),
        (["--privileged"], (), False),
        (["--pid=host"], (), False),
        (["--cap-add", "SYS_ADMIN"], (), False),
        (["--network", "host"], (), False),
        (["-itv", "/:/h"], (), False),
        (["-dv", "/:/h"], (), False),
        (["-iv/:/h"], (), False),
        (["--mount", 'type=bind,"src=/",dst=/h'], ("/h",), True),
        (["--mount", "type=bind,src=/,dst=/h,readonly=false"], ("/h",), True),
        (["--mount", "type=bind,src=/,destination=/h,ro=0"], ("/h",), True),
        (["--mount", "type=bind,src=/,dst=/h,ro=true"], (), True),
        (["--mount", "type=volume,dst=/h,volume-opt=type=none,volume-opt=device=/"], (), False),
        (["--mount", "type=npipe,src=x,dst=/h"], (), False),
        (["--use-api-socket"], (), False),
        (["--device-cgroup-rule=a *:* rwm"], (), False),
        (["--gpus", "all"], (), False),
        (["--an-option-of-tomorrow"], (), False),
        (["image"], (), False),
        (["-it", "--rm", "--label", "--privileged", "-e", "A=b"], (), True),
    ],
)
def test_what_further_arguments_mount_or_open_counts_in_decisions(
    tmp_path: Path, origin: Origin, extra: list[str], binds: tuple[str, ...], *, is_contained: bool
) -> None:
    chosen = choose(settings(tmp_path, docker_extra_args=extra), origin)
    assert (chosen.binds, chosen.contained) == (binds, is_contained)


async def test_a_container_starts_without_limits_where_none_can_be_set_and_says_so(
    tmp_path: Path, origin: Origin
) -> None:
    podman(tmp_path, ["pids"])
    chosen = settings(tmp_path, backend="podman", docker_image="image")
    assert await choose(chosen, origin).transport.open() == (
        "the limits (container_…) are not in force here: A container of image could not be started: crun: the"
        " requested cgroup controller memory is not available"
    )
    runs = (tmp_path / "bin" / "runs").read_text().splitlines()
    assert [[word in run for word in ("--memory", "--cpus", "--pids-limit")] for run in runs] == [
        [True] * 3,
        [False] * 3,
    ]


@pytest.mark.parametrize(
    ("controllers", "state", "end"),
    [
        (["cpu", "memory", "pids"], "ok", "1 processor, 5,120 MB of memory, 256 processes"),
        (["pids"], "warning", "limits cannot be set here on: processors, memory"),
    ],
)
async def test_doctor_tells_the_limits_of_a_container_and_what_cannot_be_limited(
    tmp_path: Path, origin: Origin, controllers: list[str], state: str, end: str
) -> None:
    podman(tmp_path, controllers)
    found = await checkup(settings(tmp_path, backend="podman", docker_image="image"), origin)
    works = f"podman: {tmp_path}/bin/podman works, the image image is there"
    assert (found.state, found.text) == (state, f"{works}; {end}")
