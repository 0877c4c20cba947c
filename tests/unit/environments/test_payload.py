"""What a job elsewhere is given reaches it byte by byte, in every bash."""

import shutil
import subprocess

import pytest

from hermes.environments.remote.payload import boot, compose, read_records

BASH = shutil.which("bash") or "bash"
ALL_BYTES = bytes(range(1, 256)).decode("utf-8", "surrogateescape")
REPORT = 'env -0; printf "|"; printf %s "$0"; printf "|"; cat'


@pytest.mark.parametrize(
    "before", ["", "enable -n mapfile; ", "enable -n read; ", "enable -n mapfile read; "]
)
@pytest.mark.parametrize(
    "inherited", [{}, {"LC_ALL": "C.UTF-8"}, {"OLD": "1", "hermes_job": "x", "hermes_names": "y"}]
)
def test_a_job_gets_its_own_environment_its_words_and_its_input(
    before: str, inherited: dict[str, str]
) -> None:
    """`before` takes from bash what an old one does not have."""
    payload = compose(
        ("bash", "--noprofile", "--norc", "-c", REPORT, ALL_BYTES),
        {"GIVEN": "é\udcff 1", "PATH": "/usr/bin:/bin"},
        "m-1.",
    )
    *words, script = boot(payload)
    done = subprocess.run(
        [BASH, *words[1:], before + script],
        check=False,
        input=payload + b"the rest\n",
        env={"PATH": "/usr/bin:/bin", **inherited},
        capture_output=True,
    )
    told, word, rest = (
        done.stdout.split(b"|", 1)[0],
        done.stdout.split(b"|", 1)[1][: len(ALL_BYTES)],
        done.stdout[-9:],
    )
    variables = {part.split(b"=")[0] for part in told.split(b"\0") if part}
    assert variables == {b"GIVEN", b"PATH", b"HERMES_CALL", b"PWD", b"SHLVL", b"_"}
    assert "GIVEN=é\udcff 1".encode("utf-8", "surrogateescape") in told.split(b"\0")
    assert (word, rest) == (bytes(range(1, 256)), b"the rest\n")
    assert read_records(done.stderr).code == 0


def test_a_job_that_was_cut_short_on_its_way_runs_in_no_part() -> None:
    payload = compose(("bash", "-c", "echo ran"), {}, "m-1.")
    done = subprocess.run(
        [BASH, *boot(payload)[1:]],
        input=payload[:-3],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=False,
    )
    assert (done.stdout, read_records(done.stderr).pid) == (b"", 0)
