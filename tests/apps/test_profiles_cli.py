"""Profiles are made, listed and chosen by name; one that is not there is never made by a misspelt start."""

from pathlib import Path

from hermes.testing import ScriptedModel, ScriptedServer
from tests.apps.conftest import Run


def test_a_profile_is_made_chosen_and_has_sessions_of_its_own(run: Run, environ: dict[str, str]) -> None:
    assert run("profiles", "create", "work").returncode == 0
    with ScriptedServer(ScriptedModel("ok")).running() as server:
        run("-p", "work", "-z", "hi", "--base-url", server.base_url)
    assert run("sessions", "list").stdout == ""
    assert run("profiles", "use", "work").stdout == "work is in force from now on.\n"
    assert run("profiles").stdout.split() == ["default", "*", "work"]
    assert "hi" in run("sessions", "list").stdout
    assert "hi" not in run("-p", "default", "sessions", "list").stdout


def test_a_misspelt_profile_is_refused_and_nothing_is_made(run: Run, environ: dict[str, str]) -> None:
    for words in (("-p", "wrok", "-z", "hi"), ("-p", "wrok", "config", "path"), ("profiles", "use", "wrok")):
        done = run(*words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("hermes: There is no profile 'wrok'; there are: default.")
    assert not (Path(environ["HERMES_HOME"]) / "profiles").exists()
